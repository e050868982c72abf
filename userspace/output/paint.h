/* Text on a terminal or in a file of known width: styles, wrapped paragraphs, bars, tables. Text that is
 * passed in may hold any bytes; it comes out visible and of known width. */
#ifndef FPERF_OUTPUT_PAINT_H
#define FPERF_OUTPUT_PAINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct fperf_paint {
	FILE *stream;	    /* borrowed */
	unsigned int width; /* columns of a line; at least 40 */
	bool colour;
};

enum fperf_style {
	FPERF_STYLE_PLAIN,
	FPERF_STYLE_TITLE,
	FPERF_STYLE_DIM,
	FPERF_STYLE_BAD,
	FPERF_STYLE_WARN,
	FPERF_STYLE_ACCENT,
	FPERF_STYLES
};

void fperf_paint__put(const struct fperf_paint *paint, enum fperf_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A section's heading on a line of its own, after an empty line; `aside` is said more quietly, "" for none.
 */
void fperf_paint__heading(const struct fperf_paint *paint, const char *title, const char *aside);

/* Words wrapped at the width and a newline at the end. The cursor is at column `used`; further lines begin at
 * column `indent`. Words longer than a line are shortened in the middle. */
void fperf_paint__paragraph(const struct fperf_paint *paint, enum fperf_style style, unsigned int used,
			    unsigned int indent, const char *text);

/* A bar of `columns` columns of which `share` (0..1) are filled, in steps of an eighth of a column. */
void fperf_paint__bar(const struct fperf_paint *paint, enum fperf_style style, double share,
		      unsigned int columns);

/* Which eighth of height a value has: one of " ▁▂▃▄▅▆▇█". */
const char *fperf_paint__height(double share);

/* Values of at most 24 columns for use in sentences and tables. */
struct fperf_words {
	char text[40];
};

struct fperf_words fperf_words__duration(uint64_t ns); /* "850 ns", "41.2 ms", "12.3 s", "3 min 12 s" */
struct fperf_words fperf_words__ms(uint64_t ns);       /* "41.2": milliseconds without unit */
struct fperf_words fperf_words__bytes(uint64_t bytes); /* "1.2 MiB" */
struct fperf_words fperf_words__share(double share);   /* "38.2 %"; "–" when negative or not a number */
struct fperf_words fperf_words__khz(uint64_t khz);     /* "1.80 GHz" */

/* A table: columns take the width that their cells need; when that is too much, the elastic columns are
 * shortened. */
struct fperf_table_column {
	const char *title;
	bool right;   /* numbers */
	bool elastic; /* may be shortened, cells cut in the middle */
};

struct fperf_table;

/* NULL when out of memory: the other functions then do nothing, the report lacks the table. */
struct fperf_table *fperf_table__new(const struct fperf_table_column *columns, size_t count);
void fperf_table__cell(struct fperf_table *table, enum fperf_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void fperf_table__render(const struct fperf_table *table, const struct fperf_paint *paint,
			 unsigned int indent);
void fperf_table__free(struct fperf_table *table);

#endif
