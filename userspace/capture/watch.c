/* Records → triggers. */
#include "capture/recording.h"

#include "capture/sources.h"
#include "capture/trigger.h"

#define NO_SURFACE 255

static void frame_watch(struct fperf_capture *capture, const struct fperf_wire_mark *mark)
{
	const struct fperf_wire_header *header = &mark->header;
	uint64_t surface = 0, before = mark->marker;
	uint8_t argument;

	if (!fperf_frame__is_boundary(capture->context.frames, header->pid, mark->marker, &argument))
		return;
	/* Another function ends the frames now: the last time of the one before is not to be waited on. */
	if (fperf_map__get(&capture->boundaries, header->pid, &before) && before != mark->marker)
		fperf_triggers__forget_frames(capture->options.triggers, header->pid);
	fperf_map__set(&capture->boundaries, header->pid, mark->marker);
	if (argument != NO_SURFACE && argument < sizeof(mark->args) / sizeof(mark->args[0]))
		surface = mark->args[argument];
	fperf_triggers__frame(capture->options.triggers, header->pid, header->tid, surface, header->time_ns);
}

static void mark_watch(struct fperf_capture *capture, const struct fperf_wire_mark *mark)
{
	const char *name;
	bool end;

	if (fperf_mark__scope(capture->context.marks, mark->marker, &name, &end))
		fperf_triggers__scope(capture->options.triggers, mark->header.pid, mark->header.tid, name,
				      end, mark->header.time_ns);
	else
		frame_watch(capture, mark);
}

static void offcpu_watch(struct fperf_capture *capture, const struct fperf_wire_offcpu *offcpu)
{
	if (!(offcpu->flags & FPERF_OFFCPU_OPEN_END))
		fperf_triggers__run_queue(capture->options.triggers, offcpu->header.pid, offcpu->header.tid,
					  offcpu->wake_ns, offcpu->header.time_ns);
}

void fperf_watch__record(struct fperf_capture *capture, const struct fperf_wire_header *header)
{
	switch (header->type) {
	case FPERF_WIRE_MARK:
		if (header->size >= sizeof(struct fperf_wire_mark))
			mark_watch(capture, (const struct fperf_wire_mark *)header);
		break;
	case FPERF_WIRE_OFFCPU:
		if (header->size >= sizeof(struct fperf_wire_offcpu))
			offcpu_watch(capture, (const struct fperf_wire_offcpu *)header);
		break;
	case FPERF_WIRE_EXIT:
		if (header->size < sizeof(struct fperf_wire_exit) ||
		    !((const struct fperf_wire_exit *)header)->last)
			break;
		fperf_triggers__exit(capture->options.triggers, header->pid);
		fperf_map__remove(&capture->boundaries, header->pid);
		break;
	default:
		break;
	}
}
