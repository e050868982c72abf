/* The files below some directories, by name. */
#ifndef FPERF_SYMBOLIZE_NAME_INDEX_H
#define FPERF_SYMBOLIZE_NAME_INDEX_H

#include <stddef.h>

struct fperf_name_index;

/* Walks the directories once, at most 12 deep and 200,000 entries in all; links to directories are not
 * followed. NULL when out of memory. */
struct fperf_name_index *fperf_name_index__new(const char *const *dirs, size_t count);
void fperf_name_index__free(struct fperf_name_index *index);

/* Paths of the files whose name begins with the first `size` bytes of `name`, followed by the end or by a
 * character that cannot belong to the same word ('.', '-', '_'). Start with *cursor = 0; NULL at the end. */
const char *fperf_name_index__next(const struct fperf_name_index *index, const char *name, size_t size,
				   size_t *cursor);

#endif
