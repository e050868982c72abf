#include "base/vec.h"
#include "output/paint.h"
#include "output/utf8.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define CELL_LIMIT  (1u << 16) /* bytes of one cell once made visible */
#define GAP	    2	       /* columns between columns */
#define ELASTIC_MIN 6	       /* an elastic column is not made narrower */

struct cell {
	struct fperf_buf text;
	unsigned int columns;
	enum fperf_style style;
};

struct fperf_table {
	const struct fperf_table_column *columns; /* borrowed */
	size_t column_count;
	struct cell *cells;
	size_t count, capacity;
};

struct fperf_table *fperf_table__new(const struct fperf_table_column *columns, size_t count)
{
	struct fperf_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->columns = columns;
	table->column_count = count;
	return table;
}

void fperf_table__free(struct fperf_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->count; i++)
		fperf_buf__free(&table->cells[i].text);
	free(table->cells);
	free(table);
}

void fperf_table__cell(struct fperf_table *table, enum fperf_style style, const char *format, ...)
{
	struct fperf_buf raw;
	struct cell *cell;
	va_list args;
	char *text = NULL;
	int size;

	if (!table)
		return;
	cell = fperf_vec__push(&table->cells, &table->count, &table->capacity);
	if (!cell)
		return;
	va_start(args, format);
	size = vasprintf(&text, format, args);
	va_end(args);
	fperf_buf__init(&raw, CELL_LIMIT);
	if (size >= 0)
		fperf_utf8__visible(&raw, text, (size_t)size);
	free(size >= 0 ? text : NULL);
	cell->text = raw;
	cell->style = style;
	cell->columns = fperf_utf8__columns((const char *)raw.data, raw.size);
}

static size_t elastic_count(const struct fperf_table *table)
{
	size_t count = 0;

	for (size_t i = 0; i < table->column_count; i++)
		count += table->columns[i].elastic;
	return count;
}

/* Takes `excess` columns away from the elastic columns, always from the widest. */
static void shrink(const struct fperf_table *table, unsigned int *widths, unsigned int excess)
{
	while (excess--) {
		size_t widest = table->column_count;

		for (size_t i = 0; i < table->column_count; i++) {
			if (table->columns[i].elastic && widths[i] > ELASTIC_MIN &&
			    (widest == table->column_count || widths[i] >= widths[widest]))
				widest = i;
		}
		if (widest == table->column_count)
			return;
		widths[widest]--;
	}
}

static void measure(const struct fperf_table *table, unsigned int room, unsigned int *widths)
{
	unsigned int total = 0;

	for (size_t i = 0; i < table->column_count; i++) {
		const char *title = table->columns[i].title;

		widths[i] = fperf_utf8__columns(title, strlen(title));
	}
	for (size_t i = 0; i < table->count; i++) {
		unsigned int *width = &widths[i % table->column_count];

		if (table->cells[i].columns > *width)
			*width = table->cells[i].columns;
	}
	for (size_t i = 0; i < table->column_count; i++)
		total += widths[i] + (i ? GAP : 0);
	if (total > room && elastic_count(table))
		shrink(table, widths, total - room);
}

static void put_cell(const struct fperf_table *table, const struct fperf_paint *paint, size_t column,
		     unsigned int width, bool last, enum fperf_style style, const char *text, size_t size)
{
	struct fperf_buf fitted;
	unsigned int columns;
	int pad;

	fperf_buf__init(&fitted, CELL_LIMIT * 2);
	columns = width ? fperf_utf8__fit(&fitted, text, size, width) : 0;
	pad = (int)(width > columns ? width - columns : 0);
	if (column)
		fprintf(paint->stream, "%*s", GAP, "");
	if (table->columns[column].right)
		fprintf(paint->stream, "%*s", pad, "");
	fperf_paint__put(paint, style, "%.*s", (int)fitted.size,
			 fitted.size ? (const char *)fitted.data : "");
	if (!table->columns[column].right && !last)
		fprintf(paint->stream, "%*s", pad, "");
	fperf_buf__free(&fitted);
}

static void put_titles(const struct fperf_table *table, const struct fperf_paint *paint,
		       const unsigned int *widths)
{
	size_t count = table->column_count;

	while (count > 1 && !table->columns[count - 1].title[0])
		count--;
	for (size_t i = 0; i < count; i++)
		put_cell(table, paint, i, widths[i], i + 1 == count, FPERF_STYLE_DIM, table->columns[i].title,
			 strlen(table->columns[i].title));
}

/* The row ends with its last cell that is not empty: no blanks at the ends of lines. */
static void put_row(const struct fperf_table *table, const struct fperf_paint *paint,
		    const unsigned int *widths, const struct cell *cells)
{
	size_t count = table->column_count;

	while (count > 1 && !cells[count - 1].text.size)
		count--;
	for (size_t i = 0; i < count; i++)
		put_cell(table, paint, i, widths[i], i + 1 == count, cells[i].style,
			 cells[i].text.size ? (const char *)cells[i].text.data : "", cells[i].text.size);
}

void fperf_table__render(const struct fperf_table *table, const struct fperf_paint *paint,
			 unsigned int indent)
{
	unsigned int *widths;

	if (!table || !table->column_count)
		return;
	widths = calloc(table->column_count, sizeof(*widths));
	if (!widths)
		return;
	measure(table, paint->width > indent ? paint->width - indent : 0, widths);
	fprintf(paint->stream, "%*s", (int)indent, "");
	put_titles(table, paint, widths);
	fputc('\n', paint->stream);
	for (size_t i = 0; i + table->column_count <= table->count; i += table->column_count) {
		fprintf(paint->stream, "%*s", (int)indent, "");
		put_row(table, paint, widths, &table->cells[i]);
		fputc('\n', paint->stream);
	}
	free(widths);
}
