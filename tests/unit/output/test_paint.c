#include "output/paint.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct page {
	char *text;
	size_t size;
	struct fperf_paint paint;
};

static void page_open(struct page *page, unsigned int width, bool colour)
{
	page->text = NULL;
	page->paint = (struct fperf_paint){
		.stream = open_memstream(&page->text, &page->size),
		.width = width,
		.colour = colour,
	};
	cr_assert_not_null(page->paint.stream);
}

static const char *page_text(struct page *page)
{
	fflush(page->paint.stream);
	return page->text;
}

static void page_close(struct page *page)
{
	fclose(page->paint.stream);
	free(page->text);
}

Test(output, durations_have_the_unit_that_suits)
{
	cr_assert_str_eq(fperf_words__duration(0).text, "0 ns");
	cr_assert_str_eq(fperf_words__duration(999).text, "999 ns");
	cr_assert_str_eq(fperf_words__duration(1000).text, "1.0 µs");
	cr_assert_str_eq(fperf_words__duration(41200000).text, "41.2 ms");
	cr_assert_str_eq(fperf_words__duration(999949999).text, "999.9 ms");
	cr_assert_str_eq(fperf_words__duration(999950000).text, "1.00 s");
	cr_assert_str_eq(fperf_words__duration(20000000000).text, "20.0 s");
	cr_assert_str_eq(fperf_words__duration(192000000000).text, "3 min 12 s");
	cr_assert_str_eq(fperf_words__duration(119999999999).text, "2 min 00 s");
	cr_assert(strlen(fperf_words__duration(UINT64_MAX).text) < sizeof(struct fperf_words));
}

Test(output, other_values)
{
	cr_assert_str_eq(fperf_words__ms(41200000).text, "41.2");
	cr_assert_str_eq(fperf_words__ms(1234000).text, "1.23");
	cr_assert_str_eq(fperf_words__bytes(1023).text, "1023 bytes");
	cr_assert_str_eq(fperf_words__bytes(1536).text, "1.5 KiB");
	cr_assert_str_eq(fperf_words__bytes(1048575).text, "1.0 MiB");
	cr_assert_str_eq(fperf_words__share(0.382).text, "38.2 %");
	cr_assert_str_eq(fperf_words__share(-1).text, "–");
	cr_assert_str_eq(fperf_words__share(__builtin_nan("")).text, "–");
	cr_assert_str_eq(fperf_words__khz(1800000).text, "1.80 GHz");
	cr_assert_str_eq(fperf_words__khz(600000).text, "600 MHz");
}

Test(output, paragraph_wraps_and_indents)
{
	struct page page;

	page_open(&page, 40, false);
	fperf_paint__paragraph(&page.paint, FPERF_STYLE_PLAIN, 0, 4,
			       "one two three four five six seven eight nine ten");
	cr_assert_str_eq(page_text(&page), "one two three four five six seven eight\n    nine ten\n");
	page_close(&page);
}

Test(output, paragraph_shortens_words_longer_than_a_line)
{
	struct page page;
	char word[200];

	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	page_open(&page, 40, false);
	fperf_paint__paragraph(&page.paint, FPERF_STYLE_PLAIN, 0, 0, word);
	cr_assert_eq(strlen(page_text(&page)), 39 + strlen("…") + 1);
	page_close(&page);
}

Test(output, hostile_text_cannot_add_lines_or_escapes)
{
	static const struct fperf_table_column columns[] = {{.title = "name"}, {.title = "x", .right = true}};
	struct fperf_table *table = fperf_table__new(columns, 2);
	struct page page;

	page_open(&page, 80, false);
	fperf_table__cell(table, FPERF_STYLE_BAD, "%s", "evil\x1b[2J\nname");
	fperf_table__cell(table, FPERF_STYLE_PLAIN, "%d", 7);
	fperf_table__render(table, &page.paint, 2);
	fperf_paint__paragraph(&page.paint, FPERF_STYLE_BAD, 0, 0, "a\nb\x1b]0;t\x07");
	cr_assert_null(strchr(page_text(&page), '\x1b'));
	cr_assert_str_eq(page_text(&page), "  name               x\n"
					   "  evil\\x1b[2J\\nname  7\n"
					   "a\\nb\\x1b]0;t\\x07\n");
	fperf_table__free(table);
	page_close(&page);
}

Test(output, table_shrinks_elastic_columns_to_the_width)
{
	static const struct fperf_table_column columns[] = {
		{.title = "self", .right = true},
		{.title = "function", .elastic = true},
		{.title = "module", .elastic = true},
	};
	struct fperf_table *table = fperf_table__new(columns, 3);
	const char *line, *end;
	struct page page;

	page_open(&page, 60, false);
	for (int i = 0; i < 3; i++) {
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%d %%", i);
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s",
				  "game::world::Entity<game::Physics, 17>::update_all_of_them(float, bool)");
		fperf_table__cell(table, FPERF_STYLE_PLAIN, "%s", "libengine-very-long-name-release.so.12");
	}
	fperf_table__render(table, &page.paint, 2);
	line = page_text(&page);
	for (int i = 0; i < 4; i++, line = end + 1) {
		end = strchr(line, '\n');
		cr_assert_not_null(end);
		cr_assert(end - line <= 60 + 2 * 2, "line %d has %td bytes", i,
			  end - line); /* two "…" of 3 bytes */
	}
	cr_assert_not_null(strstr(page_text(&page), "game::world"));
	cr_assert_not_null(strstr(page_text(&page), "bool)"));
	fperf_table__free(table);
	page_close(&page);
}

Test(output, colour_only_when_asked_for)
{
	struct page page;

	page_open(&page, 80, true);
	fperf_paint__put(&page.paint, FPERF_STYLE_BAD, "x");
	cr_assert_str_eq(page_text(&page), "\x1b[31mx\x1b[0m");
	page_close(&page);
	page_open(&page, 80, false);
	fperf_paint__put(&page.paint, FPERF_STYLE_BAD, "x");
	cr_assert_str_eq(page_text(&page), "x");
	page_close(&page);
}

Test(output, bars_have_their_width_whatever_the_share)
{
	static const double shares[] = {-1, 0, 1e-9, 0.5, 0.999, 1, 7, __builtin_nan("")};

	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		unsigned int columns = 0;
		struct page page;

		page_open(&page, 80, false);
		fperf_paint__bar(&page.paint, FPERF_STYLE_BAD, shares[i], 10);
		for (const char *at = page_text(&page); *at; at++)
			columns += (*at & 0xc0) != 0x80;
		cr_assert_eq(columns, 10, "share %f takes %u columns", shares[i], columns);
		page_close(&page);
	}
	cr_assert_str_eq(fperf_paint__height(0), " ");
	cr_assert_str_eq(fperf_paint__height(1e-6), "▁");
	cr_assert_str_eq(fperf_paint__height(1), "█");
}
