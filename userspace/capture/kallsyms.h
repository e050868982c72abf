/* Kernel names from /proc/kallsyms, read on the device that was recorded: never guessed from another kernel.
 */
#ifndef FPERF_CAPTURE_KALLSYMS_H
#define FPERF_CAPTURE_KALLSYMS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define FPERF_KALLSYMS_PATH	   "/proc/kallsyms"
#define FPERF_KALLSYMS_MODULE_PATH "/proc/modules"

/* Address of _stext, which kernel stacks are stored relative to. -EACCES with what to do about it when the
 * kernel shows zeros instead of addresses. */
int fperf_kallsyms__base(const char *path, uint64_t *stext, struct fperf_error *err);

struct fperf_kallsyms_name {
	uint64_t address; /* where the symbol starts */
	uint64_t size;	  /* up to the next symbol; 0: not known */
	char *name;	  /* NULL: no name is known for this address */
	char *module;	  /* NULL: the core kernel */
};

/* Names `count` addresses, sorted and all different, in one pass over the file that keeps only what is asked
 * for. `names` has room for as many and is freed with fperf_kallsyms__free_names(), also after a failure.
 * `modules_path` (see proc(5), /proc/modules) bounds kernel modules; it may be missing. */
int fperf_kallsyms__resolve(const char *path, const char *modules_path, const uint64_t *addresses,
			    size_t count, struct fperf_kallsyms_name *names, struct fperf_error *err);
void fperf_kallsyms__free_names(struct fperf_kallsyms_name *names, size_t count);

#endif
