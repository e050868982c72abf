#include "unwind/table.h"

#include "base/vec.h"
#include "unwind/cfi.h"
#include "unwind/code.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How far start code without an FDE is taken to reach. */
#define ENTRY_REACH 64

/* Longer text without unwind information is not searched for stubs. */
#define STUBS_MAX (1u << 20)

/* CFA = sp + 8: as a function begins. */
#define RULE_FUNCTION_START (FPERF_RULE_SP | 1u << 16)

#define BLOCK_SHIFT_MIN 5
#define BLOCK_SHIFT_MAX 16

/* An FDE whose code lies in an executable segment, by file offset. */
struct piece {
	uint32_t start, end;
	uint32_t fde;
};

struct builder {
	struct cfi_section section;
	struct cfi_index index;
	const struct fperf_elf *elf;
	struct piece *pieces;
	size_t piece_count;
	struct fperf_unwind_table *table;
	size_t row_limit;
	const struct piece *piece; /* being interpreted */
	uint32_t from;		   /* rows of it begin here: what lies before belongs to another piece */
	const struct cfi_cie *cie;
	uint32_t forced; /* rule for the whole piece, 0: none */
	int error;
};

static void row_emit(struct builder *builder, uint32_t offset, uint32_t rule)
{
	struct fperf_unwind_table *table = builder->table;
	struct fperf_unwind_row *row = table->count ? &table->rows[table->count - 1] : NULL;

	if (row && row->offset == offset) { /* nothing is between the two: the later one counts */
		table->count--;
		row = table->count ? row - 1 : NULL;
	}
	if (row ? row->rule == rule : rule == FPERF_RULE_NONE)
		return;
	if (builder->row_limit && table->count >= builder->row_limit) {
		builder->error = -E2BIG;
		return;
	}
	row = fperf_vec__push(&table->rows, &table->count, &table->capacity);
	if (!row) {
		builder->error = -ENOMEM;
		return;
	}
	row->offset = offset;
	row->rule = rule;
}

static void state_emit(void *context, uint64_t location, const struct cfi_state *state)
{
	struct builder *builder = context;
	const struct piece *piece = builder->piece;
	uint32_t rule, offset;

	if (location >= piece->end - piece->start || builder->error)
		return;
	offset = piece->start + (uint32_t)location;
	rule = builder->forced ? builder->forced : cfi_rule_pack(&builder->section, builder->cie, state);
	row_emit(builder, offset < builder->from ? builder->from : offset, rule);
}

/* A signal trampoline on arm64 describes the interrupted link register, not the interrupted pc: the context
 * that the kernel saved has both. */
static bool is_arm64_trampoline(const struct builder *builder, const struct piece *piece)
{
	size_t size = piece->end - piece->start;
	const uint8_t *code;

	if (builder->section.machine != EM_AARCH64)
		return false;
	code = fperf_elf__bytes(builder->elf, piece->start, size);
	return code && code_has_sigreturn_arm64(code, size);
}

static void piece_compile(struct builder *builder, const struct piece *piece, uint32_t from, uint32_t forced)
{
	const struct cfi_fde *fde = &builder->index.fdes[piece->fde];
	struct cfi_state state;
	size_t before = builder->table->count;

	builder->piece = piece;
	builder->from = from;
	builder->cie = &builder->index.cies[fde->cie];
	builder->forced = forced;
	if (!forced && builder->cie->signal_frame && is_arm64_trampoline(builder, piece))
		builder->forced = FPERF_RULE_SIGNAL;
	state = builder->cie->initial;
	row_emit(builder, from, FPERF_RULE_NONE);
	if (!cfi_program_run(&builder->section, builder->cie, fde->instructions, fde->instruction_size,
			     &state, fde->address, state_emit, builder)) {
		/* Nothing of a function that cannot be read to its end is believed. */
		if (builder->table->count > before)
			builder->table->count = before;
		row_emit(builder, from, FPERF_RULE_NONE);
		builder->table->damaged++;
	}
}

static int piece_compare(const void *a, const void *b)
{
	const struct piece *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return (left->fde > right->fde) - (left->fde < right->fde);
}

static const struct fperf_elf_segment *code_segment(const struct builder *builder, uint64_t address)
{
	size_t count;
	const struct fperf_elf_segment *segments = fperf_elf__segments(builder->elf, &count);

	for (size_t i = 0; i < count; i++) {
		if ((segments[i].flags & PF_X) && address >= segments[i].address &&
		    address - segments[i].address < segments[i].file_size)
			return &segments[i];
	}
	return NULL;
}

