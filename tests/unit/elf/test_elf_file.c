#include "elf/elf_file.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(elf, .timeout = 60);

/* A shared object made by hand: two segments of code with a first address far from 0 and file offsets that
 * differ from addresses, found through program headers alone. */
#define BASE	  0x10000000ull
#define CODE_1	  (BASE + 0x1400)
#define CODE_2	  (BASE + 0x9600)
#define CODE_SIZE 0x100

enum {
	NAME_RENDER = 1,
	NAME_OLD = 8,
	NAME_PICK = 12,
	NAME_TWIN = 17,
	NAME_V1 = 22,
	NAME_V2 = 25,
	NAME_DATA = 28
};
static const char strings[] = "\0render\0old\0pick\0twin\0V1\0V2\0data";

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr programs[6];
	Elf64_Nhdr note;
	char note_name[4];
	uint8_t note_data[20];
	Elf64_Sym symbols[8];
	uint16_t versions[8];
	struct {
		Elf64_Verdef definition;
		Elf64_Verdaux name;
	} definitions[2];
	char strings[64];
	Elf64_Dyn dynamic[8];
	uint8_t hdr[8];
	uint8_t eh_frame[32];
	uint8_t code[2][CODE_SIZE];
};

#define AT(member) offsetof(struct image, member)

static Elf64_Sym symbol(unsigned name, unsigned binding, unsigned type, uint64_t address)
{
	return (Elf64_Sym){
		.st_name = name, .st_info = ELF64_ST_INFO(binding, type), .st_shndx = 1, .st_value = address};
}

static void image_fill_programs(struct image *image)
{
	size_t code = AT(code);

	image->programs[0] = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = BASE, .p_filesz = code, .p_memsz = code};
	image->programs[1] = (Elf64_Phdr){.p_type = PT_LOAD,
					  .p_flags = PF_R | PF_X,
					  .p_offset = code,
					  .p_vaddr = CODE_1,
					  .p_filesz = CODE_SIZE,
					  .p_memsz = CODE_SIZE};
	image->programs[2] = (Elf64_Phdr){.p_type = PT_LOAD,
					  .p_flags = PF_R | PF_X,
					  .p_offset = code + CODE_SIZE,
					  .p_vaddr = CODE_2,
					  .p_filesz = CODE_SIZE,
					  .p_memsz = 4 * CODE_SIZE};
	image->programs[3] = (Elf64_Phdr){.p_type = PT_DYNAMIC,
					  .p_offset = AT(dynamic),
					  .p_vaddr = BASE + AT(dynamic),
					  .p_filesz = sizeof(image->dynamic)};
	image->programs[4] =
		(Elf64_Phdr){.p_type = PT_NOTE, .p_offset = AT(note), .p_filesz = 12 + 4 + 20, .p_align = 4};
	image->programs[5] = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
					  .p_offset = AT(hdr),
					  .p_vaddr = BASE + AT(hdr),
					  .p_filesz = sizeof(image->hdr)};
}

static void image_fill_symbols(struct image *image)
{
	image->symbols[1] = symbol(NAME_RENDER, STB_GLOBAL, STT_FUNC, CODE_1 + 0x10);
	image->symbols[2] = symbol(NAME_OLD, STB_GLOBAL, STT_FUNC, CODE_2 + 0x20); /* old@V1 */
	image->symbols[3] = symbol(NAME_OLD, STB_GLOBAL, STT_FUNC, CODE_2 + 0x30); /* old@@V2 */
	image->symbols[4] = symbol(NAME_PICK, STB_GLOBAL, STT_GNU_IFUNC, CODE_1 + 0x40);
	image->symbols[5] = symbol(NAME_TWIN, STB_LOCAL, STT_FUNC, CODE_1 + 0x50);
	image->symbols[6] = symbol(NAME_TWIN, STB_LOCAL, STT_FUNC, CODE_1 + 0x60);
	image->symbols[7] = symbol(NAME_DATA, STB_GLOBAL, STT_OBJECT, BASE + 8);
	memcpy(image->versions, (uint16_t[]){0, 1, 2 | 0x8000, 3, 1, 0, 0, 1}, sizeof(image->versions));
	for (unsigned i = 0; i < 2; i++) {
		image->definitions[i].definition =
			(Elf64_Verdef){.vd_version = 1,
				       .vd_ndx = (uint16_t)(2 + i),
				       .vd_cnt = 1,
				       .vd_aux = sizeof(Elf64_Verdef),
				       .vd_next = i ? 0 : sizeof(image->definitions[0])};
		image->definitions[i].name.vda_name = i ? NAME_V2 : NAME_V1;
	}
	memcpy(image->strings, strings, sizeof(strings));
}

