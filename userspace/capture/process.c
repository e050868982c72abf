/* process: fork, exec, exit and rename of target tasks, see bpf/process.bpf.c. */
#include "capture/program.h"
#include "capture/sources.h"

#include "process.skel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct process_state {
	struct process_bpf *skeleton;
};

static void process_stop(void *data, uint64_t end_ns)
{
	struct process_state *state = data;

	(void)end_ns;
	process_bpf__destroy(state->skeleton);
	free(state);
}

static int process_start(struct fperf_capture_context *context, void **data, char *reason, size_t reason_size,
			 struct fperf_error *err)
{
	struct process_state *state = calloc(1, sizeof(*state));
	struct bpf_object_open_opts options;
	int rc;

	if (!state)
		return fperf_error__no_memory(err, "the process source");
	fperf_program__open_options(context->shared, &options);
	state->skeleton = process_bpf__open_opts(&options);
	if (!state->skeleton) {
		rc = fperf_error__set_errno(err, -errno, "cannot open BPF object 'process'");
		goto fail;
	}
	state->skeleton->rodata->sched_clears_targets =
		fperf_shared_maps__fd(context->shared, "fperf_ring_sched") >= 0;
	rc = fperf_program__load(context->shared, state->skeleton->obj, "process", err);
	if (rc)
		goto fail;
	rc = process_bpf__attach(state->skeleton);
	if (rc) {
		fperf_error__set_errno(
			err, rc,
			"cannot attach to the tracepoints sched_process_fork, _exec, _exit and "
			"task_rename");
		goto fail;
	}
	snprintf(reason, reason_size,
		 "tracepoints sched_process_fork, sched_process_exec, sched_process_exit, task_rename");
	*data = state;
	return 0;
fail:
	process_bpf__destroy(state->skeleton);
	free(state);
	return rc;
}

const struct fperf_capture_source_ops fperf_source_process = {
	.source = FPERF_SOURCE_PROCESS,
	.name = "process",
	.start = process_start,
	.stop = process_stop,
};
