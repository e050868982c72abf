/* Probes that are asked for by file and function, attached wherever target processes have or get that file.
 */
#ifndef FPERF_CAPTURE_MARK_SET_H
#define FPERF_CAPTURE_MARK_SET_H

#include "base/error.h"
#include "capture/mark_view.h"
#include "capture/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fperf_mark_probe;

/* What is asked for; the strings are borrowed. */
struct fperf_mark_spec {
	enum fperf_marker_kind kind;
	uint8_t rank, surface_arg;
	bool automatic;	  /* a file without the symbol is no news */
	const char *path; /* absolute, as the target sees it, or a library's name as fperf_library__matches()
			   * takes it
			   */
	const char *symbol; /* "name", "name@VER" or "+0xOFFSET"; NULL: sites are added by
			       fperf_mark_set__add_site */
	const char *name;   /* NULL: the symbol's */
};

/* One place in one file. A file is probed once, whatever the paths and processes it is seen through. */
struct fperf_mark_site {
	uint32_t marker; /* session-wide id */
	size_t spec;
	struct fperf_file_id file;
	uint64_t offset;
	int fd;				/* the file, to attach again */
	char *path;			/* as a target process sees it */
	char *symbol;			/* "" when given by offset */
	struct fperf_mark_probe *probe; /* NULL: detached */
	bool chosen;
	char note[160];
};

struct fperf_mark_set;

int fperf_mark_set__new(struct fperf_capture_context *context, enum fperf_source source, bool candidates,
			struct fperf_mark_set **set, struct fperf_error *err);

/* Writes each marker once more, with what is known now. */
void fperf_mark_set__write(struct fperf_mark_set *set);

/* Writes them too, and detaches. */
void fperf_mark_set__free(struct fperf_mark_set *set);

int fperf_mark_set__add_spec(struct fperf_mark_set *set, const struct fperf_mark_spec *spec,
			     struct fperf_error *err);

/* Attaches what this process will find under the paths asked for, before it maps anything. Looks only once
 * into each view of the file system. */
void fperf_mark_set__see_process(struct fperf_mark_set *set, uint32_t pid);

/* Attaches in a file that was mapped. True when there is something to probe in it, from now on or before. */
bool fperf_mark_set__see_mapping(struct fperf_mark_set *set, const struct fperf_capture_mapping *mapping);

/* A place that somebody else found in a file that process `pid` sees: must lie in code. */
int fperf_mark_set__add_place(struct fperf_mark_set *set, size_t spec, uint32_t pid, const char *path,
			      const char *symbol, uint64_t offset, struct fperf_error *err);

/* Sites keep their index. */
size_t fperf_mark_set__count(const struct fperf_mark_set *set);
struct fperf_mark_site *fperf_mark_set__site(const struct fperf_mark_set *set, size_t index);
const struct fperf_mark_spec *fperf_mark_set__spec(const struct fperf_mark_set *set, size_t index);

void fperf_mark_set__detach(struct fperf_mark_set *set, size_t site);
int fperf_mark_set__attach(struct fperf_mark_set *set, size_t site, struct fperf_error *err);

/* Attaches again what is detached in this file of a target. True when there was something. */
bool fperf_mark_set__attach_in(struct fperf_mark_set *set, const char *path);

/* At the end: warns of everything the user asked for that no process had; with the source's last word in the
 * session: failed, when nothing could be attached at all. */
void fperf_mark_set__tell_missing(struct fperf_mark_set *set);

#endif
