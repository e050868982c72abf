#include "load.h"

#include "options.h"
#include "output/output.h"

int fperf_load(const char *path, struct fperf_console *console, struct fperf_session **session,
	       struct fperf_session_damage *damage)
{
	struct fperf_error err = {0};

	*damage = (struct fperf_session_damage){0};
	if (fperf_session__load(path, 0, session, damage, &err) < 0) {
		fperf_console__error(console, "%s", err.text);
		return err.code;
	}
	if (damage->no_end && !damage->chunks_bad && !damage->bytes_skipped && !damage->tail_cut)
		fperf_console__note(
			console,
			"warning: %s was not closed by the recorder: it holds what was written until then",
			path);
	else if (fperf_report__damaged(damage))
		fperf_console__note(console, "warning: %s is damaged, what is readable is used%s%s", path,
				    damage->first[0] ? ": " : "", damage->first);
	return 0;
}

int fperf_load__status(const struct fperf_session_damage *damage)
{
	return fperf_report__damaged(damage) ? FPERF_EXIT_DAMAGED : FPERF_EXIT_OK;
}
