#include "output/output.h"

#include <string.h>

static const struct fperf_output_ops *const formats[] = {&fperf_output_text, &fperf_output_json,
							 &fperf_output_html};

const struct fperf_output_ops *fperf_output__find(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	}
	return NULL;
}
