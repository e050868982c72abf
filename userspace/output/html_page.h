/* The built page (userspace/output/page/), which is part of the program: what comes before the data, and
 * after. */
#ifndef FPERF_OUTPUT_HTML_PAGE_H
#define FPERF_OUTPUT_HTML_PAGE_H

#include <stddef.h>

struct fperf_html_page {
	const char *before, *after;
	size_t before_size, after_size; /* 0: built without the page */
};

struct fperf_html_page fperf_html_page(void);

#endif
