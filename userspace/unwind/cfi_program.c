/* Call frame instructions (DWARF 5, 6.4.2 and 7.24), for the registers that unwinding needs: CFA, frame
 * pointer and return address. What other registers do is read and dropped. */
#include "unwind/cfi.h"

#include <dwarf.h>
#include <elf.h>

/* Compilers nest remember/restore once or twice. */
#define REMEMBER_MAX 16

struct program {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	struct fperf_reader reader;
	struct cfi_state *state;
	struct cfi_state remembered[REMEMBER_MAX];
	unsigned int depth;
	uint64_t fde_address;
	uint64_t location; /* relative to the FDE */
	bool damaged;
	cfi_emit emit;
	void *context;
};

/* Where this register's rule is kept; a scratch place for registers that do not matter. */
static struct cfi_register *program_register(struct program *program, uint64_t number,
					     struct cfi_register *scratch)
{
	if (number == cfi_fp_register(program->section->machine))
		return &program->state->fp;
	if (number == program->cie->ra_column)
		return &program->state->ra;
	if (number == CFI_X86_BX && program->section->machine == EM_X86_64)
		return &program->state->bx;
	return scratch;
}

static void register_set(struct program *program, uint64_t number, enum cfi_kind kind, int64_t value)
{
	struct cfi_register scratch;

	*program_register(program, number, &scratch) = (struct cfi_register){.kind = kind, .value = value};
}

static void register_expression(struct program *program, uint64_t number, bool is_address)
{
	uint64_t size = cfi_uleb(&program->reader);
	const uint8_t *bytes = fperf_reader__bytes(&program->reader, size);
	struct cfi_register scratch, *slot = program_register(program, number, &scratch);

	*slot = (struct cfi_register){.kind = is_address ? CFI_EXPRESSION : CFI_OTHER,
				      .expression = bytes,
				      .expression_size = bytes ? size : 0};
}

static void register_restore(struct program *program, uint64_t number)
{
	struct cfi_register scratch;
	const struct cfi_state *initial = &program->cie->initial;

	*program_register(program, number, &scratch) = number == program->cie->ra_column ? initial->ra
						       : number == CFI_X86_BX		 ? initial->bx
											 : initial->fp;
}

static void cfa_set(struct program *program, uint64_t number, int64_t offset)
{
	program->state->cfa_expression = false;
	program->state->cfa_register = number;
	program->state->cfa_offset = offset;
}

static void cfa_expression(struct program *program)
{
	uint64_t size = cfi_uleb(&program->reader);

	program->state->cfa_expression = true;
	program->state->expression = fperf_reader__bytes(&program->reader, size);
	program->state->expression_size = size;
}

static void location_advance(struct program *program, uint64_t delta)
{
	uint64_t step;

	if (!program->emit || program->reader.failed ||
	    __builtin_mul_overflow(delta, program->cie->code_align, &step) ||
	    step > UINT64_MAX - program->location) {
		program->damaged = true;
		return;
	}
	if (!step)
		return;
	program->emit(program->context, program->location, program->state);
	program->location += step;
}

static void location_set(struct program *program)
{
	uint64_t address =
		program->section->address + (uint64_t)(program->reader.pos - program->section->data);
	uint64_t target;

	if (!cfi_pointer_read(program->section, &program->reader, program->cie->pointer_encoding, address,
			      &target) ||
	    target < program->fde_address || target - program->fde_address < program->location) {
		program->damaged = true;
		return;
	}
	if (program->emit && target - program->fde_address > program->location)
		program->emit(program->context, program->location, program->state);
	program->location = target - program->fde_address;
}

static void state_remember(struct program *program)
{
	if (program->depth == REMEMBER_MAX)
		program->damaged = true;
	else
		program->remembered[program->depth++] = *program->state;
}

/* DWARF says that only register rules come back; compilers and unwinders agree that the CFA does, too. */
static void state_restore(struct program *program)
{
	if (program->depth == 0)
		program->damaged = true;
	else
		*program->state = program->remembered[--program->depth];
}

static int64_t factored(const struct program *program, int64_t value)
{
	int64_t product;

	return __builtin_mul_overflow(value, program->cie->data_align, &product) ? INT64_MAX : product;
}

