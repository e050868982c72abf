#include "capture/batch.h"

#include <criterion/criterion.h>
#include <string.h>

Test(capture, batch_sorts_by_time_and_keeps_equal_times_as_they_came)
{
	static const uint64_t times[] = {30, 10, 20, 10, 30, 0};
	struct fperf_batch batch;
	uint64_t before = 0;

	fperf_batch__init(&batch, 1 << 20);
	for (uint32_t i = 0; i < 6; i++)
		fperf_batch__add(&batch, FPERF_BATCH_WIRE, times[i], &i, sizeof(i));
	fperf_batch__sort(&batch);
	cr_assert_eq(batch.count, 6);
	for (size_t i = 0; i < batch.count; i++) {
		uint32_t came;

		cr_assert_geq(batch.items[i].time_ns, before);
		before = batch.items[i].time_ns;
		memcpy(&came, fperf_batch__data(&batch, &batch.items[i]), sizeof(came));
		cr_assert_eq(times[came], batch.items[i].time_ns);
		if (i == 2)
			cr_assert_eq(came, 3, "the second of time 10 came later");
	}
	fperf_batch__free(&batch);
}

Test(capture, batch_counts_what_finds_no_room)
{
	char record[100] = {0};
	struct fperf_batch batch;

	fperf_batch__init(&batch, 1000);
	for (uint64_t i = 0; i < 20; i++)
		fperf_batch__add(&batch, FPERF_BATCH_WIRE, i, record, sizeof(record));
	cr_assert_eq(batch.count + batch.dropped, 20, "received + lost = seen");
	cr_assert_gt(batch.dropped, 0);
	cr_assert_gt(batch.count, 5);
	fperf_batch__drop_first(&batch, batch.count);
	fperf_batch__add(&batch, FPERF_BATCH_WIRE, 1, record, sizeof(record));
	cr_assert_eq(batch.count, 1, "room again when all has been taken");
	fperf_batch__free(&batch);
}

Test(capture, batch_keeps_what_is_too_young_for_the_next_round)
{
	struct fperf_batch batch;

	fperf_batch__init(&batch, 1 << 20);
	for (uint64_t round = 0; round < 5; round++) {
		uint64_t before = 0;
		size_t old = 0;

		/* Five records of odd sizes, the last two from after the round began. */
		for (uint64_t i = 0; i < 5; i++) {
			char record[16];

			memset(record, (int)(round * 5 + i), sizeof(record));
			fperf_batch__add(&batch, FPERF_BATCH_WIRE, round * 5 + i, record, 9 + i);
		}
		fperf_batch__sort(&batch);
		cr_assert_eq(batch.count, round ? 7 : 5);
		while (old < batch.count && batch.items[old].time_ns < round * 5 + 3) {
			const struct fperf_batch_item *item = &batch.items[old++];
			const char *data = fperf_batch__data(&batch, item);

			cr_assert(item->time_ns >= before);
			before = item->time_ns;
			cr_assert_eq(item->size, 9 + item->time_ns % 5);
			for (uint32_t i = 0; i < item->size; i++)
				cr_assert_eq(data[i], (char)item->time_ns);
		}
		fperf_batch__drop_first(&batch, old);
		cr_assert_eq(batch.count, 2);
	}
	cr_assert_eq(batch.dropped, 0);
	fperf_batch__free(&batch);
}