/* Keeps the FDEs that describe bytes of an executable segment, and sorts them by file offset. */
static int pieces_collect(struct builder *builder)
{
	const struct cfi_index *index = &builder->index;
	const struct fperf_elf_segment *segment = NULL;
	bool sorted = true;

	builder->pieces = calloc(index->fde_count ? index->fde_count : 1, sizeof(*builder->pieces));
	if (!builder->pieces)
		return -ENOMEM;
	for (size_t i = 0; i < index->fde_count; i++) {
		const struct cfi_fde *fde = &index->fdes[i];
		struct piece *piece = &builder->pieces[builder->piece_count];
		uint64_t start, end;

		if (!segment || fde->address < segment->address ||
		    fde->address - segment->address >= segment->file_size)
			segment = code_segment(builder, fde->address);
		if (!segment)
			continue;
		start = fde->address - segment->address + segment->file_offset;
		end = segment->file_offset + segment->file_size;
		if (end > UINT32_MAX)
			end = UINT32_MAX;
		if (start >= end)
			continue;
		if (fde->size < end - start)
			end = start + fde->size;
		*piece = (struct piece){(uint32_t)start, (uint32_t)end, (uint32_t)i};
		sorted = sorted && (!builder->piece_count || piece[-1].start <= piece->start);
		builder->piece_count++;
	}
	if (!sorted)
		qsort(builder->pieces, builder->piece_count, sizeof(*builder->pieces), piece_compare);
	return 0;
}

/* Does this file begin a process, so that its entry point is where the first thread starts? Old linkers give
 * plain libraries an entry point as well. */
static bool is_program(const struct builder *builder, uint64_t entry_offset)
{
	const uint8_t *code;

	if (fperf_elf__type(builder->elf) == ET_EXEC || fperf_elf__has_interpreter(builder->elf))
		return true;
	code = fperf_elf__bytes(builder->elf, entry_offset, CODE_START_BYTES);
	return code && code_starts_process(builder->section.machine, code);
}

/* Entry stubs, which begin at multiples of 16. */
static void stubs_compile(struct builder *builder, const uint8_t *code, uint32_t from, uint32_t size)
{
	uint32_t at = -from & 15;

	while (at < size) {
		uint32_t length = (uint32_t)code_thread_jump(code + at, size - at), next;

		next = (at + (length ? length : 1) + from + 15) / 16 * 16 - from;
		if (length) {
			row_emit(builder, from + at, RULE_FUNCTION_START);
			if (next >= size || !code_thread_jump(code + next, size - next))
				row_emit(builder, from + at + length, FPERF_RULE_NONE);
		}
		at = next;
	}
}

/* Text between two pieces. Padding takes the rule before it, which saves two rows for each function: nothing
 * ever executes there. */
static void gap_compile(struct builder *builder, uint32_t from, uint32_t to)
{
	uint32_t size = to - from;
	const uint8_t *code;

	if (!size)
		return;
	code = size < STUBS_MAX ? fperf_elf__bytes(builder->elf, from, size) : NULL;
	if (code && size < CODE_PADDING_MAX && code_is_padding(builder->section.machine, code, size))
		return;
	row_emit(builder, from, FPERF_RULE_NONE);
	if (code && builder->section.machine == EM_X86_64)
		stubs_compile(builder, code, from, size);
}

/* An entry point that no FDE describes, as in hand-written start code: its first bytes are the thread's
 * start. */
static void entry_compile(struct builder *builder, uint32_t from, uint32_t to, uint64_t entry)
{
	uint32_t end;

	if (entry < from || entry >= to)
		return;
	end = to - entry > ENTRY_REACH ? (uint32_t)entry + ENTRY_REACH : to;
	row_emit(builder, (uint32_t)entry, FPERF_RULE_END);
	if (end < to)
		row_emit(builder, end, FPERF_RULE_NONE);
}

static void pieces_compile(struct builder *builder)
{
	uint64_t entry = UINT64_MAX;
	uint32_t from = 0;

	if (fperf_elf__entry(builder->elf) == 0 ||
	    !fperf_elf__address_to_offset(builder->elf, fperf_elf__entry(builder->elf), &entry) ||
	    !is_program(builder, entry))
		entry = UINT64_MAX;
	for (size_t i = 0; i < builder->piece_count && !builder->error; i++) {
		const struct piece *piece = &builder->pieces[i];
		bool is_entry = entry >= piece->start && entry < piece->end;

		if (piece->end <= from) /* overlaps the one before, which wins as far as it reaches */
			continue;
		if (piece->start > from) {
			gap_compile(builder, from, piece->start);
			entry_compile(builder, from, piece->start, entry);
			from = piece->start;
		}
		piece_compile(builder, piece, from, is_entry ? FPERF_RULE_END : 0);
		from = piece->end;
	}
	if (entry != UINT64_MAX && entry >= from && entry < UINT32_MAX - ENTRY_REACH) {
		gap_compile(builder, from, (uint32_t)entry);
		entry_compile(builder, from, (uint32_t)entry + ENTRY_REACH, entry);
		from = (uint32_t)entry + ENTRY_REACH;
	}
	if (builder->table->count)
		row_emit(builder, from, FPERF_RULE_NONE);
}

