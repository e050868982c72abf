#include "output/paint.h"

#include "base/clock.h"
#include "output/utf8.h"

#include <stdarg.h>
#include <string.h>

#define LINE_LIMIT (1u << 20) /* bytes that one piece of text may take once made visible */

static const char *style_begin(const struct fperf_paint *paint, enum fperf_style style)
{
	static const char *const codes[FPERF_STYLES] = {
		[FPERF_STYLE_PLAIN] = "",	 [FPERF_STYLE_TITLE] = "\x1b[1m",
		[FPERF_STYLE_DIM] = "\x1b[2m",	 [FPERF_STYLE_BAD] = "\x1b[31m",
		[FPERF_STYLE_WARN] = "\x1b[33m", [FPERF_STYLE_ACCENT] = "\x1b[36m",
	};

	return paint->colour && style < FPERF_STYLES ? codes[style] : "";
}

static const char *style_end(const struct fperf_paint *paint, enum fperf_style style)
{
	return paint->colour && style != FPERF_STYLE_PLAIN ? "\x1b[0m" : "";
}

void fperf_paint__put(const struct fperf_paint *paint, enum fperf_style style, const char *format, ...)
{
	va_list args;

	fputs(style_begin(paint, style), paint->stream);
	va_start(args, format);
	vfprintf(paint->stream, format, args);
	va_end(args);
	fputs(style_end(paint, style), paint->stream);
}

void fperf_paint__heading(const struct fperf_paint *paint, const char *title, const char *aside)
{
	fputc('\n', paint->stream);
	fperf_paint__put(paint, FPERF_STYLE_TITLE, "%s", title);
	if (aside[0])
		fperf_paint__put(paint, FPERF_STYLE_DIM, "  %s", aside);
	fputc('\n', paint->stream);
}

static void spaces(const struct fperf_paint *paint, unsigned int count)
{
	fprintf(paint->stream, "%*s", (int)count, "");
}

void fperf_paint__paragraph(const struct fperf_paint *paint, enum fperf_style style, unsigned int used,
			    unsigned int indent, const char *text)
{
	unsigned int width = paint->width > indent + 20 ? paint->width : indent + 20;
	bool first_word = true;
	struct fperf_buf word;

	fperf_buf__init(&word, LINE_LIMIT);
	fputs(style_begin(paint, style), paint->stream);
	for (const char *at = text; *at;) {
		size_t size = strcspn(at, " ");
		unsigned int columns, room;

		if (!size) {
			at++;
			continue;
		}
		fperf_buf__clear(&word);
		fperf_utf8__visible(&word, at, size);
		columns = fperf_utf8__columns((const char *)word.data, word.size);
		if (!first_word && used + 1 + columns > width) {
			fputc('\n', paint->stream);
			spaces(paint, indent);
			used = indent;
		} else if (!first_word) {
			fputc(' ', paint->stream);
			used++;
		}
		room = width > used ? width - used : 1;
		if (columns > room) {
			size_t end = word.size;

			columns = fperf_utf8__fit(&word, (const char *)word.data, end, room);
			fwrite(word.data + end, 1, word.size - end, paint->stream);
		} else {
			fwrite(word.data, 1, word.size, paint->stream);
		}
		used += columns;
		first_word = false;
		at += size;
	}
	fputs(style_end(paint, style), paint->stream);
	fputc('\n', paint->stream);
	fperf_buf__free(&word);
}

void fperf_paint__bar(const struct fperf_paint *paint, enum fperf_style style, double share,
		      unsigned int columns)
{
	static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	unsigned int eighths, full;

	share = share > 0 ? share < 1 ? share : 1 : 0; /* not a number counts as nothing */
	eighths = (unsigned int)(share * columns * 8 + 0.5);
	if (share > 0 && !eighths)
		eighths = 1;
	full = eighths / 8;
	fputs(style_begin(paint, style), paint->stream);
	for (unsigned int i = 0; i < full; i++)
		fputs("█", paint->stream);
	fputs(parts[eighths % 8], paint->stream);
	fputs(style_end(paint, style), paint->stream);
	spaces(paint, columns - full - (eighths % 8 ? 1 : 0));
}

const char *fperf_paint__height(double share)
{
	static const char *const heights[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

	if (!(share > 0))
		return heights[0];
	return heights[share >= 1 ? 8 : 1 + (unsigned int)(share * 8)];
}

struct fperf_words fperf_words__duration(uint64_t ns)
{
	struct fperf_words words;

	/* Boundaries where rounding would give the next unit's 1000. */
	if (ns < FPERF_NS_PER_US)
		snprintf(words.text, sizeof(words.text), "%llu ns", (unsigned long long)ns);
	else if (ns < 999500)
		snprintf(words.text, sizeof(words.text), "%.*f µs", ns < 9950 ? 1 : 0, (double)ns / 1e3);
	else if (ns < 999950000)
		snprintf(words.text, sizeof(words.text), "%.*f ms", ns < 9995000 ? 2 : 1, (double)ns / 1e6);
	else if (ns < 99950000000)
		snprintf(words.text, sizeof(words.text), "%.*f s", ns < 9995000000 ? 2 : 1, (double)ns / 1e9);
	else
		snprintf(words.text, sizeof(words.text), "%llu min %02llu s",
			 (unsigned long long)((ns + 500000000) / 60000000000),
			 (unsigned long long)((ns + 500000000) % 60000000000 / FPERF_NS_PER_S));
	return words;
}

struct fperf_words fperf_words__ms(uint64_t ns)
{
	struct fperf_words words;

	snprintf(words.text, sizeof(words.text), "%.*f", ns < 9995000 ? 2 : 1, (double)ns / 1e6);
	return words;
}

struct fperf_words fperf_words__bytes(uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	double value = (double)bytes / 1024;
	struct fperf_words words;
	unsigned int unit = 0;

	if (bytes < 1024) {
		snprintf(words.text, sizeof(words.text), "%llu bytes", (unsigned long long)bytes);
		return words;
	}
	for (; value >= 1023.5 && unit < 3; unit++)
		value /= 1024;
	snprintf(words.text, sizeof(words.text), "%.*f %s", value < 9.95 ? 1 : 0, value, units[unit]);
	return words;
}

struct fperf_words fperf_words__share(double share)
{
	struct fperf_words words;

	if (share >= 0 && share < 1e6)
		snprintf(words.text, sizeof(words.text), "%.1f %%", share * 100);
	else
		snprintf(words.text, sizeof(words.text), "–");
	return words;
}

struct fperf_words fperf_words__khz(uint64_t khz)
{
	struct fperf_words words;

	if (khz < 1000000)
		snprintf(words.text, sizeof(words.text), "%.0f MHz", (double)khz / 1e3);
	else
		snprintf(words.text, sizeof(words.text), "%.2f GHz", (double)khz / 1e6);
	return words;
}
