/* A folder of reference sessions: DIR/DEVICE-CLASS/SCENE/SESSION-ID.fperf. */
#ifndef FPERF_TOOLS_BASELINE_DIR_H
#define FPERF_TOOLS_BASELINE_DIR_H

#include "base/error.h"
#include "session/session.h"

#include <limits.h>
#include <stddef.h>

/* Device class and scene of a session, fit for names of folders: "Steam_Deck-x86_64" and "forest"; "default"
 * for a session without a scene. */
struct fperf_baseline_place {
	char device[NAME_MAX + 1], scene[NAME_MAX + 1];
};

void fperf_baseline_place__of(const struct fperf_session *session, struct fperf_baseline_place *place);

struct fperf_baseline_entry {
	struct fperf_baseline_place place;
	char *path;
};

struct fperf_baseline_list {
	struct fperf_baseline_entry *items; /* by device, scene, name */
	size_t count, capacity;
};

/* Everything in the folder, or, with a `place`, what is for it. The caller frees also after a failure. */
int fperf_baseline_list__read(struct fperf_baseline_list *list, const char *dir,
			      const struct fperf_baseline_place *place, struct fperf_error *err);
void fperf_baseline_list__free(struct fperf_baseline_list *list);

/* Copies a session file to its place; a copy that is not whole never appears there. Fails with -EEXIST when
 * the session is there already. `copied` gets the path of the copy. */
int fperf_baseline__add(const char *dir, const char *path, const struct fperf_session *session,
			char copied[PATH_MAX], struct fperf_error *err);

#endif
