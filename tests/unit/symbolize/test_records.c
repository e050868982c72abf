/* Names that the session itself holds, and stack frames without any. */
#include "fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

TestSuite(symbolize_records, .timeout = 60);

static void add(struct fixture_session *fixture, enum fperf_record_type type, const void *record)
{
	struct fperf_error err = {0};

	cr_assert_eq(fperf_session__add(fixture->session, type, record, &err), 0, "%s", err.text);
}

static void kernel_symbol(struct fixture_session *fixture, uint64_t address, uint32_t size, const char *name,
			  const char *module)
{
	struct fperf_rec_kernel_symbol symbol = {.address = address, .size = size};

	symbol.name = fixture_string(fixture, name);
	symbol.module = *module ? fixture_string(fixture, module) : 0;
	add(fixture, FPERF_RECORD_KERNEL_SYMBOL, &symbol);
}

static void jit_symbol(struct fixture_session *fixture, uint32_t process, uint64_t address, uint64_t size,
		       const char *name)
{
	struct fperf_rec_jit_symbol symbol = {.process = process, .address = address, .size = size};

	symbol.name = fixture_string(fixture, name);
	add(fixture, FPERF_RECORD_JIT_SYMBOL, &symbol);
}

static const struct fperf_symbol *resolve(struct fperf_symbolizer *symbolizer, struct fperf_stack_frame frame,
					  uint32_t process)
{
	const struct fperf_symbol *const *symbols;

	cr_assert_eq(fperf_symbolizer__resolve(symbolizer, &frame, process, &symbols), 1);
	return symbols[0];
}

static void done(struct fixture_session *fixture, struct fperf_symbolizer *symbolizer)
{
	fperf_symbolizer__free(symbolizer);
	fperf_session__free(fixture->session);
}

Test(symbolize_records, kernel)
{
	struct fixture_session fixture = fixture_session_new();
	struct fperf_rec_module record = {.kind = FPERF_MODULE_KERNEL, .base = 0xffffffff81000000};
	struct fperf_stack_frame frame = {.kernel = 1};
	const struct fperf_symbol *symbol;
	struct fperf_symbolizer *symbolizer;

	kernel_symbol(&fixture, 0x2000, 0x100, "schedule", "");
	kernel_symbol(&fixture, 0x1000, 0, "sizeless", "");
	kernel_symbol(&fixture, 0x3000, 0x80, "do_wait.isra.0", "");
	kernel_symbol(&fixture, 0x3f000000, 0x40, "dma_fence_default_wait", "gpu_sched");
	kernel_symbol(&fixture, (uint64_t)-0x1000000, 0x40, "below",
		      "low"); /* arm64: modules before the text */
	frame.module = fixture_module_record(&fixture, record, "[kernel]");
	fixture_seal(&fixture);
	symbolizer = fixture_symbolizer(&fixture, "", true);

	frame.offset = 0x2010;
	symbol = resolve(symbolizer, frame, 0);
	cr_expect_str_eq(symbol->function, "schedule");
	cr_expect_str_eq(symbol->module, "[kernel]");
	cr_expect(symbol->known && !symbol->own);
	frame.offset = 0x2000;
	cr_expect_str_eq(resolve(symbolizer, frame, 0)->function, "sizeless", "return address is the end");
	frame.kind = FPERF_FRAME_PC;
	cr_expect_str_eq(resolve(symbolizer, frame, 0)->function, "schedule");
	frame.offset = 0x3010;
	cr_expect_str_eq(resolve(symbolizer, frame, 0)->function, "do_wait");
	frame.offset = 0x3f000010;
	symbol = resolve(symbolizer, frame, 0);
	cr_expect_str_eq(symbol->function, "dma_fence_default_wait");
	cr_expect_str_eq(symbol->module, "[gpu_sched]");
	frame.offset = (uint64_t)-0x1000000 + 8;
	cr_expect_str_eq(resolve(symbolizer, frame, 0)->function, "below");
	frame.offset = 0x900000;
	symbol = resolve(symbolizer, frame, 0);
	cr_expect_str_eq(symbol->function, "[kernel]+0x900000");
	cr_expect_not(symbol->known);
	done(&fixture, symbolizer);
}

