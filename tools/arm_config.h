/* The configuration of `frameperf arm`: an INI file, see docs/arming.md. */
#ifndef FPERF_TOOLS_ARM_CONFIG_H
#define FPERF_TOOLS_ARM_CONFIG_H

#include "base/error.h"
#include "options.h"

#include <stddef.h>
#include <stdint.h>

/* One section [target NAME]. All strings are owned. */
struct fperf_arm_target {
	char *section;	     /* NAME */
	char *name;	     /* of the process or its program file; NULL: by exe alone */
	char *exe;	     /* absolute path of the program file; NULL: by name alone */
	char *output;	     /* directory; NULL: that of [arm] */
	uint64_t window_ns;  /* length of a recording */
	uint32_t quota;	     /* sessions a day */
	uint64_t quota_size; /* bytes a day */
	char **arguments;    /* further options of `frameperf record`, checked as such */
	size_t argument_count, argument_capacity;
};

struct fperf_arm_config {
	char *output; /* directory of sessions */
	char *state;  /* directory of what must survive a restart */
	struct fperf_arm_target *targets;
	size_t target_count, target_capacity;
};

#define FPERF_ARM_STATE	     "/var/lib/frameperf/arm"
#define FPERF_ARM_TARGETS    64
#define FPERF_ARM_FILE_BYTES (1u << 20)

/* `text` is the file's whole content, `path` what it is called in errors: "PATH:LINE: what is wrong". On
 * failure nothing is kept. */
int fperf_arm_config__parse(const char *text, const char *path, struct fperf_arm_config *config,
			    struct fperf_error *err);

/* Reads and parses a file. One that others could write to is refused, since it makes root record and write.
 */
int fperf_arm_config__load(const char *path, struct fperf_arm_config *config, struct fperf_error *err);

/* The state directory that a file names, whatever else is wrong with it, or the default. The caller frees it;
 * NULL when out of memory. */
char *fperf_arm_config__state(const char *path);

void fperf_arm_config__free(struct fperf_arm_config *config);

/* The target of a section, NULL when there is none. */
const struct fperf_arm_target *fperf_arm_config__target(const struct fperf_arm_config *config,
							const char *section);

#endif
