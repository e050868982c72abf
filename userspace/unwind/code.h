/* What a few bytes of machine code are: only what needs no disassembler. Private to unwind/. */
#ifndef FPERF_UNWIND_CODE_H
#define FPERF_UNWIND_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_PADDING_MAX 64 /* longer runs are not what compilers align functions with */
#define CODE_START_BYTES 8

/* Nothing but what assemblers and linkers fill gaps with: no-operations, traps, zeros. */
bool code_is_padding(uint16_t machine, const uint8_t *code, size_t size);

/* Length of a jump through thread-local memory, "mov reg, [rip + x]; mov reg2, fs:[reg]; jmp [reg2 + y]",
 * maybe behind a landing pad; 0 when it is something else. libGL and its kin have thousands of these without
 * unwind information, and games spend time in them. They leave the stack alone. */
size_t code_thread_jump(const uint8_t *code, size_t size);

/* Begins like a process's first code: x86-64 "xor ebp, ebp" or "mov rdi, rsp", arm64 "mov x0, sp" or "mov
 * x29, 0", maybe after a landing pad. Looks at CODE_START_BYTES. */
bool code_starts_process(uint16_t machine, const uint8_t *code);

/* Holds "mov x8, 139; svc 0", the system call that returns from a signal handler. */
bool code_has_sigreturn_arm64(const uint8_t *code, size_t size);

#endif
