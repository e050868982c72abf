#include "host_unwinder.h"

#include <stdlib.h>
#include <string.h>

#undef __always_inline
#define __always_inline inline
#if defined(__aarch64__)
#define FPERF_UNWIND_ARM64
#else
#define FPERF_UNWIND_X86
#endif

#define HOST_CELLS_MAX (4u << 20)

struct host_unwinder {
	uint64_t *cells;
	size_t cell_count;
	struct fperf_unwind_module modules[256];
	uint32_t module_count;
	struct fperf_unwind_mapping mappings[512];
	uint32_t mapping_count;
	struct fperf_unwind_cache_slot cache[FPERF_UNWIND_CACHE_SLOTS];
	uint32_t generation;
	unsigned int mode;
};

/* The unwinder's primitives have no place for a context, as in BPF, where maps are global. */
static struct host_unwinder *current;
static const struct host_memory *current_memory;
static const uint64_t *current_registers;

struct unwind_state;
static int unwind_register(const struct unwind_state *state, uint32_t number, uint64_t *value);
static void unwind_lookup(struct unwind_state *state);

static int unwind_read(void *to, uint32_t size, uint64_t address)
{
	return current_memory->read(current_memory->context, address, to, size) ? 0 : -14;
}

static int unwind_cell(uint32_t index, uint64_t *value)
{
	if (index >= current->cell_count)
		return -2;
	*value = current->cells[index];
	return 0;
}

static const struct fperf_unwind_mapping *unwind_mapping(uint32_t index)
{
	return index < current->mapping_count ? &current->mappings[index] : NULL;
}

static struct fperf_unwind_module *unwind_module(uint32_t slot)
{
	return slot < current->module_count ? &current->modules[slot] : NULL;
}

static struct fperf_unwind_cache_slot *unwind_cache(uint32_t index)
{
	return &current->cache[index];
}

static uint64_t unwind_now(void)
{
	return 1;
}

static const uint64_t unwind_address_mask = (1ull << 48) - 1;
#define unwind_mode (current->mode)

#include "../../../bpf/unwind_step.h"

static int unwind_register(const struct unwind_state *state, uint32_t number, uint64_t *value)
{
	(void)state;
	if (!current_registers || number > 15)
		return -2;
	*value = current_registers[number];
	return 0;
}

static void unwind_lookup(struct unwind_state *state)
{
	unwind_lookup_rule(state);
}

struct host_unwinder *host_unwinder_new(void)
{
	struct host_unwinder *host = calloc(1, sizeof(*host));

	host->cells = calloc(HOST_CELLS_MAX, sizeof(*host->cells));
	host->generation = 1;
	return host;
}

void host_unwinder_free(struct host_unwinder *host)
{
	free(host->cells);
	free(host);
}

void host_unwinder_map(struct host_unwinder *host, uint64_t start, uint64_t end, uint64_t file_offset,
		       const struct fperf_unwind_table *table)
{
	struct fperf_unwind_mapping mapping = {start, end, start - file_offset, FPERF_UNWIND_NO_MODULE, 0};
	uint32_t at = host->mapping_count++;

	if (table) {
		struct fperf_unwind_module *module = &host->modules[host->module_count];
		struct fperf_error err;
		uint64_t *cells;
		size_t count;

		if (fperf_unwind_table__cells(table, module, &cells, &count, &err) == 0) {
			memcpy(host->cells + host->cell_count, cells, count * sizeof(*cells));
			module->index_cell += (uint32_t)host->cell_count;
			module->row_cell += (uint32_t)host->cell_count;
			host->cell_count += count;
			free(cells);
			module->state = FPERF_UNWIND_MODULE_LOADED;
			mapping.module = host->module_count++;
		}
	}
	for (; at > 0 && host->mappings[at - 1].start > start; at--)
		host->mappings[at] = host->mappings[at - 1];
	host->mappings[at] = mapping;
}

void host_unwinder_set_missing(struct host_unwinder *host, uint64_t start)
{
	for (uint32_t i = 0; i < host->mapping_count; i++) {
		if (host->mappings[i].start == start)
			host->modules[host->mappings[i].module].state = FPERF_UNWIND_MODULE_MISSING;
	}
}

uint32_t host_unwinder_lookup(struct host_unwinder *host, uint64_t address)
{
	struct unwind_state state = {
		.at = address, .count = host->mapping_count, .generation = host->generation};

	current = host;
	unwind_rule(&state);
	return state.rule;
}

void host_unwinder_new_generation(struct host_unwinder *host)
{
	host->generation++;
}

void host_unwinder_mode(struct host_unwinder *host, unsigned int mode)
{
	host->mode = mode;
}

static void state_start(struct unwind_state *state, const struct host_registers *registers)
{
	memset(state, 0, sizeof(*state));
	state->pc = registers->pc;
	state->sp = registers->sp;
	state->fp = registers->fp;
	state->lr = registers->lr;
	state->bx = registers->all ? registers->all[3] : 0;
	current_registers = registers->all;
	state->flags = UNWIND_PC | UNWIND_LR | (registers->leaf ? UNWIND_LEAF : 0);
}

static void state_finish(const struct unwind_state *state, struct host_stack *stack)
{
	uint32_t tail = state->total > FPERF_USER_DEPTH ? state->total % UNWIND_TAIL : 0;

	memcpy(stack->frames, state->frames, UNWIND_HEAD * sizeof(*stack->frames));
	memcpy(stack->frames + UNWIND_HEAD, state->frames + UNWIND_HEAD + tail,
	       UNWIND_TAIL * sizeof(*stack->frames));
	stack->gap = state->total > FPERF_USER_DEPTH ? UNWIND_HEAD : 0;
	stack->total = state->total;
	stack->count = state->total < FPERF_USER_DEPTH ? state->total : FPERF_USER_DEPTH;
	stack->outcome = state->outcome;
	stack->failed_at = state->failed_at;
	stack->sp = state->sp;
	stack->fp = state->fp;
	stack->fp_lost = state->flags & UNWIND_FP_LOST;
	stack->bx = state->bx;
	stack->bx_lost = state->flags & UNWIND_BX_LOST;
}

void host_unwinder_run(struct host_unwinder *host, const struct host_memory *memory,
		       const struct host_registers *registers, uint32_t limit, struct host_stack *stack)
{
	struct unwind_state state;

	current = host;
	current_memory = memory;
	state_start(&state, registers);
	state.count = host->mapping_count;
	state.generation = host->generation;
	state.outcome = FPERF_STACK_TRUNCATED;
	for (uint32_t i = 0; i < limit; i++) {
		if (!unwind_step(&state))
			break;
	}
	memset(stack, 0, sizeof(*stack));
	state_finish(&state, stack);
}

int host_unwinder_rule(const struct host_memory *memory, const struct host_registers *registers,
		       uint32_t rule, struct host_stack *stack)
{
	static struct host_unwinder none;
	struct unwind_state state;
	int went_on;

	current = &none;
	current_memory = memory;
	state_start(&state, registers);
	went_on = (rule & 0xf) == FPERF_RULE_SIGNAL ? unwind_signal(&state) : unwind_by_rule(&state, rule);
	memset(stack, 0, sizeof(*stack));
	state_finish(&state, stack);
	stack->frames[0] = state.pc;
	return went_on;
}