static struct image *image_new(void)
{
	static const uint8_t eh_frame[32] = {8,	 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, /* CIE of 8 bytes */
					     12, 0, 0, 0, 16}; /* FDE that points back to it */
	struct image *image = calloc(1, sizeof(*image));

	cr_assert(image);
	memcpy(image->header.e_ident, ELFMAG, SELFMAG);
	image->header.e_ident[EI_CLASS] = ELFCLASS64;
	image->header.e_ident[EI_DATA] = ELFDATA2LSB;
	image->header.e_type = ET_DYN;
	image->header.e_machine = EM_X86_64;
	image->header.e_entry = CODE_1;
	image->header.e_phoff = AT(programs);
	image->header.e_phentsize = sizeof(Elf64_Phdr);
	image->header.e_phnum = 6;
	image_fill_programs(image);
	image->note = (Elf64_Nhdr){4, 20, NT_GNU_BUILD_ID};
	memcpy(image->note_name, "GNU", 4);
	memset(image->note_data, 0xab, sizeof(image->note_data));
	image_fill_symbols(image);
	memcpy(image->dynamic,
	       (Elf64_Dyn[]){{DT_SYMTAB, {BASE + AT(symbols)}},
			     {DT_STRTAB, {BASE + AT(strings)}},
			     {DT_STRSZ, {sizeof(strings)}},
			     {DT_VERSYM, {BASE + AT(versions)}},
			     {DT_VERDEF, {BASE + AT(definitions)}},
			     {DT_NULL, {0}}},
	       6 * sizeof(Elf64_Dyn));
	image->hdr[0] = 1;
	image->hdr[1] = 0x1b; /* relative to here, signed, 4 bytes */
	image->hdr[4] = 4;    /* .eh_frame follows */
	memcpy(image->eh_frame, eh_frame, sizeof(eh_frame));
	return image;
}

static struct fperf_elf *open_image(const void *image, size_t size)
{
	struct fperf_error err;
	struct fperf_elf *elf;

	cr_assert_eq(fperf_elf__open_memory(image, size, "image", &elf, &err), 0, "%s", err.text);
	return elf;
}

static int find(const struct fperf_elf *elf, const char *name, uint64_t *offset)
{
	struct fperf_error err = {0};
	uint64_t address;
	int result = fperf_elf__find_function(elf, name, offset, &address, &err);

	cr_assert_eq(result, err.code);
	return result;
}

Test(elf, finds_functions_without_section_headers)
{
	struct image *image = image_new();
	struct fperf_elf *elf = open_image(image, sizeof(*image));
	uint64_t offset, address;
	struct fperf_error err;

	cr_assert_eq(fperf_elf__find_function(elf, "render", &offset, &address, &err), 0);
	cr_expect_eq(offset, AT(code) + 0x10);
	cr_expect_eq(address, CODE_1 + 0x10);
	cr_expect_eq(find(elf, "rende", &offset), -ENOENT);
	cr_expect_eq(find(elf, "data", &offset), -ENOENT, "not a function");
	cr_expect_eq(find(elf, "", &offset), -EINVAL);
	cr_expect_eq(find(elf, "pick", &offset), -ENOTSUP, "IFUNC");
	cr_expect_eq(find(elf, "twin", &offset), -ENOTUNIQ, "two local functions");
	fperf_elf__close(elf);
	free(image);
}

Test(elf, takes_the_default_version_unless_one_is_named)
{
	struct image *image = image_new();
	struct fperf_elf *elf = open_image(image, sizeof(*image));
	uint64_t offset, second = AT(code) + CODE_SIZE;

	cr_assert_eq(find(elf, "old", &offset), 0);
	cr_expect_eq(offset, second + 0x30);
	cr_assert_eq(find(elf, "old@V1", &offset), 0);
	cr_expect_eq(offset, second + 0x20);
	cr_assert_eq(find(elf, "old@@V2", &offset), 0);
	cr_expect_eq(offset, second + 0x30);
	cr_expect_eq(find(elf, "old@V3", &offset), -ENOENT);
	fperf_elf__close(elf);
	free(image);
}

Test(elf, maps_offsets_and_addresses_through_segments)
{
	struct image *image = image_new();
	struct fperf_elf *elf = open_image(image, sizeof(*image));
	uint64_t offset, address, second = AT(code) + CODE_SIZE;
	size_t count;

	fperf_elf__segments(elf, &count);
	cr_expect_eq(count, 3);
	cr_expect(fperf_elf__offset_to_address(elf, second + 5, &address));
	cr_expect_eq(address, CODE_2 + 5);
	cr_expect(fperf_elf__address_to_offset(elf, CODE_2 + 5, &offset));
	cr_expect_eq(offset, second + 5);
	cr_expect_not(fperf_elf__address_to_offset(elf, CODE_2 + CODE_SIZE, &offset), "beyond the file part");
	cr_expect_not(fperf_elf__address_to_offset(elf, BASE - 1, &offset));
	cr_expect_not(fperf_elf__offset_to_address(elf, second + CODE_SIZE, &address));
	fperf_elf__close(elf);
	free(image);
}

