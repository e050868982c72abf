/* Where a library (or program) will be loaded from, asked before it is: by the dynamic linker's cache, the
 * usual directories, the environment's, the program's own and the current one, all as the process sees them.
 */
#ifndef FPERF_CAPTURE_MARK_LIBRARY_H
#define FPERF_CAPTURE_MARK_LIBRARY_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* True when the file name of `path` is the library `name`, be it the very name, the name with a longer
 * version
 * ("libGLX.so.0" and "libGLX.so.0.0.0"), or the name without any ("libGLX" and "libGLX.so.0"). `name` may
 * hold the wildcards of fnmatch(). */
bool fperf_library__matches(const char *path, const char *name);

/* Calls back with each path under which the process would find the library `name` (no wildcards, as in
 * DT_NEEDED or dlopen()), at most once per path; there may be several, since LD_LIBRARY_PATH, run paths and
 * the cache compete. Nothing found is no error. */
void fperf_library__locate(pid_t pid, const char *name, void (*found)(void *context, const char *path),
			   void *context);

/* The paths of a dynamic linker cache (/etc/ld.so.cache) for `name`. For tests; `data` may be hostile. */
void fperf_library__locate_in_cache(const void *data, size_t size, const char *name,
				    void (*found)(void *context, const char *path), void *context);

#endif