/* A session without kernel symbols stays without: those of the machine that reads it mean nothing. */
Test(symbolize_records, kernel_without_symbols)
{
	struct fixture_session fixture = fixture_session_new();
	struct fperf_rec_module record = {.kind = FPERF_MODULE_KERNEL};
	struct fperf_stack_frame frame = {.kernel = 1, .kind = FPERF_FRAME_PC, .offset = 0x1234};
	struct fperf_symbolizer *symbolizer;
	const struct fperf_module_names *modules;

	frame.module = fixture_module_record(&fixture, record, "[kernel]");
	fixture_seal(&fixture);
	symbolizer = fixture_symbolizer(&fixture, "", true);
	cr_expect_str_eq(resolve(symbolizer, frame, 0)->function, "[kernel]+0x1234");
	cr_assert_eq(fperf_symbolizer__modules(symbolizer, &modules), 1);
	cr_expect(*modules[0].problem);
	done(&fixture, symbolizer);
}

Test(symbolize_records, jit)
{
	struct fixture_session fixture = fixture_session_new();
	struct fperf_rec_module record = {.kind = FPERF_MODULE_ANON};
	struct fperf_stack_frame frame = {.kind = FPERF_FRAME_PC};
	uint32_t game = fixture_process(&fixture, "/opt/game"),
		 other = fixture_process(&fixture, "/opt/other");
	struct fperf_rec_process child = {.id = 3, .pid = 4000009, .parent = game, .target = 1};
	struct fperf_symbolizer *symbolizer;
	const struct fperf_symbol *symbol;

	add(&fixture, FPERF_RECORD_PROCESS, &child);
	jit_symbol(&fixture, game, 0x7f0000001000, 0x100, "old_function");
	jit_symbol(&fixture, game, 0x7f0000002000, 0x100, "LuaJIT: update.lua:12");
	jit_symbol(&fixture, game, 0x7f0000001080, 0x100, "recompiled"); /* over the end of the first */
	jit_symbol(&fixture, game, 0x7f0000003000, 0x100, "fs_variant_0");
	jit_symbol(&fixture, other, 0x7f0000002000, 0x100, "not this process");
	frame.module = fixture_module_record(&fixture, record, "[anon]");
	fixture_seal(&fixture);
	symbolizer = fixture_symbolizer(&fixture, "", true);

	frame.offset = 0x7f0000002010;
	symbol = resolve(symbolizer, frame, game);
	cr_expect_str_eq(symbol->function, "LuaJIT: update.lua:12");
	cr_expect_str_eq(symbol->module, "[jit]");
	cr_expect(symbol->own && symbol->known);
	cr_expect_str_eq(resolve(symbolizer, frame, other)->function, "not this process");
	cr_expect_str_eq(resolve(symbolizer, frame, child.id)->function, "LuaJIT: update.lua:12", "forked");
	cr_expect_str_eq(resolve(symbolizer, frame, 0)->function, "[jit]");
	frame.offset = 0x7f0000001010;
	cr_expect_str_eq(resolve(symbolizer, frame, game)->function, "old_function");
	frame.offset = 0x7f00000010f0;
	cr_expect_str_eq(resolve(symbolizer, frame, game)->function, "recompiled");
	frame.offset = 0x7f0000003010;
	cr_expect_not(resolve(symbolizer, frame, game)->own);
	frame.offset = 0x7f0000009000;
	symbol = resolve(symbolizer, frame, game);
	cr_expect_str_eq(symbol->function, "[jit]");
	cr_expect_not(symbol->known || symbol->own);
	done(&fixture, symbolizer);
}