Test(elf, reads_build_id_from_notes)
{
	struct image *image = image_new();
	uint8_t id[FPERF_BUILD_ID_MAX];
	struct fperf_elf *elf = open_image(image, sizeof(*image));

	cr_expect_eq(fperf_elf__build_id(elf, id), 20);
	cr_expect_eq(id[0], 0xab);
	cr_expect_eq(id[19], 0xab);
	fperf_elf__close(elf);

	memset(image->note_data, 0, sizeof(image->note_data));
	elf = open_image(image, sizeof(*image));
	cr_expect_eq(fperf_elf__build_id(elf, id), 0, "zeros are none");
	fperf_elf__close(elf);

	image->note.n_descsz = 0xfffffff0u;
	elf = open_image(image, sizeof(*image));
	cr_expect_eq(fperf_elf__build_id(elf, id), 0, "a note that passes the end");
	fperf_elf__close(elf);
	free(image);
}

Test(elf, finds_eh_frame_through_its_header)
{
	struct image *image = image_new();
	struct fperf_elf *elf = open_image(image, sizeof(*image));
	struct fperf_elf_section eh_frame, hdr;

	cr_assert(fperf_elf__eh_frame(elf, &eh_frame, &hdr));
	cr_expect_eq(hdr.address, BASE + AT(hdr));
	cr_expect_eq(eh_frame.address, BASE + AT(eh_frame));
	cr_expect_eq(eh_frame.size, 32, "two entries and the terminator");
	fperf_elf__close(elf);
	free(image);
}

Test(elf, refuses_what_is_not_elf)
{
	static const char text[100] = "#!/bin/sh\n";
	struct image *image = image_new();
	struct fperf_error err;
	struct fperf_elf *elf;
	char path[] = "/tmp/frameperf-elf-XXXXXX", fifo[64];

	cr_expect_eq(fperf_elf__open_memory(text, sizeof(text), "text", &elf, &err), -ENOEXEC);
	cr_expect_eq(fperf_elf__open_memory(image, 20, "short", &elf, &err), -ENOEXEC);
	cr_expect_eq(fperf_elf__open_memory(image, sizeof(image->header), "cut", &elf, &err), -ENOEXEC);
	image->header.e_ident[EI_CLASS] = ELFCLASS32;
	cr_expect_eq(fperf_elf__open_memory(image, sizeof(*image), "32-bit", &elf, &err), -ENOEXEC);
	cr_expect_eq(fperf_elf__open("/", &elf, &err), -ENOEXEC);
	cr_expect_eq(fperf_elf__open("/nowhere/at/all", &elf, &err), -ENOENT);
	cr_expect(strstr(err.text, "/nowhere/at/all"));
	cr_assert(mkdtemp(path));
	snprintf(fifo, sizeof(fifo), "%s/fifo", path); /* opening must not wait for a writer */
	cr_assert_eq(mkfifo(fifo, 0600), 0);
	cr_expect_eq(fperf_elf__open(fifo, &elf, &err), -ENOEXEC);
	unlink(fifo);
	rmdir(path);
	free(image);
}

static void use_everything(const void *data, size_t size)
{
	static const char *const names[] = {"render", "old@V1",	       "old",
					    "pick",   "clock_gettime", "__vdso_time@LINUX_2.6"};
	uint8_t id[FPERF_BUILD_ID_MAX];
	struct fperf_elf_section section, hdr;
	struct fperf_error err = {0};
	struct fperf_elf *elf;
	uint64_t value;

	if (fperf_elf__open_memory(data, size, "fuzz", &elf, &err))
		return;
	cr_assert_leq(fperf_elf__build_id(elf, id), sizeof(id));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		fperf_elf__find_function(elf, names[i], &value, NULL, &err);
	if (fperf_elf__eh_frame(elf, &section, &hdr)) {
		cr_assert(section.data >= (const uint8_t *)data);
		cr_assert_leq(section.size, size);
		cr_assert(section.data + section.size <= (const uint8_t *)data + size);
	}
	if (fperf_elf__section(elf, ".text", &section))
		cr_assert(section.data + section.size <= (const uint8_t *)data + size);
	fperf_elf__offset_to_address(elf, 0x40, &value);
	fperf_elf__close(elf);
}

static void flip_bytes(uint8_t *data, size_t size)
{
	static const uint8_t values[] = {0x00, 0xff, 0x7f, 0x80, 0x01};

	for (size_t i = 0; i < size; i++) {
		uint8_t old = data[i];

		for (size_t v = 0; v < sizeof(values); v++) {
			data[i] = values[v];
			use_everything(data, size);
		}
		data[i] = old;
	}
}

