#include "symbolize/module_files.h"

#include "symbolize/plt.h"
#include "symbolize/symbol_set.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define PROCESSES_MAX 4	       /* whose root directories are tried */
#define PAGE_MASK     0xfffull /* smallest page size; mappings of larger pages are multiples of it, too */

static struct fperf_identity identity_of(const struct fperf_rec_module *module)
{
	struct fperf_identity identity = {
		.build_id_size = module->build_id_size <= FPERF_BUILD_ID_MAX ? module->build_id_size : 0,
		.file_size = module->file_size,
		.content_hash = module->content_hash,
	};

	memcpy(identity.build_id, module->build_id, identity.build_id_size);
	return identity;
}

/* The image that the kernel maps into this process: its own headers tell its size. */
static struct fperf_elf *own_vdso(const struct fperf_identity *identity)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	struct fperf_error ignored = {0}; /* a 32-bit or missing vDSO has no names for us */
	uint8_t build_id[FPERF_BUILD_ID_MAX];
	struct fperf_elf *elf = NULL;
	size_t size;

	if (!header || header->e_shentsize != sizeof(Elf64_Shdr))
		return NULL;
	size = header->e_shoff + (size_t)header->e_shnum * sizeof(Elf64_Shdr);
	if (fperf_elf__open_memory(header, size, "[vdso]", &elf, &ignored))
		return NULL;
	size = fperf_elf__build_id(elf, build_id);
	if (size && size == identity->build_id_size && !memcmp(build_id, identity->build_id, size))
		return elf;
	fperf_elf__close(elf);
	return NULL;
}

/* In a container the path leads to the right file only from the root directory of the process, if it still
 * lives. That another process may have its number by now does no harm: the build is compared. */
static void find_in_containers(struct fperf_module_files *files, struct fperf_file_finder *finder,
			       const struct fperf_session *session, const struct fperf_rec_module *module,
			       const struct fperf_identity *identity, const char *path)
{
	const struct fperf_rec_mapping *mappings;
	uint32_t tried[PROCESSES_MAX];
	size_t count, tried_count = 0;
	bool other;

	mappings = fperf_session__records(session, FPERF_RECORD_MAPPING, &count);
	for (size_t i = 0; mappings && i < count && tried_count < PROCESSES_MAX && !files->whole.elf; i++) {
		const struct fperf_rec_process *process;
		char root[64];
		bool seen = false;

		if (mappings[i].module != module->id)
			continue;
		process = fperf_session__process(session, mappings[i].process);
		for (size_t t = 0; process && t < tried_count; t++)
			seen = seen || tried[t] == process->pid;
		if (!process || seen)
			continue;
		tried[tried_count++] = process->pid;
		snprintf(root, sizeof(root), "/proc/%u/root", process->pid);
		files->whole = fperf_file_finder__module(finder, identity, root, path, &other);
	}
}

static void find_whole(struct fperf_module_files *files, struct fperf_file_finder *finder,
		       const struct fperf_session *session, const struct fperf_rec_module *module,
		       const struct fperf_identity *identity, const char *path, bool *other_build)
{
	if (module->kind == FPERF_MODULE_VDSO) {
		files->whole.elf = own_vdso(identity);
		files->whole.path = files->whole.elf ? strdup("[vdso]") : NULL;
		if (!files->whole.path)
			fperf_found_file__close(&files->whole);
		return;
	}
	files->whole = fperf_file_finder__module(finder, identity, "", path, other_build);
	if (!files->whole.elf && !strncmp(path, "/run/host/", 10))
		files->whole = fperf_file_finder__module(finder, identity, "", path + 9, other_build);
	if (!files->whole.elf)
		find_in_containers(files, finder, session, module, identity, path);
}

/* First executable segment, or NULL. */
static const struct fperf_elf_segment *code_segment(const struct fperf_elf *elf)
{
	size_t count;
	const struct fperf_elf_segment *segments = fperf_elf__segments(elf, &count);

	for (size_t i = 0; i < count; i++)
		if (segments[i].flags & PF_X)
			return &segments[i];
	return NULL;
}

/* Prelinked or rebased: the debug file may have kept other addresses than the module. */
static uint64_t bias_of(const struct fperf_elf *whole, const struct fperf_elf *debug)
{
	const struct fperf_elf_segment *left = code_segment(whole), *right = code_segment(debug);

	return left && right ? left->address - right->address : 0;
}

/* The module itself is not there, only its debug file, whose program headers often have no file offsets any
 * more. The mappings have them: an executable mapping begins at the page of its segment's first byte. */
static int layout_from_mappings(struct fperf_module_files *files, const struct fperf_session *session,
				uint32_t module)
{
	size_t count, mapping_count;
	const struct fperf_elf_segment *segments = fperf_elf__segments(files->debug.elf, &count);
	const struct fperf_rec_mapping *mappings =
		fperf_session__records(session, FPERF_RECORD_MAPPING, &mapping_count);
	size_t executable = 0;

	files->segments = calloc(count + 1, sizeof(*files->segments));
	if (!files->segments)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		executable += segments[i].flags & PF_X ? 1 : 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t first = segments[i].address & ~PAGE_MASK;
		uint64_t end = (segments[i].address + segments[i].memory_size + PAGE_MASK) & ~PAGE_MASK;

		if (!(segments[i].flags & PF_X))
			continue;
		for (size_t m = 0; mappings && m < mapping_count; m++) {
			if (mappings[m].module != module)
				continue;
			/* With several segments, the lengths tell which mapping is which. */
			if (executable > 1 && mappings[m].end - mappings[m].start != end - first)
				continue;
			files->segments[files->segment_count++] = (struct fperf_elf_segment){
				.file_offset = mappings[m].file_offset,
				.file_size = end - first,
				.address = first + files->debug_bias,
				.memory_size = end - first,
				.flags = segments[i].flags,
			};
			break;
		}
	}
	return 0;
}