static void execute_register(struct program *program, uint8_t opcode)
{
	struct fperf_reader *reader = &program->reader;
	uint64_t number = cfi_uleb(reader);

	switch (opcode) {
	case DW_CFA_offset_extended:
		register_set(program, number, CFI_OFFSET, factored(program, (int64_t)cfi_uleb(reader)));
		break;
	case DW_CFA_offset_extended_sf:
		register_set(program, number, CFI_OFFSET, factored(program, cfi_sleb(reader)));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		register_set(program, number, CFI_OFFSET, factored(program, -(int64_t)cfi_uleb(reader)));
		break;
	case DW_CFA_restore_extended:
		register_restore(program, number);
		break;
	case DW_CFA_undefined:
		register_set(program, number, CFI_UNDEFINED, 0);
		break;
	case DW_CFA_same_value:
		register_set(program, number, CFI_SAME, 0);
		break;
	case DW_CFA_register:
	case DW_CFA_val_offset:
		cfi_uleb(reader);
		register_set(program, number, CFI_OTHER, 0);
		break;
	case DW_CFA_val_offset_sf:
		cfi_sleb(reader);
		register_set(program, number, CFI_OTHER, 0);
		break;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		register_expression(program, number, opcode == DW_CFA_expression);
		break;
	default:
		program->damaged = true;
	}
}

static void execute_extended(struct program *program, uint8_t opcode)
{
	struct fperf_reader *reader = &program->reader;
	uint64_t number;

	switch (opcode) {
	case DW_CFA_nop:
		break;
	case DW_CFA_set_loc:
		location_set(program);
		break;
	case DW_CFA_advance_loc1:
		location_advance(program, fperf_reader__u8(reader));
		break;
	case DW_CFA_advance_loc2:
		location_advance(program, fperf_reader__u16(reader));
		break;
	case DW_CFA_advance_loc4:
		location_advance(program, fperf_reader__u32(reader));
		break;
	case DW_CFA_remember_state:
		state_remember(program);
		break;
	case DW_CFA_restore_state:
		state_restore(program);
		break;
	case DW_CFA_def_cfa:
		number = cfi_uleb(reader);
		cfa_set(program, number, (int64_t)cfi_uleb(reader));
		break;
	case DW_CFA_def_cfa_sf:
		number = cfi_uleb(reader);
		cfa_set(program, number, factored(program, cfi_sleb(reader)));
		break;
	case DW_CFA_def_cfa_register:
		program->damaged |= program->state->cfa_expression;
		cfa_set(program, cfi_uleb(reader), program->state->cfa_offset);
		break;
	case DW_CFA_def_cfa_offset:
		program->damaged |= program->state->cfa_expression;
		cfa_set(program, program->state->cfa_register, (int64_t)cfi_uleb(reader));
		break;
	case DW_CFA_def_cfa_offset_sf:
		program->damaged |= program->state->cfa_expression;
		cfa_set(program, program->state->cfa_register, factored(program, cfi_sleb(reader)));
		break;
	case DW_CFA_def_cfa_expression:
		cfa_expression(program);
		break;
	case DW_CFA_GNU_args_size:
		cfi_uleb(reader);
		break;
	case DW_CFA_GNU_window_save: /* on arm64: DW_CFA_AARCH64_negate_ra_state; all addresses are stripped
				      */
		program->damaged |= program->section->machine != EM_AARCH64;
		break;
	default:
		execute_register(program, opcode);
	}
}

bool cfi_program_run(const struct cfi_section *section, const struct cfi_cie *cie,
		     const uint8_t *instructions, size_t size, struct cfi_state *state, uint64_t fde_address,
		     cfi_emit emit, void *context)
{
	struct program program = {.section = section,
				  .cie = cie,
				  .state = state,
				  .fde_address = fde_address,
				  .emit = emit,
				  .context = context};

	fperf_reader__init(&program.reader, instructions, size);
	while (fperf_reader__left(&program.reader) && !program.damaged) {
		uint8_t opcode = fperf_reader__u8(&program.reader);
		uint8_t low = opcode & 0x3f;

		switch (opcode & 0xc0) {
		case DW_CFA_advance_loc:
			if (low)
				location_advance(&program, low);
			break;
		case DW_CFA_offset:
			register_set(&program, low, CFI_OFFSET,
				     factored(&program, (int64_t)cfi_uleb(&program.reader)));
			break;
		case DW_CFA_restore:
			register_restore(&program, low);
			break;
		default:
			execute_extended(&program, opcode);
		}
	}
	if (program.reader.failed || program.damaged)
		return false;
	if (emit)
		emit(context, program.location, state);
	return true;
}
