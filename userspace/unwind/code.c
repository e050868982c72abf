#include "unwind/code.h"

#include <elf.h>
#include <string.h>

enum {
	ARM64_NOP = 0xd503201fu,
	ARM64_MOV_X0_SP = 0x910003e0u,
	ARM64_MOV_X29_0 = 0xd280001du,
	ARM64_BTI_MASK = 0xffffff3fu,
	ARM64_BTI = 0xd503241fu,
	ARM64_SIGRETURN = 0xd2801168u, /* mov x8, 139 */
	ARM64_SVC = 0xd4000001u,
};

/* Length of the padding instruction at `code`, 0 when it is something else. The long forms are "nop word
 * [rax+rax]" and its kin: any number of 66 prefixes, maybe a 2e, then 0f 1f with a memory operand. */
static size_t padding_x86(const uint8_t *code, size_t size)
{
	size_t at = 0;
	uint8_t modrm;

	if (code[0] == 0xcc || code[0] == 0x00)
		return 1;
	while (at < size && code[at] == 0x66)
		at++;
	if (at < size && code[at] == 0x2e)
		at++;
	if (at < size && code[at] == 0x90)
		return at + 1;
	if (at + 2 < size && code[at] == 0x0f && code[at + 1] == 0x1f) {
		modrm = code[at + 2];
		at += 3;
		if ((modrm & 7) == 4)
			at++;
		at += (modrm >> 6) == 1 ? 1 : (modrm >> 6) == 2 ? 4 : 0;
		return at <= size ? at : 0;
	}
	if (size >= 2 && code[0] == 0x87 && code[1] == 0xc0) /* xchg eax, eax */
		return 2;
	return 0;
}

static uint32_t word_at(const uint8_t *code)
{
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	return word;
}

bool code_is_padding(uint16_t machine, const uint8_t *code, size_t size)
{
	size_t at = 0, length;

	if (machine == EM_AARCH64) {
		for (; at + 4 <= size; at += 4) {
			if (word_at(code + at) != ARM64_NOP && word_at(code + at) != 0)
				return false;
		}
		return at == size;
	}
	for (; at < size; at += length) {
		length = padding_x86(code + at, size - at);
		if (!length)
			return false;
	}
	return true;
}

/* "mov reg, memory" of 8 bytes: REX.W, maybe with R and B, opcode 8b, ModRM. rsp is not a register to load.
 */
static bool is_load(const uint8_t *code, uint8_t modrm_mask, uint8_t modrm)
{
	return (code[0] & 0xfa) == 0x48 && code[1] == 0x8b && (code[2] & modrm_mask) == modrm &&
	       ((code[0] & 4) || (code[2] >> 3 & 7) != 4);
}

size_t code_thread_jump(const uint8_t *code, size_t size)
{
	static const uint8_t landing_pad[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = 0;

	if (size >= 4 && memcmp(code, landing_pad, sizeof(landing_pad)) == 0)
		at = 4;
	if (size - at < 18 || !is_load(code + at, 0xc7, 0x05)) /* from rip + 4 bytes */
		return 0;
	at += 7;
	if (code[at] != 0x64 || !is_load(code + at + 1, 0xc0, 0x00) || (code[at + 3] & 7) == 4 ||
	    (code[at + 3] & 7) == 5)
		return 0;
	at += 4;
	if (code[at] == 0x41)
		at++;
	if (size - at < 6 || code[at] != 0xff || (code[at + 1] & 0xf8) != 0xa0 || (code[at + 1] & 7) == 4)
		return 0;
	return at + 6;
}

bool code_starts_process(uint16_t machine, const uint8_t *code)
{
	static const uint8_t clear_fp[] = {0x31, 0xed}, keep_sp[] = {0x48, 0x89, 0xe7};
	static const uint8_t landing_pad[] = {0xf3, 0x0f, 0x1e, 0xfa};

	if (machine == EM_AARCH64) {
		if ((word_at(code) & ARM64_BTI_MASK) == ARM64_BTI)
			code += 4;
		return word_at(code) == ARM64_MOV_X0_SP || word_at(code) == ARM64_MOV_X29_0;
	}
	if (memcmp(code, landing_pad, sizeof(landing_pad)) == 0)
		code += sizeof(landing_pad);
	return memcmp(code, clear_fp, sizeof(clear_fp)) == 0 || memcmp(code, keep_sp, sizeof(keep_sp)) == 0;
}

bool code_has_sigreturn_arm64(const uint8_t *code, size_t size)
{
	for (size_t at = 0; at + 8 <= size; at += 4) {
		if (word_at(code + at) == ARM64_SIGRETURN && word_at(code + at + 4) == ARM64_SVC)
			return true;
	}
	return false;
}
