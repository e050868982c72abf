/* Blocks of data inside the report page: a JSON head, and columns of numbers behind it, compressed and
 * written as text that HTML leaves alone. The page's decoder is userspace/output/page/src/block.ts. */
#ifndef FPERF_OUTPUT_HTML_BLOCK_H
#define FPERF_OUTPUT_HTML_BLOCK_H

#include "base/buf.h"
#include "base/error.h"
#include "output/json_build.h"

#include <stdint.h>
#include <stdio.h>

enum fperf_html_coding {
	FPERF_HTML_PLAIN, /* unsigned LEB128 */
	FPERF_HTML_DELTA, /* difference to the number before (the first: to 0), zigzag, LEB128 */
	FPERF_HTML_BYTES, /* one byte each */
};

struct fperf_html_block {
	struct json_build *build; /* borrowed; notes when memory runs out */
	json_t *head;		  /* object: what the page finds beside the columns */
	struct fperf_buf bytes;
	const char *column; /* that is being filled, borrowed; NULL: none */
	enum fperf_html_coding coding;
	size_t column_start;
	uint64_t count, last;
};

void fperf_html_block__init(struct fperf_html_block *block, struct json_build *build);
void fperf_html_block__free(struct fperf_html_block *block);

/* Ends the column before and begins one; `name` must outlive the block's filling. */
void fperf_html_block__column(struct fperf_html_block *block, const char *name,
			      enum fperf_html_coding coding);
void fperf_html_block__put(struct fperf_html_block *block, int64_t value);

/* Writes the block as <script type="text/plain" id="data-NAME">: base64 of raw deflate of: length of the head
 * (32 bits, little endian), head, columns. Memory that ran out while the block was filled is an error here.
 */
int fperf_html_block__write(struct fperf_html_block *block, const char *name, FILE *stream,
			    struct fperf_error *err);

#endif
