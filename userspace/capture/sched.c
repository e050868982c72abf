/* sched: off-CPU intervals of target threads, see bpf/sched.bpf.c. */
#include "capture/program.h"
#include "capture/sources.h"

#include "sched.skel.h"

#include <bpf/btf.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sched_state {
	struct fperf_capture_context *context;
	struct sched_bpf *skeleton;
};

static void sched_stop(void *data, uint64_t end_ns)
{
	struct sched_state *state = data;

	(void)end_ns;
	sched_bpf__destroy(state->skeleton);
	free(state);
}

/* Since 5.18 sched_switch passes the state that the task leaves in; its type in BTF then has five parameters,
 * the first being the tracepoint's private data. */
static bool switch_has_prev_state(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *type;
	bool has = false;
	int id;

	if (!btf)
		return false;
	id = btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
	type = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;
	type = type ? btf__type_by_id(btf, type->type) : NULL; /* pointer */
	type = type ? btf__type_by_id(btf, type->type) : NULL; /* prototype */
	if (type && btf_is_func_proto(type))
		has = btf_vlen(type) >= 5;
	btf__free(btf);
	return has;
}

static int sched_start(struct fperf_capture_context *context, void **data, char *reason, size_t reason_size,
		       struct fperf_error *err)
{
	struct sched_state *state = calloc(1, sizeof(*state));
	struct bpf_object_open_opts options;
	int rc;

	if (!state)
		return fperf_error__no_memory(err, "the sched source");
	state->context = context;
	fperf_program__open_options(context->shared, &options);
	state->skeleton = sched_bpf__open_opts(&options);
	if (!state->skeleton) {
		rc = fperf_error__set_errno(err, -errno, "cannot open BPF object 'sched'");
		goto fail;
	}
	state->skeleton->rodata->has_prev_state = switch_has_prev_state();
	state->skeleton->rodata->kernel_stack_size = fperf_program__kernel_stack_size();
	state->skeleton->rodata->unwind_mode = fperf_unwind__bpf_mode(context->options->unwind);
	if (context->options->unwind == FPERF_UNWIND_CHECK)
		state->skeleton->rodata->dump_interval_ns = 0;
	state->skeleton->rodata->unwind_address_mask = fperf_unwind__address_mask();
	rc = fperf_program__load(context->shared, state->skeleton->obj, "sched", err);
	if (rc)
		goto fail;
	rc = sched_bpf__attach(state->skeleton);
	if (rc) {
		fperf_error__set_errno(err, rc,
				       "cannot attach to the tracepoints sched_switch and sched_waking");
		goto fail;
	}
	snprintf(reason, reason_size, "tracepoints sched_switch, sched_waking, sched_wakeup_new");
	*data = state;
	return 0;
fail:
	sched_bpf__destroy(state->skeleton);
	free(state);
	return rc;
}

static void sched_pause(void *data)
{
	struct sched_state *state = data;

	sched_bpf__detach(state->skeleton);
}

static void sched_effort(void *data, const struct fperf_effort *effort)
{
	struct sched_state *state = data;
	int rc;

	state->skeleton->data->stack_budget_ns = effort->stack_budget_ns;
	state->skeleton->data->thread_stacks_per_s = effort->thread_stacks_per_s;
	state->skeleton->data->kernel_stack_min_ns = effort->kernel_stack_min_ns;
	rc = fperf_program__set_data(state->skeleton->maps.data, state->skeleton->data);
	if (rc)
		fperf_log__write(state->context->log, FPERF_LOG_WARNING,
				 "cannot change what stacks of waits may cost: %s", strerror(-rc));
}

const struct fperf_capture_source_ops fperf_source_sched = {
	.source = FPERF_SOURCE_SCHED,
	.name = "sched",
	.start = sched_start,
	.effort = sched_effort,
	.pause = sched_pause,
	.stop = sched_stop,
};
