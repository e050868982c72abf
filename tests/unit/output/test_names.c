#include "output/names.h"

#include <criterion/criterion.h>
#include <string.h>

Test(output, every_source_loss_outcome_and_record_type_has_a_name)
{
	for (unsigned int i = 0; i < FPERF_SOURCES; i++)
		cr_assert_str_neq(fperf_source__key(i), "unknown", "source %u", i);
	for (unsigned int i = 0; i < FPERF_LOSS_REASONS; i++) {
		cr_assert_not_null(fperf_loss__key(i), "loss %u", i);
		cr_assert_not_null(fperf_loss__words(i), "loss %u", i);
	}
	for (unsigned int i = 0; i < FPERF_STACK_OUTCOMES; i++) {
		cr_assert_not_null(fperf_outcome__key(i), "outcome %u", i);
		cr_assert_not_null(fperf_outcome__words(i), "outcome %u", i);
	}
	for (unsigned int i = 1; i < FPERF_RECORD_TYPES; i++)
		cr_assert_str_neq(fperf_record_type__key(i), "unknown", "record type %u", i);
}

Test(output, numbers_of_a_newer_version_are_unknown)
{
	cr_assert_str_eq(fperf_source__key(200), "unknown");
	cr_assert_str_eq(fperf_source_state__key(200), "unknown");
	cr_assert_str_eq(fperf_loss__key(200), "unknown");
	cr_assert_str_eq(fperf_outcome__key(200), "unknown");
	cr_assert_str_eq(fperf_record_type__key(200), "unknown");
	cr_assert(strlen(fperf_loss__words(200)) > 0 && strlen(fperf_outcome__words(200)) > 0);
}

Test(output, a_source_that_is_off_counts_as_absent)
{
	cr_assert_str_eq(fperf_source_state__key(FPERF_SOURCE_STATE_OFF), "absent");
	cr_assert_str_eq(fperf_source_state__key(FPERF_SOURCE_STATE_ACTIVE), "active");
}
