#include "output/utf8.h"

#include <criterion/criterion.h>
#include <string.h>

static char result[512];

static const char *taken(struct fperf_buf *buf)
{
	cr_assert(buf->size < sizeof(result));
	memcpy(result, buf->size ? buf->data : (const uint8_t *)"", buf->size);
	result[buf->size] = '\0';
	fperf_buf__free(buf);
	return result;
}

static const char *repaired(const char *bytes, size_t size)
{
	struct fperf_buf buf;

	fperf_buf__init(&buf, 400);
	fperf_utf8__repair(&buf, bytes, size);
	return taken(&buf);
}

static const char *visible(const char *bytes, size_t size)
{
	struct fperf_buf buf;

	fperf_buf__init(&buf, 400);
	fperf_utf8__visible(&buf, bytes, size);
	return taken(&buf);
}

static const char *fitted(const char *text, unsigned int columns)
{
	struct fperf_buf buf;
	unsigned int used;

	fperf_buf__init(&buf, 400);
	used = fperf_utf8__fit(&buf, text, strlen(text), columns);
	cr_assert(used <= columns);
	cr_assert_eq(used, fperf_utf8__columns((const char *)buf.data, buf.size));
	return taken(&buf);
}

Test(output, repair_keeps_valid_text)
{
	cr_assert_str_eq(repaired("naïve €😀", strlen("naïve €😀")), "naïve €😀");
	cr_assert_str_eq(repaired("", 0), "");
}

Test(output, repair_replaces_each_invalid_byte)
{
	cr_assert_str_eq(repaired("a\xff\xfe", 3), "a\xef\xbf\xbd\xef\xbf\xbd");
	cr_assert_str_eq(repaired("\xc0\xaf", 2), "\xef\xbf\xbd\xef\xbf\xbd"); /* overlong '/' */
	cr_assert_str_eq(repaired("\xed\xa0\x80", 3), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* surrogate */
	cr_assert_str_eq(repaired("\xf4\x90\x80\x80!", 5),
			 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd!");
	cr_assert_str_eq(repaired("x\xe2\x82", 3), "x\xef\xbf\xbd\xef\xbf\xbd"); /* cut at the end */
}

Test(output, visible_writes_out_what_moves_a_cursor)
{
	cr_assert_str_eq(visible("a\nb\tc\r", 6), "a\\nb\\tc\\r");
	cr_assert_str_eq(visible("\x1b[31m\x07\0z", 8), "\\x1b[31m\\x07\\x00z");
	cr_assert_str_eq(visible("\xff", 1), "\\xff");
	cr_assert_str_eq(visible("a\xe2\x80\xae"
				 "b",
				 5),
			 "a\\u202eb"); /* right-to-left override */
	cr_assert_str_eq(visible("\xc2\x9b"
				 "2J",
				 4),
			 "\\u009b2J"); /* C1 control sequence introducer */
	cr_assert_str_eq(visible("Grüße", strlen("Grüße")), "Grüße");
}

Test(output, columns_of_wide_and_combining_characters)
{
	cr_assert_eq(fperf_utf8__columns("abc", 3), 3);
	cr_assert_eq(fperf_utf8__columns("日本", strlen("日本")), 4);
	cr_assert_eq(fperf_utf8__columns("e\xcc\x81", 3), 1);
	cr_assert_eq(fperf_utf8__columns("µ→", strlen("µ→")), 2);
}

Test(output, fit_cuts_in_the_middle)
{
	cr_assert_str_eq(fitted("short", 10), "short");
	cr_assert_str_eq(fitted("0123456789", 10), "0123456789");
	cr_assert_str_eq(fitted("0123456789", 5), "01…89");
	cr_assert_str_eq(fitted("0123456789", 4), "01…9");
	cr_assert_str_eq(fitted("0123456789", 2), "0…");
	cr_assert_str_eq(fitted("0123456789", 1), "…");
	cr_assert_str_eq(fitted("日本語の名前", 7), "日…前"); /* half of a wide character is no choice */
}

Test(output, fit_of_any_width_stays_within_it)
{
	const char *text = "e\xcc\x81日a本b語😀ccc→ddd";

	for (unsigned int columns = 1; columns < 24; columns++)
		fitted(text, columns);
}