int fperf_unwind_table__build(const struct fperf_elf *elf, size_t row_limit, struct fperf_unwind_table *table,
			      struct fperf_error *err)
{
	struct fperf_elf_section eh_frame = {0}, hdr = {0};
	struct builder builder = {.elf = elf, .table = table, .row_limit = row_limit};
	int ret = 0;

	*table = (struct fperf_unwind_table){0};
	builder.section.machine = fperf_elf__machine(elf);
	if (builder.section.machine != EM_X86_64 && builder.section.machine != EM_AARCH64)
		return fperf_error__set(err, -ENOEXEC, "unwind tables are made for x86-64 and arm64 only");
	if (fperf_elf__eh_frame(elf, &eh_frame, &hdr)) {
		builder.section.data = eh_frame.data;
		builder.section.size = eh_frame.size;
		builder.section.address = eh_frame.address;
		builder.section.hdr_address = hdr.address;
		ret = cfi_index_read(&builder.section, &builder.index, err);
	}
	if (ret == 0 && pieces_collect(&builder))
		ret = fperf_error__no_memory(err, "unwind table");
	if (ret == 0 && builder.piece_count) {
		pieces_compile(&builder);
		table->fdes = builder.piece_count;
		table->damaged += builder.index.damaged;
		for (size_t i = 0; i < table->count; i++)
			table->unsupported += (table->rows[i].rule & 0xf) == FPERF_RULE_UNSUPPORTED;
		if (builder.error)
			ret = builder.error == -ENOMEM
				      ? fperf_error__no_memory(err, "unwind rows")
				      : fperf_error__set(err, builder.error, "more than %zu unwind rows",
							 row_limit);
	}
	free(builder.pieces);
	cfi_index_free(&builder.index);
	if (ret)
		fperf_unwind_table__free(table);
	return ret;
}

void fperf_unwind_table__free(struct fperf_unwind_table *table)
{
	free(table->rows);
	*table = (struct fperf_unwind_table){0};
}

/* Number of the last row at or before `offset`, or count when there is none. */
static size_t row_before(const struct fperf_unwind_table *table, uint32_t offset)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->rows[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : table->count;
}

uint32_t fperf_unwind_table__find(const struct fperf_unwind_table *table, uint32_t offset)
{
	size_t row = row_before(table, offset);

	return row < table->count ? table->rows[row].rule : (uint32_t)FPERF_RULE_NONE;
}

/* Blocks so small that a search takes few steps, and so large that the index stays a fraction of the rows. */
static uint32_t block_shift(uint32_t span, size_t rows)
{
	uint32_t shift = BLOCK_SHIFT_MIN;

	while (shift < BLOCK_SHIFT_MAX && (span >> shift) > rows / 2)
		shift++;
	return shift;
}

int fperf_unwind_table__cells(const struct fperf_unwind_table *table, struct fperf_unwind_module *module,
			      uint64_t **cells, size_t *count, struct fperf_error *err)
{
	uint32_t span, index_cells;
	uint32_t *index;
	size_t row = 0;

	*module = (struct fperf_unwind_module){0};
	if (!table->count)
		return fperf_error__set(err, -ENODATA, "no unwind rows");
	module->first = table->rows[0].offset;
	module->end = table->rows[table->count - 1].offset; /* which is FPERF_RULE_NONE */
	span = module->end - module->first;
	module->shift = block_shift(span, table->count);
	module->index_count = (span >> module->shift) + 2;
	index_cells = (module->index_count + 1) / 2;
	module->row_cell = index_cells;
	module->row_count = (uint32_t)table->count;
	*count = index_cells + table->count;
	*cells = calloc(*count, sizeof(**cells));
	if (!*cells)
		return fperf_error__no_memory(err, "cells of an unwind table");
	index = (uint32_t *)*cells;
	for (uint32_t i = 0; i < module->index_count; i++) {
		uint64_t start = module->first + ((uint64_t)i << module->shift);

		while (row + 1 < table->count && table->rows[row + 1].offset <= start)
			row++;
		index[i] = (uint32_t)row;
	}
	memcpy(*cells + index_cells, table->rows, table->count * sizeof(*table->rows));
	return 0;
}