Test(symbolize_records, vdso)
{
	struct fixture_session fixture = fixture_session_new();
	struct fperf_rec_module record = {.kind = FPERF_MODULE_VDSO};
	struct fperf_stack_frame frame = {.kind = FPERF_FRAME_PC};
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct fperf_symbolizer *symbolizer;
	const struct fperf_symbol *symbol;
	struct fperf_error err = {0};
	struct fperf_elf *elf;

	if (!image)
		cr_skip("no vDSO here");
	cr_assert_eq(fperf_elf__open_memory(image, 4096 * 2, "[vdso]", &elf, &err), 0, "%s", err.text);
	record.build_id_size = (uint8_t)fperf_elf__build_id(elf, record.build_id);
	cr_assert_eq(fperf_elf__find_function(elf, "__vdso_clock_gettime", &frame.offset, NULL, &err), 0,
		     "%s", err.text);
	fperf_elf__close(elf);
	frame.module = fixture_module_record(&fixture, record, "[vdso]");
	record.build_id[0] ^= 1;
	(void)fixture_module_record(&fixture, record, "[vdso]");
	fixture_seal(&fixture);
	symbolizer = fixture_symbolizer(&fixture, "", true);
	symbol = resolve(symbolizer, frame, 0);
	cr_expect(strstr(symbol->function, "clock_gettime"), "%s", symbol->function);
	cr_expect_str_eq(symbol->module, "[vdso]");
	cr_expect_not(symbol->own);
	frame.module++;
	cr_expect_not(resolve(symbolizer, frame, 0)->known, "of another kernel");
	done(&fixture, symbolizer);
}

Test(symbolize_records, no_module)
{
	struct fixture_session fixture = fixture_session_new();
	struct fperf_rec_module record = {.kind = FPERF_MODULE_SPECIAL};
	struct fperf_stack_frame frame = {.offset = 0x1234}, gap = {.kind = FPERF_FRAME_GAP},
				 lost = {.module = 77};
	struct fperf_stack_frame special = {.kind = FPERF_FRAME_PC, .offset = 0x7fffffffe000};
	struct fperf_symbolizer *symbolizer;

	special.module = fixture_module_record(&fixture, record, "[uprobes]");
	fixture_seal(&fixture);
	symbolizer = fixture_symbolizer(&fixture, "", true);
	cr_expect_str_eq(resolve(symbolizer, frame, 0)->function, "[unknown]");
	cr_expect_str_eq(resolve(symbolizer, lost, 0)->function, "[unknown]");
	cr_expect_str_eq(resolve(symbolizer, gap, 0)->function, "[truncated]");
	cr_expect_str_eq(resolve(symbolizer, special, 0)->function, "[uprobes]");
	cr_expect_not(resolve(symbolizer, gap, 0)->own);
	cr_expect_neq(resolve(symbolizer, gap, 0)->function_id, resolve(symbolizer, frame, 0)->function_id);
	done(&fixture, symbolizer);
}

Test(symbolize_records, function_ids)
{
	struct fixture_session fixture = fixture_session_new();
	struct fperf_rec_module record = {.kind = FPERF_MODULE_KERNEL};
	struct fperf_stack_frame a = {.kind = FPERF_FRAME_PC, .offset = 0x1000},
				 b = {.kind = FPERF_FRAME_PC, .offset = 0x1001},
				 c = {.kind = FPERF_FRAME_PC, .offset = 0x2000};
	struct fperf_symbolizer *symbolizer;

	kernel_symbol(&fixture, 0x1000, 0x100, "one", "");
	kernel_symbol(&fixture, 0x2000, 0x100, "one.cold", "");
	kernel_symbol(&fixture, 0x3000, 0x100, "one", "module");
	a.module = b.module = c.module = fixture_module_record(&fixture, record, "[kernel]");
	fixture_seal(&fixture);
	symbolizer = fixture_symbolizer(&fixture, "", true);
	cr_expect_eq(resolve(symbolizer, a, 0)->function_id, resolve(symbolizer, b, 0)->function_id);
	cr_expect_eq(resolve(symbolizer, a, 0)->function_id, resolve(symbolizer, c, 0)->function_id);
	a.offset = 0x3000;
	cr_expect_neq(resolve(symbolizer, a, 0)->function_id, resolve(symbolizer, c, 0)->function_id);
	done(&fixture, symbolizer);
}
