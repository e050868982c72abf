/* JUnit XML as build servers read it: one test case for each gate and scene. */
#include "output/diff_output.h"
#include "output/utf8.h"

#include <errno.h>
#include <string.h>

#define TEXT_LIMIT (1u << 16)

/* Text for an attribute or an element; characters that XML 1.0 cannot hold are written out. */
static void escaped(FILE *stream, const char *text)
{
	struct fperf_buf visible;

	fperf_buf__init(&visible, TEXT_LIMIT);
	fperf_utf8__visible(&visible, text, strlen(text));
	for (size_t i = 0; i < visible.size; i++) {
		switch (visible.data[i]) {
		case '<':
			fputs("&lt;", stream);
			break;
		case '>':
			fputs("&gt;", stream);
			break;
		case '&':
			fputs("&amp;", stream);
			break;
		case '"':
			fputs("&quot;", stream);
			break;
		default:
			fputc(visible.data[i], stream);
		}
	}
	fperf_buf__free(&visible);
}

static void test_case(const struct fperf_diff_report *report, size_t gate, size_t diff, FILE *stream)
{
	const struct fperf_gate_result *result = fperf_diff_report__result(report, gate, diff);
	const char *scene = report->diffs[diff]->scene;

	fputs("  <testcase classname=\"frameperf.", stream);
	escaped(stream, *scene ? scene : "diff");
	fputs("\" name=\"", stream);
	escaped(stream, report->gates[gate].text);
	fputs("\">\n", stream);
	if (result->outcome == FPERF_GATE_HOLDS) {
		fputs("    <system-out>", stream);
		escaped(stream, fperf_diff_words__gate(&report->gates[gate], result).text);
		fputs("</system-out>\n", stream);
	} else {
		fprintf(stream, "    <failure type=\"%s\" message=\"",
			fperf_gate_outcome__name(result->outcome));
		escaped(stream, fperf_diff_words__gate(&report->gates[gate], result).text);
		fputs("\">", stream);
		escaped(stream, fperf_diff_words__answer(report->diffs[diff]).text);
		fputs("</failure>\n", stream);
	}
	fputs("  </testcase>\n", stream);
}

static int junit_write(const struct fperf_diff_report *report, FILE *stream, struct fperf_error *err)
{
	size_t cases = report->gate_count * report->diff_count, failures = 0;

	for (size_t i = 0; i < cases; i++)
		failures += report->results[i].outcome != FPERF_GATE_HOLDS;
	fprintf(stream,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites>\n <testsuite name=\"frameperf diff\" tests=\"%zu\" failures=\"%zu\" "
		"errors=\"0\" "
		"skipped=\"0\">\n",
		cases, failures);
	for (size_t i = 0; i < report->gate_count; i++)
		for (size_t k = 0; k < report->diff_count; k++)
			test_case(report, i, k, stream);
	fputs(" </testsuite>\n</testsuites>\n", stream);
	if (fflush(stream) || ferror(stream))
		return fperf_error__set_errno(err, errno ? -errno : -EIO, "cannot write the JUnit file");
	return 0;
}

const struct fperf_diff_output_ops fperf_diff_junit = {.name = "junit", .write = junit_write};
