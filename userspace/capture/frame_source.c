/* Frame boundaries: the one the user named, or the best of all that fire. */
#include "base/clock.h"
#include "base/vec.h"
#include "capture/frame_process.h"
#include "capture/frame_table.h"
#include "capture/mark_set.h"
#include "capture/sources.h"
#include "capture/program.h"
#include "capture/vulkan_ask.h"
#include "capture/vulkan_manifest.h"

#include <bpf/bpf.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define POLL_NS		(200 * FPERF_NS_PER_MS)
#define SILENT_NS	(2 * FPERF_NS_PER_S) /* a chosen boundary that fires no more may have been replaced */
#define VULKAN_START_MS 2000 /* for drivers of which nothing is known yet, before a game is started */

struct frames {
	struct fperf_capture_context *context;
	struct fperf_mark_set *set;
	struct fperf_vulkan_ask *vulkan;
	size_t vulkan_spec;
	bool automatic;
	uint64_t next_poll_ns;
	struct fperf_frame_process *processes;
	size_t count, capacity;
	size_t told; /* site that was last told as chosen; SIZE_MAX: none */
	char summary[200];
};

/* Before exec the process is still our own child: then there is time to prepare. */
static bool is_before_exec(pid_t pid)
{
	struct stat own, other;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return !stat(path, &other) && !stat("/proc/self/exe", &own) && own.st_dev == other.st_dev &&
	       own.st_ino == other.st_ino;
}

static void vulkan_attach(struct frames *frames)
{
	struct fperf_vulkan_answer answer;
	struct fperf_error err;
	pid_t pid;

	while (frames->vulkan && fperf_vulkan_ask__next(frames->vulkan, &pid, &answer))
		if (fperf_mark_set__add_place(frames->set, frames->vulkan_spec, (uint32_t)pid, answer.path,
					      "vkQueuePresentKHR", answer.file_offset, &err))
			fperf_log__write(frames->context->log, FPERF_LOG_DETAIL, "%s", err.text);
}

static void driver_ask(void *context, pid_t pid, const char *path)
{
	struct frames *frames = context;

	fperf_vulkan_ask__driver(frames->vulkan, pid, path, false);
}

static int automatic_start(struct frames *frames, struct fperf_error *err)
{
	const struct fperf_capture_options *options = frames->context->options;
	size_t count;
	const struct fperf_frame_candidate *table = fperf_frame_table(&count);
	int result = fperf_vulkan_ask__new(options->helper_program, FPERF_VULKAN_CACHE, frames->context->log,
					   &frames->vulkan, err);

	for (size_t i = 0; !result && i < count; i++) {
		struct fperf_mark_spec spec = {
			.kind = FPERF_MARKER_FRAME,
			.rank = table[i].rank,
			.surface_arg = table[i].surface_arg,
			.automatic = true,
			.path = table[i].library,
			.symbol = table[i].symbol,
		};

		if (!spec.symbol)
			frames->vulkan_spec = i;
		result = fperf_mark_set__add_spec(frames->set, &spec, err);
	}
	if (result)
		return result;
	for (size_t i = 0; i < options->pid_count; i++) {
		if (!is_before_exec(options->pids[i]))
			continue;
		fperf_vulkan_manifest__drivers(options->pids[i], driver_ask, frames);
		fperf_vulkan_ask__wait(frames->vulkan, VULKAN_START_MS);
	}
	vulkan_attach(frames);
	return 0;
}

static int named_start(struct frames *frames, struct fperf_error *err)
{
	const struct fperf_capture_mark *frame = frames->context->options->frame;
	struct fperf_mark_spec spec = {
		.kind = FPERF_MARKER_FRAME,
		.surface_arg = FPERF_NO_SURFACE,
		.path = frame->path,
		.symbol = frame->symbol,
		.name = frame->name,
	};

	return fperf_mark_set__add_spec(frames->set, &spec, err);
}

static void frames_free(struct frames *frames)
{
	fperf_mark_set__free(frames->set);
	fperf_vulkan_ask__free(frames->vulkan);
	for (size_t i = 0; i < frames->count; i++)
		fperf_frame_process__free(&frames->processes[i]);
	free(frames->processes);
	free(frames);
}

static int frames_start(struct fperf_capture_context *context, void **state, char *reason, size_t reason_size,
			struct fperf_error *err)
{
	const struct fperf_capture_options *options = context->options;
	struct frames *frames;
	int result;