static int symbols_read(struct fperf_module_files *files, struct fperf_error *err)
{
	struct fperf_symbol_set set = {0};

	if (files->whole.elf && fperf_plt__add(files->whole.elf, &files->ranges))
		return fperf_error__no_memory(err, "symbols");
	if (files->whole.elf) {
		files->fdes = fperf_fde_index__open(files->whole.elf);
		fperf_symbol_set__add(&set, files->whole.elf, FPERF_ELF_SYMTAB, 0);
		fperf_symbol_set__add(&set, files->whole.elf, FPERF_ELF_DYNSYM, 0);
	}
	if (files->embedded.elf)
		fperf_symbol_set__add(&set, files->embedded.elf, FPERF_ELF_SYMTAB,
				      bias_of(files->whole.elf, files->embedded.elf));
	if (files->debug.elf)
		fperf_symbol_set__add(&set, files->debug.elf, FPERF_ELF_SYMTAB, files->debug_bias);
	if (fperf_symbol_set__build(&set, &files->fdes, &files->ranges))
		return fperf_error__no_memory(err, "symbols");
	return 0;
}

static void problem_describe(struct fperf_module_files *files, const struct fperf_identity *identity,
			     bool other_build)
{
	char id[2 * FPERF_BUILD_ID_MAX + 1] = "";
	size_t room = sizeof(files->problem);

	for (size_t i = 0; i < identity->build_id_size; i++)
		snprintf(id + 2 * i, 3, "%02x", identity->build_id[i]);
	if (files->debug.elf || (files->whole.elf && fperf_elf__has_section(files->whole.elf, ".symtab")))
		return;
	if (!identity->build_id_size && !identity->content_hash)
		snprintf(files->problem, room,
			 "the recording has neither build ID nor content hash of this module, so no file can "
			 "be trusted to be the same build");
	else if (files->whole.elf && !files->embedded.elf)
		snprintf(files->problem, room,
			 "stripped, and no debug file%s%s was found: install it, or give its directory with "
			 "--symbols",
			 *id ? " with build ID " : "", id);
	else if (!files->whole.elf)
		snprintf(files->problem, room, "%s%s%s: give the directory of its files with --symbols",
			 other_build ? "the file at its path is of another build than the recorded one"
				     : "no file of the recorded build was found",
			 *id ? ", build ID " : "", id);
}

int fperf_module_files__open(struct fperf_module_files *files, struct fperf_file_finder *finder,
			     const struct fperf_session *session, const struct fperf_rec_module *module,
			     struct fperf_error *err)
{
	struct fperf_identity identity = identity_of(module);
	const char *path = fperf_session__string(session, module->path, NULL);
	bool other_build = false;
	int result = 0;

	*files = (struct fperf_module_files){0};
	if (identity.build_id_size || identity.content_hash)
		find_whole(files, finder, session, module, &identity, path, &other_build);
	if ((identity.build_id_size || files->whole.elf) &&
	    !(files->whole.elf && fperf_elf_has_dwarf(files->whole.elf)))
		files->debug = fperf_file_finder__debug(finder, &identity, path, &files->whole);
	if (files->whole.elf && files->debug.elf)
		files->debug_bias = bias_of(files->whole.elf, files->debug.elf);
	problem_describe(files, &identity, other_build);
	if (files->whole.elf && !fperf_elf__has_section(files->whole.elf, ".symtab") && !files->debug.elf &&
	    fperf_embedded_symbols__open(&files->embedded, files->whole.elf, err))
		snprintf(files->problem, sizeof(files->problem), "%.500s", err->text);
	if (!files->whole.elf && files->debug.elf && layout_from_mappings(files, session, module->id))
		result = fperf_error__no_memory(err, "segments");
	if (!result)
		result = symbols_read(files, err);
	if (result)
		fperf_module_files__close(files);
	return result;
}

void fperf_module_files__close(struct fperf_module_files *files)
{
	fperf_range_table__free(&files->ranges);
	fperf_embedded_symbols__close(&files->embedded);
	fperf_found_file__close(&files->whole);
	fperf_found_file__close(&files->debug);
	free(files->segments);
	files->segments = NULL;
	files->segment_count = 0;
}

bool fperf_module_files__address(const struct fperf_module_files *files, uint64_t file_offset,
				 uint64_t *address)
{
	if (files->whole.elf)
		return fperf_elf__offset_to_address(files->whole.elf, file_offset, address);
	for (size_t i = 0; i < files->segment_count; i++) {
		const struct fperf_elf_segment *segment = &files->segments[i];

		if (file_offset < segment->file_offset ||
		    file_offset - segment->file_offset >= segment->file_size)
			continue;
		*address = segment->address + (file_offset - segment->file_offset);
		return true;
	}
	return false;
}

const struct fperf_elf *fperf_module_files__dwarf(const struct fperf_module_files *files, uint64_t *bias)
{
	*bias = 0;
	if (files->whole.elf && fperf_elf_has_dwarf(files->whole.elf))
		return files->whole.elf;
	*bias = files->debug_bias;
	return files->debug.elf && fperf_elf_has_dwarf(files->debug.elf) ? files->debug.elf : NULL;
}

const char *fperf_module_files__source(const struct fperf_module_files *files)
{
	if (files->debug.path)
		return files->debug.path;
	return files->whole.path ? files->whole.path : "";
}
