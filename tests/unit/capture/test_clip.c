/* Intervals are cut to the time of the recording. */
#include "capture/recording.h"

#include <criterion/criterion.h>

#define BEGIN 1000u
#define END   2000u

static struct fperf_wire_offcpu interval_of(uint32_t tid, uint64_t out_ns, uint64_t in_ns)
{
	return (struct fperf_wire_offcpu){.header = {.type = FPERF_WIRE_OFFCPU, .tid = tid, .time_ns = in_ns},
					  .out_ns = out_ns};
}

/* A recording that has started; thread 7 existed then. */
static struct fperf_capture recording(uint64_t end_ns)
{
	struct fperf_capture capture = {.live_ns = BEGIN, .end_ns = end_ns};

	cr_assert_eq(fperf_map__set(&capture.start_threads, 7, 1), 0);
	return capture;
}

Test(capture, clip_keeps_an_interval_inside)
{
	struct fperf_capture capture = recording(0);
	struct fperf_wire_offcpu interval = interval_of(8, 1100, 1200), same = interval;

	cr_assert(fperf_follow__clip(&capture, &interval));
	cr_assert_arr_eq(&interval, &same, sizeof(same));
	fperf_map__free(&capture.start_threads);
}

Test(capture, clip_cuts_what_began_before)
{
	struct fperf_capture capture = recording(0);
	struct fperf_wire_offcpu interval = interval_of(7, 0, 1200);

	cr_assert(fperf_follow__clip(&capture, &interval));
	cr_assert_eq(interval.out_ns, BEGIN);
	cr_assert(interval.flags & FPERF_OFFCPU_OPEN_START);
	interval = interval_of(7, 900, 1200);
	cr_assert(fperf_follow__clip(&capture, &interval));
	cr_assert_eq(interval.out_ns, BEGIN);
	cr_assert(interval.flags & FPERF_OFFCPU_OPEN_START);
	interval = interval_of(7, 800, 900);
	cr_assert_not(fperf_follow__clip(&capture, &interval), "was over before");
	fperf_map__free(&capture.start_threads);
}

/* Else a thread whose state was lost would seem to have slept since the start. */
Test(capture, clip_drops_what_began_nobody_knows_when)
{
	struct fperf_capture capture = recording(0);
	struct fperf_wire_offcpu interval = interval_of(8, 0, 1200);

	cr_assert_not(fperf_follow__clip(&capture, &interval), "no thread of the start");
	interval = interval_of(7, 1050, 1060);
	cr_assert(fperf_follow__clip(&capture, &interval));
	interval = interval_of(7, 0, 1200);
	cr_assert_not(fperf_follow__clip(&capture, &interval), "not its first");
	fperf_map__free(&capture.start_threads);
}

Test(capture, clip_cuts_at_the_end)
{
	struct fperf_capture capture = recording(END);
	struct fperf_wire_offcpu interval = interval_of(8, 1900, 2100);

	interval.wake_ns = 2050;
	interval.waker.tid = 9;
	cr_assert(fperf_follow__clip(&capture, &interval));
	cr_assert_eq(interval.header.time_ns, END);
	cr_assert(interval.flags & FPERF_OFFCPU_OPEN_END);
	cr_assert_eq(interval.wake_ns, 0, "nobody had woken it then");
	cr_assert_eq(interval.waker.tid, 0);
	interval = interval_of(8, 1900, 2100);
	interval.wake_ns = 1950;
	interval.waker.tid = 9;
	cr_assert(fperf_follow__clip(&capture, &interval));
	cr_assert_eq(interval.wake_ns, 1950);
	cr_assert_eq(interval.waker.tid, 9);
	interval = interval_of(8, 2000, 2100);
	cr_assert_not(fperf_follow__clip(&capture, &interval));
	fperf_map__free(&capture.start_threads);
}
