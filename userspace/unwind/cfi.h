/* Call frame information of .eh_frame, read by a bounded interpreter of our own (DWARF 5 section 6.4 and the
 * Linux Standard Base's chapter on exception frames). Private to unwind/.
 *
 * Why not libdw's: it answers for one address at a time and interprets from the start of the function for
 * each, which is quadratic in the rows of a function, and it is not built to survive hostile input. Tests
 * compare the two row by row.
 */
#ifndef FPERF_UNWIND_CFI_H
#define FPERF_UNWIND_CFI_H

#include "base/error.h"
#include "base/reader.h"
#include "elf/elf_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfi_section {
	const uint8_t *data;
	size_t size;
	uint64_t address;     /* of .eh_frame, for pc-relative pointers */
	uint64_t hdr_address; /* of .eh_frame_hdr, for data-relative pointers; 0: not known */
	uint16_t machine;     /* EM_X86_64 or EM_AARCH64 */
};

/* How to find the value that a register had in the caller. */
enum cfi_kind {
	CFI_SAME = 0, /* also: not mentioned */
	CFI_UNDEFINED,
	CFI_OFFSET,	/* saved at CFA + value */
	CFI_EXPRESSION, /* saved at the address that the expression gives */
	CFI_OTHER,	/* valid, but nothing that a rule can hold */
};

struct cfi_register {
	uint8_t kind; /* enum cfi_kind */
	int64_t value;
	const uint8_t *expression;
	size_t expression_size;
};

struct cfi_state {
	bool cfa_expression; /* else cfa_register + cfa_offset */
	uint64_t cfa_register;
	int64_t cfa_offset;
	const uint8_t *expression;
	size_t expression_size;
	struct cfi_register fp, ra;
	struct cfi_register bx; /* x86-64 */
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_column;
	uint8_t pointer_encoding;
	bool augmented; /* FDEs carry augmentation data */
	bool signal_frame;
	struct cfi_state initial; /* after the CIE's own instructions */
	bool usable;		  /* false: understood up to here, but its FDEs cannot be used */
};

struct cfi_fde {
	uint64_t address, size; /* of the code it describes */
	const uint8_t *instructions;
	size_t instruction_size;
	uint32_t cie; /* index in cfi_index.cies */
};

struct cfi_index {
	struct cfi_cie *cies;
	size_t cie_count, cie_capacity;
	struct cfi_fde *fdes; /* in the section's order */
	size_t fde_count, fde_capacity;
	uint64_t damaged; /* entries passed over because they could not be read */
};

/* Reads all entries. Damaged entries are counted and passed over, so the only failure is -ENOMEM. */
int cfi_index_read(const struct cfi_section *section, struct cfi_index *index, struct fperf_error *err);
void cfi_index_free(struct cfi_index *index);

/* Interprets instructions, starting from `state`, which also is what DW_CFA_restore goes back to. `emit` is
 * called with the location (relative to the FDE's start) and the state that holds from there on, once for
 * each location at which the state may have changed; locations grow. False when the instructions are damaged:
 * what was emitted up to there is right, what follows is not known. */
typedef void (*cfi_emit)(void *context, uint64_t location, const struct cfi_state *state);
bool cfi_program_run(const struct cfi_section *section, const struct cfi_cie *cie,
		     const uint8_t *instructions, size_t size, struct cfi_state *state, uint64_t fde_address,
		     cfi_emit emit, void *context);

/* Encoded pointer at the reader; `address` is that of the reader's position. */
bool cfi_pointer_read(const struct cfi_section *section, struct fperf_reader *reader, uint8_t encoding,
		      uint64_t address, uint64_t *value);

uint64_t cfi_uleb(struct fperf_reader *reader);
int64_t cfi_sleb(struct fperf_reader *reader);

/* The packed rule for a state (include/frameperf/unwind_row.h). */
uint32_t cfi_rule_pack(const struct cfi_section *section, const struct cfi_cie *cie,
		       const struct cfi_state *state);

/* DWARF numbers of the registers that matter. */
enum {
	CFI_X86_BX = 3,
	CFI_X86_FP = 6,
	CFI_X86_SP = 7,
	CFI_X86_RA = 16,
	CFI_ARM64_FP = 29,
	CFI_ARM64_LR = 30,
	CFI_ARM64_SP = 31,
};

unsigned int cfi_fp_register(uint16_t machine);
unsigned int cfi_sp_register(uint16_t machine);
unsigned int cfi_ra_register(uint16_t machine);

#endif