	if (!options->frame_auto && !options->frame) {
		snprintf(reason, reason_size, "--frame off");
		return -ECANCELED;
	}
	frames = calloc(1, sizeof(*frames));
	if (!frames)
		return fperf_error__no_memory(err, "frame boundaries");
	frames->context = context;
	frames->automatic = !options->frame;
	frames->told = SIZE_MAX;
	result = fperf_mark_set__new(context, FPERF_SOURCE_FRAME, true, &frames->set, err);
	if (!result)
		result = frames->automatic ? automatic_start(frames, err) : named_start(frames, err);
	if (result) {
		frames_free(frames);
		return result;
	}
	for (size_t i = 0; i < options->pid_count; i++)
		fperf_mark_set__see_process(frames->set, (uint32_t)options->pids[i]);
	if (frames->automatic)
		snprintf(reason, reason_size,
			 "entry probes on all known boundaries, %zu attached at the start",
			 fperf_mark_set__count(frames->set));
	else
		snprintf(reason, reason_size, "entry probe on %.60s:%.60s", options->frame->path,
			 options->frame->symbol);
	*state = frames;
	context->frames = frames;
	return 0;
}

static struct fperf_frame_process *process_get(struct frames *frames, uint32_t pid, bool create)
{
	struct fperf_frame_process *process;

	for (size_t i = 0; i < frames->count; i++)
		if (frames->processes[i].pid == pid)
			return &frames->processes[i];
	if (!create)
		return NULL;
	process = fperf_vec__push(&frames->processes, &frames->count, &frames->capacity);
	if (process)
		fperf_frame_process__init(process, pid);
	return process;
}

static void frames_on_process(void *state, uint32_t pid)
{
	struct frames *frames = state;

	fperf_mark_set__see_process(frames->set, pid);
}

static size_t site_of_marker(const struct frames *frames, uint32_t marker)
{
	for (size_t i = 0; i < fperf_mark_set__count(frames->set); i++)
		if (fperf_mark_set__site(frames->set, i)->marker == marker)
			return i;
	return SIZE_MAX;
}

/* Takes the hits of all processes over from the kernel. */
static void hits_read(struct frames *frames)
{
	int fd = fperf_shared_maps__fd(frames->context->shared, "fperf_mark_hits");
	struct fperf_mark_hits_key key, *previous = NULL;
	struct fperf_mark_hits hits;

	for (size_t i = 0; fd >= 0 && i < FPERF_MARK_HITS_MAX; i++) {
		struct fperf_frame_process *process;
		size_t site;

		if (bpf_map_get_next_key(fd, previous, &key))
			break;
		previous = &key;
		site = site_of_marker(frames, key.marker);
		if (site == SIZE_MAX || bpf_map_lookup_elem(fd, &key, &hits))
			continue;
		process = process_get(frames, key.tgid, true);
		if (process)
			fperf_frame_process__count(
				process, site, key.marker,
				fperf_mark_set__spec(frames->set,
						     fperf_mark_set__site(frames->set, site)->spec)
					->rank,
				&hits);
	}
}

/* Tells the kernel which candidates go on writing marks for this process. */
static void marks_allow(struct frames *frames, const struct fperf_frame_process *process)
{
	int fd = fperf_shared_maps__fd(frames->context->shared, "fperf_mark_hits");

	for (size_t i = 0; fd >= 0 && i < process->site_count; i++) {
		struct fperf_mark_hits_key key = {process->pid, fperf_mark_set__site(frames->set, i)->marker};
		struct fperf_mark_hits hits;
		uint32_t dropped = process->chosen != FPERF_FRAME_NONE && process->chosen != i;

		/* A hit between read and write may go uncounted; the counts are only compared roughly. */
		if (bpf_map_lookup_elem(fd, &key, &hits) || hits.dropped == dropped)
			continue;
		hits.dropped = dropped;
		bpf_map_update_elem(fd, &key, &hits, BPF_EXIST);
	}
}

static void hits_forget(struct frames *frames, const struct fperf_frame_process *process)
{
	int fd = fperf_shared_maps__fd(frames->context->shared, "fperf_mark_hits");

	for (size_t i = 0; fd >= 0 && i < process->site_count; i++) {
		struct fperf_mark_hits_key key = {process->pid, fperf_mark_set__site(frames->set, i)->marker};

		bpf_map_delete_elem(fd, &key);
	}
}

static const char *site_describe(const struct frames *frames, size_t index, char *text, size_t size)
{
	const struct fperf_mark_site *site = fperf_mark_set__site(frames->set, index);
	const char *slash = strrchr(site->path, '/');

	snprintf(text, size, "%s in %s", *site->symbol ? site->symbol : "the given offset",
		 slash ? slash + 1 : site->path);
	return text;
}

