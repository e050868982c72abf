/* A comparison as a comment on a pull request. */
#include "output/diff_output.h"
#include "output/utf8.h"

#include <errno.h>
#include <string.h>

#define TEXT_LIMIT	(1u << 16)
#define FUNCTIONS_SHOWN 10
#define PARTS_SHOWN	5

/* Names hold anything: what Markdown or HTML would read is escaped. */
static void escaped(FILE *stream, const char *text)
{
	struct fperf_buf visible;

	fperf_buf__init(&visible, TEXT_LIMIT);
	fperf_utf8__visible(&visible, text, strlen(text));
	for (size_t i = 0; i < visible.size; i++) {
		if (visible.data[i] == '<') {
			fputs("&lt;", stream);
			continue;
		}
		if (strchr("\\`*_[]|#>&~", visible.data[i]))
			fputc('\\', stream);
		fputc(visible.data[i], stream);
	}
	fperf_buf__free(&visible);
}

static void metric_table(const struct fperf_diff *diff, FILE *stream)
{
	fputs("\n| | base | new | change | 95 % sure | |\n|---|--:|--:|--:|--:|---|\n", stream);
	for (size_t i = 0; i < diff->metric_count; i++) {
		const struct fperf_metric_info *info = fperf_metric__info(diff->metrics[i].metric);
		const struct fperf_change *change = &diff->metrics[i].change;

		if (info->family == FPERF_FAMILY_CAUSES && change->base == 0 && change->new_value == 0)
			continue;
		if (info->family != FPERF_FAMILY_PRIMARY && change->result > FPERF_CHANGE_BETTER)
			continue;
		fprintf(stream, "| %s | %s | %s | %s | %s | %s |\n", info->title,
			fperf_diff_words__value(info->unit, change->base).text,
			fperf_diff_words__value(info->unit, change->new_value).text,
			fperf_diff_words__percent(change->difference, change->base).text,
			fperf_diff_words__interval(info->unit, change).text,
			fperf_diff_words__result(change).text);
	}
}

static void function_list(const struct fperf_diff *diff, FILE *stream)
{
	size_t shown = 0;

	for (size_t i = 0; i < diff->function_count && shown < FUNCTIONS_SHOWN; i++) {
		const struct fperf_function_change *function = &diff->functions[i];

		if (function->self.result > FPERF_CHANGE_BETTER && function->presence == FPERF_PRESENCE_BOTH)
			continue;
		fputs(shown++ ? "- " : "\nFunctions:\n\n- ", stream);
		escaped(stream, function->function);
		fprintf(stream, ": %s a frame (%s)%s\n",
			fperf_diff_words__difference(FPERF_UNIT_NS, function->self.difference).text,
			fperf_diff_words__value(FPERF_UNIT_NS, function->self.base).text,
			function->presence == FPERF_PRESENCE_NEW	? ", new"
			: function->presence == FPERF_PRESENCE_VANISHED ? ", vanished"
									: "");
	}
}

static void part_list(const struct fperf_diff *diff, FILE *stream)
{
	for (size_t i = 0; i < diff->attribution_count; i++) {
		const struct fperf_attribution *parts = &diff->attributions[i];
		size_t named = fperf_diff_words__named_parts(parts, PARTS_SHOWN);
		double rest = parts->new_ns - parts->base_ns;

		if (parts->profile != FPERF_PROFILE_P99 || diff->result > FPERF_CHANGE_BETTER)
			continue;
		fprintf(stream, "\n99 %% %s is\n\n", fperf_diff_words__difference(FPERF_UNIT_NS, rest).text);
		for (size_t k = 0; k < named; k++) {
			double part = parts->parts[k].new_ns - parts->parts[k].base_ns;

			rest -= part;
			fprintf(stream, "- %s ", fperf_diff_words__difference(FPERF_UNIT_NS, part).text);
			escaped(stream, fperf_diff_words__part(&parts->parts[k]).text);
			fputc('\n', stream);
		}
		fprintf(stream, "- %s in smaller parts\n",
			fperf_diff_words__difference(FPERF_UNIT_NS, rest).text);
	}
}

static void gate_list(const struct fperf_diff_report *report, FILE *stream)
{
	if (report->gate_count)
		fputs("\n| gate | |\n|---|---|\n", stream);
	for (size_t i = 0; i < report->gate_count; i++)
		for (size_t k = 0; k < report->diff_count; k++) {
			const struct fperf_gate_result *result = fperf_diff_report__result(report, i, k);

			fprintf(stream, "| %s ", result->outcome == FPERF_GATE_HOLDS ? "✅" : "❌");
			escaped(stream, report->gates[i].text);
			if (*report->diffs[k]->scene) {
				fputs(" in ", stream);
				escaped(stream, report->diffs[k]->scene);
			}
			fputs(" | ", stream);
			escaped(stream, fperf_diff_words__gate(&report->gates[i], result).text);
			fputs(" |\n", stream);
		}
}

static int markdown_write(const struct fperf_diff_report *report, FILE *stream, struct fperf_error *err)
{
	fputs("### Frame times\n", stream);
	for (size_t i = 0; i < report->diff_count; i++) {
		const struct fperf_diff *diff = report->diffs[i];

		fputc('\n', stream);
		if (*diff->scene) {
			fputs("**", stream);
			escaped(stream, diff->scene);
			fputs("** ", stream);
		}
		fprintf(stream, "%s. (%zu runs against %zu.)\n", fperf_diff_words__answer(diff).text,
			diff->new_side.count, diff->base.count);
		for (size_t k = 0; k < diff->warning_count; k++) {
			fputs(k ? "- ⚠ " : "\n- ⚠ ", stream);
			escaped(stream, diff->warnings[k].text);
			fputc('\n', stream);
		}
		metric_table(diff, stream);
		part_list(diff, stream);
		function_list(diff, stream);
	}
	gate_list(report, stream);
	if (fflush(stream) || ferror(stream))
		return fperf_error__set_errno(err, errno ? -errno : -EIO, "cannot write the Markdown file");
	return 0;
}

const struct fperf_diff_output_ops fperf_diff_markdown = {.name = "markdown", .write = markdown_write};
