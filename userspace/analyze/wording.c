/* Verdicts in words. */
#include "analyze/verdict.h"

#include "base/buf.h"

#include <string.h>

#define TEXT_LIMIT 4096

/* Longest name that a line takes; a demangled template can have thousands of characters. */
#define NAME_LIMIT 96

static void append_duration(struct fperf_buf *text, double ns)
{
	if (ns >= 999.5e6)
		fperf_buf__printf(text, "%.2f s", ns / 1e9);
	else if (ns >= 99.95e6)
		fperf_buf__printf(text, "%.0f ms", ns / 1e6);
	else if (ns >= 999.5e3)
		fperf_buf__printf(text, "%.1f ms", ns / 1e6);
	else
		fperf_buf__printf(text, "%.0f us", ns / 1e3);
}

static void append_name(struct fperf_buf *text, const char *name)
{
	size_t length = strlen(name);

	if (length <= NAME_LIMIT) {
		fperf_buf__printf(text, "%s", name);
		return;
	}
	length = NAME_LIMIT - 3;
	while (length > NAME_LIMIT / 2 && ((unsigned char)name[length] & 0xc0) == 0x80) /* inside UTF-8 */
		length--;
	fperf_buf__printf(text, "%.*s...", (int)length, name);
}

/* "spawn_enemies()"; a name that has its parameters, or is an address, stays as it is. */
static void append_function(struct fperf_buf *text, const char *function)
{
	append_name(text, function);
	if (!strpbrk(function, "(+") && *function)
		fperf_buf__printf(text, "()");
}

static void append_thread(struct fperf_buf *text, const struct fperf_thread_ref *thread)
{
	if (thread->name && *thread->name)
		append_name(text, thread->name);
	else
		fperf_buf__printf(text, "thread %u", thread->tid);
}

static void append_place(struct fperf_buf *text, const struct fperf_verdict *verdict)
{
	if (!verdict->place.function)
		return;
	fperf_buf__printf(text, " in ");
	append_function(text, verdict->place.function);
}

/* ", held by Worker3 in rebuild_navmesh()" */
static void append_by(struct fperf_buf *text, const struct fperf_verdict *verdict, const char *before)
{
	if (!verdict->has_by)
		return;
	fperf_buf__printf(text, "%s", before);
	append_thread(text, &verdict->by);
	if (verdict->by.pid != verdict->thread.pid && verdict->by.pid)
		fperf_buf__printf(text, " (pid %u)", verdict->by.pid);
	else if (verdict->by.name && verdict->thread.name &&
		 strcmp(verdict->by.name, verdict->thread.name) == 0)
		fperf_buf__printf(text, " (tid %u)", verdict->by.tid); /* a name that says too little */
	if (verdict->by_function) {
		fperf_buf__printf(text, " in ");
		append_function(text, verdict->by_function);
	}
}

/* How each cause is said: THREAD `verb` DURATION `object` in PLACE `by` THREAD in FUNCTION. */
static const struct phrase {
	const char *verb, *object, *by;
} phrases[FPERF_CAUSES] = {
	[FPERF_CAUSE_CPU] = {"ran", " longer than usual", ""},
	[FPERF_CAUSE_LOCK] = {"waited", " for a lock", ", held by "},
	[FPERF_CAUSE_IO] = {"spent", " on file I/O", ""},
	[FPERF_CAUSE_FAULT] = {"spent", " on page faults", ""},
	[FPERF_CAUSE_GPU] = {"waited", " for the GPU", ", woken by "},
	[FPERF_CAUSE_SLEEP] = {"slept", "", ""},
	[FPERF_CAUSE_EVENT] = {"waited", " for an event", ", which came from "},
	[FPERF_CAUSE_RUN_QUEUE] = {"was ready but did not run for", "", ", while the core ran "},
	[FPERF_CAUSE_PREEMPTED] = {"was put aside for", "", ", the core went to "},
	[FPERF_CAUSE_FREQUENCY] = {"ran", " longer for the same work", ""},
};

static void append_explained(struct fperf_buf *text, const struct fperf_verdict *verdict, double whole_ns)
{
	double explained = (double)verdict->excess_ns;

	if (whole_ns >= 9.5e6)
		fperf_buf__printf(text, " → %.0f of %.0f ms explained", explained / 1e6, whole_ns / 1e6);
	else
		fperf_buf__printf(text, " → %.1f of %.1f ms explained", explained / 1e6, whole_ns / 1e6);
}

char *fperf_verdict__text(const struct fperf_verdict *verdict)
{
	const struct phrase *phrase = &phrases[verdict->cause];
	struct fperf_buf text;
	char *copy;

	fperf_buf__init(&text, TEXT_LIMIT);
	if (verdict->cause == FPERF_CAUSE_UNKNOWN) {
		fperf_buf__printf(&text, "nothing that was recorded explains the ");
		append_duration(&text, (double)verdict->frame_excess_ns);
		fperf_buf__printf(&text, " that this frame took longer");
		if (verdict->suspect != FPERF_CAUSE_UNKNOWN)
			fperf_buf__printf(&text, " (most of it: %s, %.0f %%)",
					  fperf_cause__name(verdict->suspect), verdict->share * 100);
	} else {
		append_thread(&text, &verdict->thread);
		fperf_buf__printf(&text, " %s ", phrase->verb);
		append_duration(&text, (double)verdict->cause_ns);
		fperf_buf__printf(&text, "%s", phrase->object);
		append_place(&text, verdict);
		append_by(&text, verdict, phrase->by);
		if (verdict->cause == FPERF_CAUSE_FREQUENCY)
			fperf_buf__printf(&text, ": clock at %.2f GHz, usually %.2f GHz",
					  verdict->slow_khz / 1e6, verdict->usual_khz / 1e6);
		append_explained(&text, verdict, (double)verdict->frame_excess_ns);
	}
	copy = text.failed ? NULL : strndup((const char *)text.data, text.size);
	fperf_buf__free(&text);
	return copy;
}