/* Notes at every site what this process' choice means for it, and tells the user what is new. */
static void choice_note(struct frames *frames, const struct fperf_frame_process *process)
{
	char text[160], dropped[600] = "", name[200];
	size_t used = 0;

	for (size_t i = 0; i < fperf_mark_set__count(frames->set); i++) {
		struct fperf_mark_site *site = fperf_mark_set__site(frames->set, i);

		fperf_frame_process__explain(process, i, text, sizeof(text));
		if (i == process->chosen)
			site->chosen = true;
		if (i == process->chosen || !site->chosen)
			snprintf(site->note, sizeof(site->note), "%s", text);
		if (i != process->chosen && fperf_frame_process__has_fired(process, i) &&
		    used < sizeof(dropped))
			used += (size_t)snprintf(dropped + used, sizeof(dropped) - used, "%s%s (%s)",
						 used ? ", " : "; dropped: ",
						 site_describe(frames, i, name, sizeof(name)), text);
	}
	if (!frames->automatic || frames->told == process->chosen)
		return;
	frames->told = process->chosen;
	site_describe(frames, process->chosen, name, sizeof(name));
	snprintf(frames->summary, sizeof(frames->summary), "%.190s", name);
	fperf_frame_process__explain(process, process->chosen, text, sizeof(text));
	fperf_log__write(frames->context->log, FPERF_LOG_NOTE, "frames: %s, process %u: %s%s", name,
			 process->pid, text, dropped);
}

/* Detaches what has fired for nobody but processes that present through something else; not while a process
 * that has a boundary mapped is still undecided. */
static void losers_detach(struct frames *frames)
{
	for (size_t i = 0; i < frames->count; i++)
		if (frames->processes[i].chosen == FPERF_FRAME_NONE)
			return;
	for (size_t site = 0; site < fperf_mark_set__count(frames->set); site++) {
		bool fired = false, wanted = false;

		for (size_t i = 0; i < frames->count; i++) {
			const struct fperf_frame_process *process = &frames->processes[i];

			if (!fperf_frame_process__has_fired(process, site))
				continue;
			fired = true;
			wanted = wanted || process->chosen == site;
		}
		if (fired && !wanted)
			fperf_mark_set__detach(frames->set, site);
	}
}

/* Everything is a candidate again for this process. */
static void choice_reopen(struct frames *frames, struct fperf_frame_process *process, uint64_t now_ns)
{
	struct fperf_error err;

	fperf_frame_process__reopen(process, now_ns);
	for (size_t i = 0; i < fperf_mark_set__count(frames->set); i++)
		if (fperf_mark_set__attach(frames->set, i, &err))
			fperf_log__write(frames->context->log, FPERF_LOG_DETAIL, "%s", err.text);
	marks_allow(frames, process);
}

/* Chooses for every process that has no choice yet, or none that still holds. */
static void choices_make(struct frames *frames, uint64_t now_ns, bool final)
{
	bool changed = false;

	for (size_t i = 0; i < frames->count; i++) {
		struct fperf_frame_process *process = &frames->processes[i];

		if (!final &&
		    (fperf_frame_process__has_newcomer(process) ||
		     (frames->automatic && fperf_frame_process__is_silent(process, now_ns, SILENT_NS))))
			choice_reopen(frames, process, now_ns);
		if (!fperf_frame_process__choose(process, now_ns, final))
			continue;
		changed = true;
		choice_note(frames, process);
		marks_allow(frames, process);
	}
	if (changed && frames->automatic)
		losers_detach(frames);
}

/* A candidate that comes later counts as much as the others: the choice is made again. */
static void frames_on_mapping(void *state, const struct fperf_capture_mapping *mapping)
{
	struct frames *frames = state;
	size_t before = fperf_mark_set__count(frames->set);
	bool probed = fperf_mark_set__see_mapping(frames->set, mapping), came;
	struct fperf_frame_process *process;

	if (!frames->automatic)
		return;
	if (fperf_frame_table__is_vulkan_driver(mapping->path)) {
		fperf_vulkan_ask__driver(frames->vulkan, (pid_t)mapping->pid, mapping->path, true);
		vulkan_attach(frames);
	}
	came = fperf_mark_set__attach_in(frames->set, mapping->path) ||
	       before != fperf_mark_set__count(frames->set);
	process = process_get(frames, mapping->pid, probed);
	if (process && came)
		choice_reopen(frames, process, mapping->time_ns);
}