Test(elf, survives_every_flipped_byte)
{
	struct image *image = image_new();

	flip_bytes((uint8_t *)image, sizeof(*image));
	free(image);
}

Test(elf, survives_every_cut)
{
	struct image *image = image_new();

	for (size_t size = 0; size <= sizeof(*image); size++) {
		uint8_t *copy = malloc(size ? size : 1); /* so that a read beyond the end is noticed */

		memcpy(copy, image, size);
		use_everything(copy, size);
		free(copy);
	}
	free(image);
}

/* A real file with everything in it, and small: the vDSO. */
Test(elf, survives_flipped_bytes_of_the_vdso)
{
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const void *)vdso;
	struct fperf_error err;
	struct fperf_elf *elf;
	uint64_t offset;
	uint8_t *copy;
	size_t size;

	if (!vdso)
		cr_skip_test("no vDSO here");
	size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	copy = malloc(size);
	cr_assert(copy);
	memcpy(copy, vdso, size);
	cr_assert_eq(fperf_elf__open_memory(copy, size, "[vdso]", &elf, &err), 0, "%s", err.text);
	cr_expect(!fperf_elf__find_function(elf, "__vdso_clock_gettime", &offset, NULL, &err) ||
		  !fperf_elf__find_function(elf, "__kernel_clock_gettime", &offset, NULL, &err));
	fperf_elf__close(elf);
	for (size_t i = 0; i < size; i += i < 0x800 || i > header->e_shoff ? 1 : 7) {
		uint8_t old = copy[i];

		copy[i] ^= 0x81;
		use_everything(copy, size);
		copy[i] = old;
	}
	free(copy);
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	*(struct dl_phdr_info *)context = *info;
	return 1;
}

/* The C library as the dynamic linker sees it, once with and once without its section headers. */
Test(elf, agrees_with_the_dynamic_linker)
{
	static const char *const names[] = {"fopen", "qsort", "pthread_create", "malloc", "printf"};
	struct dl_phdr_info info = {0};
	struct fperf_elf *whole, *bare;
	struct fperf_error err;
	uint8_t *copy;
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD); /* not what a sanitizer puts before it */
	size_t size;

	cr_assert(libc);
	cr_assert(dl_iterate_phdr(find_libc, &info));
	cr_assert_eq(fperf_elf__open(info.dlpi_name, &whole, &err), 0, "%s", err.text);
	cr_assert(fperf_elf__data(whole, &size));
	copy = malloc(size);
	cr_assert(copy);
	memcpy(copy, fperf_elf__data(whole, &size), size);
	((Elf64_Ehdr *)copy)->e_shoff = 0;
	bare = open_image(copy, size);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint64_t expected = (uint64_t)(uintptr_t)dlsym(libc, names[i]) - info.dlpi_addr;
		uint64_t offset, address, again;

		cr_assert_eq(fperf_elf__find_function(whole, names[i], &offset, &address, &err), 0, "%s",
			     err.text);
		cr_expect_eq(address, expected, "%s", names[i]);
		cr_assert_eq(fperf_elf__find_function(bare, names[i], &again, NULL, &err), 0, "%s", err.text);
		cr_expect_eq(offset, again, "%s", names[i]);
	}
	fperf_elf__close(bare);
	fperf_elf__close(whole);
	free(copy);
}

static size_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t total = 0, resident = 0;

	cr_assert(file);
	cr_assert_eq(fscanf(file, "%zu %zu", &total, &resident), 2);
	fclose(file);
	return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* An engine of some GB: its identity costs a few blocks, and cutting it while open hurts nobody. */
Test(elf, reads_only_what_is_needed_and_survives_truncation)
{
	char path[] = "/tmp/frameperf-elf-XXXXXX";
	struct image *image = image_new();
	uint8_t id[FPERF_BUILD_ID_MAX];
	struct fperf_error err;
	struct fperf_elf *elf;
	size_t before, size;
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, image, sizeof(*image)), (ssize_t)sizeof(*image));
	cr_assert_eq(ftruncate(fd, (off_t)3 << 30), 0);
	before = resident_bytes();
	cr_assert_eq(fperf_elf__open(path, &elf, &err), 0, "%s", err.text);
	cr_expect_eq(fperf_elf__build_id(elf, id), 20);
	cr_expect_lt(resident_bytes() - before, (size_t)8 << 20);
	cr_assert_eq(ftruncate(fd, 100), 0);
	cr_expect_null(fperf_elf__data(elf, &size));
	cr_expect_eq(fperf_elf__build_id(elf, id), 20, "what was read stays");
	fperf_elf__close(elf);
	close(fd);
	unlink(path);
	free(image);
}