/* For the account of what recording costs: how many frames the busiest process has made. */
static void frames_count(struct frames *frames, uint64_t now_ns)
{
	uint64_t most = 0;

	for (size_t i = 0; i < frames->count; i++) {
		uint64_t made = fperf_frame_process__frames(&frames->processes[i]);

		most = made > most ? made : most;
	}
	frames->context->helper_cpu_ns = fperf_vulkan_ask__cpu_ns(frames->vulkan);
	frames->context->frame_ends = most;
	frames->context->frame_ends_ns = now_ns;
}

static void frames_poll(void *state, uint64_t now_ns)
{
	struct frames *frames = state;
	size_t before = fperf_mark_set__count(frames->set);

	if (now_ns < frames->next_poll_ns)
		return;
	frames->next_poll_ns = now_ns + POLL_NS;
	vulkan_attach(frames);
	hits_read(frames);
	if (before != fperf_mark_set__count(frames->set)) /* compare all from here on */
		for (size_t i = 0; i < frames->count; i++)
			choice_reopen(frames, &frames->processes[i], now_ns);
	choices_make(frames, now_ns, false);
	frames_count(frames, now_ns);
}

static void frames_on_exit(void *state, uint32_t pid)
{
	struct frames *frames = state;
	struct fperf_frame_process *process;

	hits_read(frames);
	process = process_get(frames, pid, false);
	if (!process)
		return;
	if (fperf_frame_process__choose(process, fperf_clock__now_ns(), true))
		choice_note(frames, process);
	hits_forget(frames, process);
	fperf_frame_process__free(process);
	*process = frames->processes[--frames->count];
}

static void last_word(struct frames *frames)
{
	struct fperf_rec_source record = {.source = FPERF_SOURCE_FRAME, .state = FPERF_SOURCE_STATE_ACTIVE};
	const struct fperf_log *log = frames->context->log;
	bool chosen = false;
	struct fperf_error err;

	for (size_t i = 0; i < fperf_mark_set__count(frames->set); i++) {
		struct fperf_mark_site *site = fperf_mark_set__site(frames->set, i);

		chosen = chosen || site->chosen;
		if (!*site->note)
			snprintf(site->note, sizeof(site->note), "never fired");
	}
	if (!chosen)
		fperf_log__write(
			log, FPERF_LOG_WARNING,
			frames->automatic
				? "no known frame boundary fired: name the function that is called once a "
				  "frame with --frame PATH:SYMBOL"
				: "the frame boundary never fired");
	if (!chosen)
		snprintf(frames->summary, sizeof(frames->summary), "%zu boundaries were probed, none fired",
			 fperf_mark_set__count(frames->set));
	if (!*frames->summary)
		return;
	record.reason = fperf_writer__text(frames->context->writer, frames->summary);
	(void)fperf_writer__add(frames->context->writer, FPERF_RECORD_SOURCE, &record, &err);
}

bool fperf_frame__is_boundary(void *state, uint32_t pid, uint32_t marker, uint8_t *surface_arg)
{
	struct frames *frames = state;
	size_t site = frames ? site_of_marker(frames, marker) : SIZE_MAX;
	const struct fperf_frame_process *process;

	if (site == SIZE_MAX)
		return false;
	process = process_get(frames, pid, false);
	/* The one that was named needs no choice. */
	if (frames->automatic &&
	    (!process || site != (process->chosen == FPERF_FRAME_NONE ? process->previous : process->chosen)))
		return false;
	*surface_arg =
		fperf_mark_set__spec(frames->set, fperf_mark_set__site(frames->set, site)->spec)->surface_arg;
	return true;
}

static void frames_describe(void *state, uint64_t end_ns)
{
	struct frames *frames = state;

	(void)end_ns;
	last_word(frames);
	fperf_mark_set__write(frames->set);
}

static void frames_stop(void *state, uint64_t end_ns)
{
	struct frames *frames = state;

	frames->context->frames = NULL;

	hits_read(frames);
	choices_make(frames, end_ns, true);
	last_word(frames);
	if (!frames->automatic)
		fperf_mark_set__tell_missing(frames->set);
	frames_free(frames);
}

const struct fperf_capture_source_ops fperf_source_frame = {
	.source = FPERF_SOURCE_FRAME,
	.name = "frame",
	.start = frames_start,
	.on_process = frames_on_process,
	.on_exit = frames_on_exit,
	.on_mapping = frames_on_mapping,
	.poll = frames_poll,
	.describe = frames_describe,
	.stop = frames_stop,
};
