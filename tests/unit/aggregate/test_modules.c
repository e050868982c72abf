#include "feed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static struct fperf_aggregate_mapping mapping_of(const char *path, uint64_t start, uint8_t build_id)
{
	struct fperf_aggregate_mapping mapping = {.pid = 100,
						  .time_ns = START,
						  .start = start,
						  .end = start + 0x1000,
						  .path = path,
						  .build_id_size = build_id ? 20 : 0};

	memset(mapping.build_id, build_id, mapping.build_id_size);
	return mapping;
}

static uint32_t add(struct feed *feed, const struct fperf_aggregate_mapping *mapping)
{
	uint32_t module = 0;

	cr_assert_eq(fperf_aggregate__add_mapping(feed->agg, mapping, &module, &err), 0, "%s", err.text);
	return module;
}

static void file_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	cr_assert_not_null(file, "%s: %s", path, strerror(errno));
	fputs(text, file);
	fclose(file);
}

Test(aggregate, build_id_decides_which_module_it_is)
{
	struct feed feed;
	struct fperf_aggregate_mapping first = mapping_of("/usr/lib/a.so", 0x1000, 1);
	struct fperf_aggregate_mapping moved = mapping_of("/run/host/usr/lib/a.so", 0x3000, 1);
	struct fperf_aggregate_mapping rebuilt = mapping_of("/usr/lib/a.so", 0x5000, 2);
	struct fperf_aggregate_mapping none = mapping_of("/usr/lib/b.so", 0x7000, 0);
	struct fperf_aggregate_mapping zeros = mapping_of("/usr/lib/c.so", 0x9000, 0);
	const struct fperf_rec_module *module;
	uint32_t ids[5];

	feed_begin(&feed);
	zeros.build_id_size = 20;
	ids[0] = add(&feed, &first);
	ids[1] = add(&feed, &moved);
	ids[2] = add(&feed, &rebuilt);
	ids[3] = add(&feed, &none);
	ids[4] = add(&feed, &zeros);
	feed_finish(&feed, 1);
	cr_assert_eq(ids[0], ids[1], "another path, the same module");
	cr_assert_neq(ids[0], ids[2], "same path, another module");
	cr_assert_neq(ids[3], ids[4]);
	module = fperf_session__module(feed.session, ids[2]);
	cr_assert_eq(module->build_id_size, 20);
	cr_assert_eq(module->build_id[19], 2);
	cr_assert_eq(fperf_session__module(feed.session, ids[3])->build_id_size, 0,
		     "the one without has none, not that of the module before (COL-23)");
	cr_assert_eq(fperf_session__module(feed.session, ids[4])->build_id_size, 0, "zeros are none");
	feed_end(&feed);
}

/* Files without build ID: equal contents are one module, a replaced file is another. */
Test(aggregate, contents_decide_without_a_build_id)
{
	struct feed feed;
	struct fperf_aggregate_mapping mapping = mapping_of("/a", 0x1000, 0);
	char one[80], two[80];
	uint32_t ids[4];

	feed_begin(&feed);
	snprintf(one, sizeof(one), "%s/one", feed.directory);
	snprintf(two, sizeof(two), "%s/two", feed.directory);
	file_write(one, "the same bytes");
	file_write(two, "the same bytes");
	mapping.image_path = one;
	ids[0] = add(&feed, &mapping);
	mapping.image_path = two;
	mapping.path = "/b";
	ids[1] = add(&feed, &mapping);
	file_write(one, "other bytes, a new build");
	mapping.image_path = one;
	mapping.path = "/a";
	ids[2] = add(&feed, &mapping);
	ids[3] = add(&feed, &mapping);
	feed_finish(&feed, 1);
	cr_assert_eq(ids[0], ids[1]);
	cr_assert_neq(ids[0], ids[2]);
	cr_assert_eq(ids[2], ids[3]);
	cr_assert_neq(fperf_session__module(feed.session, ids[0])->content_hash, 0);
	cr_assert_eq(fperf_session__module(feed.session, ids[2])->file_size, 24);
	unlink(one);
	unlink(two);
	feed_end(&feed);
}

/* This program's own mapping: build ID and segments come from the file. */
Test(aggregate, build_id_is_read_from_the_mapped_file)
{
	struct feed feed;
	struct fperf_aggregate_mapping mapping = mapping_of("/bin/tests", 0x1000, 0);
	const struct fperf_rec_module *module;
	uint32_t id;

	feed_begin(&feed);
	mapping.image_path = "/proc/self/exe";
	id = add(&feed, &mapping);
	feed_finish(&feed, 1);
	module = fperf_session__module(feed.session, id);
	cr_assert_gt(module->build_id_size, 0);
	cr_assert_eq(module->content_hash, 0);
	cr_assert_gt(module->file_size, 4096);
	feed_end(&feed);
}

/* SYM-26 */
Test(aggregate, deleted_files_and_files_named_so)
{
	struct feed feed;
	struct fperf_aggregate_mapping mapping = mapping_of("", 0x1000, 0);
	char real[96], gone[80], gone_maps[96], inner[96];
	const struct fperf_rec_module *module;
	uint32_t ids[3];
	int fd;

	feed_begin(&feed);
	mapping.pid = (uint32_t)getpid(); /* paths are looked up in the target's view */
	snprintf(real, sizeof(real), "%s/g (deleted)", feed.directory);
	snprintf(gone, sizeof(gone), "%s/h", feed.directory);
	snprintf(gone_maps, sizeof(gone_maps), "%s (deleted)", gone);
	file_write(real, "really named so");
	file_write(gone, "unlinked below");
	fd = open(gone, O_RDONLY);
	cr_assert_geq(fd, 0);
	unlink(gone);
	snprintf(inner, sizeof(inner), "/proc/self/fd/%d", fd);

	mapping.path = real;
	mapping.image_path = real;
	ids[0] = add(&feed, &mapping);
	mapping.start = 0x3000;
	mapping.end = 0x4000;
	mapping.path = gone_maps;
	mapping.image_path = inner;
	ids[1] = add(&feed, &mapping);
	mapping.start = 0x5000;
	mapping.end = 0x6000;
	mapping.image_path = NULL; /* cannot be opened any more */
	mapping.path = "/no/such/Proton 3.16/wine\n64 (deleted)";
	ids[2] = add(&feed, &mapping);
	close(fd);
	feed_finish(&feed, 1);

	module = fperf_session__module(feed.session, ids[0]);
	cr_assert_str_eq(loaded_text(&feed, module->path), real);
	cr_assert_eq(module->deleted, 0);
	module = fperf_session__module(feed.session, ids[1]);
	cr_assert_str_eq(loaded_text(&feed, module->path), gone);
	cr_assert_eq(module->deleted, 1);
	module = fperf_session__module(feed.session, ids[2]);
	cr_assert_str_eq(loaded_text(&feed, module->path), "/no/such/Proton 3.16/wine\n64");
	cr_assert_eq(module->deleted, 1);
	unlink(real);
	feed_end(&feed);
}

Test(aggregate, memory_without_a_file_has_its_kinds)
{
	static const struct {
		const char *path, *shown;
		uint8_t kind;
		uint64_t offset; /* of the address 0x10 bytes into the mapping */
	} cases[] = {
		{"", "[anon]", FPERF_MODULE_ANON, 0x10010},
		{"//anon", "[anon]", FPERF_MODULE_ANON, 0x20010},
		{"[anon:dalvik-jit-code-cache]", "[anon:dalvik-jit-code-cache]", FPERF_MODULE_ANON, 0x30010},
		{"/memfd:jit (deleted)", "/memfd:jit", FPERF_MODULE_ELF, 0x10},
		{"/dev/zero (deleted)", "/dev/zero", FPERF_MODULE_ANON, 0x50010},
		{"[vdso]", "[vdso]", FPERF_MODULE_VDSO, 0x10},
		{"[vsyscall]", "[vsyscall]", FPERF_MODULE_SPECIAL, 0x70010},
		{"[uprobes]", "[uprobes]", FPERF_MODULE_SPECIAL, 0x80010},
	};
	const size_t count = sizeof(cases) / sizeof(*cases);
	const struct fperf_rec_sample *samples;
	struct feed feed;
	uint32_t ids[sizeof(cases) / sizeof(*cases)];
	size_t loaded;

	feed_begin(&feed);
	feed_process(&feed, 100, "game");
	for (size_t i = 0; i < count; i++) {
		uint64_t start = 0x10000 * (i + 1);

		ids[i] = feed_mapping(&feed, 100, 0, start, start + 0x1000, 0, cases[i].path);
		feed_pc(&feed, i + 1, 100, 100, start + 0x10);
	}
	feed_finish(&feed, 10);
	samples = LOADED(&feed, SAMPLE, sample, &loaded);
	cr_assert_eq(loaded, count);
	cr_assert_eq(ids[0], ids[1]);
	for (size_t i = 0; i < count; i++) {
		const struct fperf_rec_module *module = fperf_session__module(feed.session, ids[i]);

		cr_assert_str_eq(loaded_text(&feed, module->path), cases[i].shown);
		cr_assert_eq(module->kind, cases[i].kind, "%s", cases[i].path);
		cr_assert_eq(loaded_leaf(&feed, samples[i].stack)->module, ids[i]);
		cr_assert_eq(loaded_leaf(&feed, samples[i].stack)->offset, cases[i].offset, "%s",
			     cases[i].path);
	}
	feed_end(&feed);
}

/* A memory file that a JIT compiler writes to is no ELF file. */
Test(aggregate, memory_file_with_jit_code_is_anonymous)
{
	struct feed feed;
	struct fperf_aggregate_mapping mapping = mapping_of("/memfd:jit (deleted)", 0x1000, 0);
	char image[80];
	uint32_t id;

	feed_begin(&feed);
	snprintf(image, sizeof(image), "%s/jit", feed.directory);
	file_write(image, "\x90\x90\xc3");
	mapping.image_path = image;
	id = add(&feed, &mapping);
	feed_finish(&feed, 1);
	cr_assert_eq(fperf_session__module(feed.session, id)->kind, FPERF_MODULE_ANON);
	unlink(image);
	feed_end(&feed);
}

/* dlclose and dlopen: another library at the same address, each with its time. */
Test(aggregate, replaced_mapping_has_an_end)
{
	struct feed feed;
	const struct fperf_rec_mapping *mappings;
	const struct fperf_rec_sample *samples;
	size_t count;

	feed_begin(&feed);
	feed_process(&feed, 100, "game");
	feed_mapping(&feed, 100, 1, 0x400000, 0x402000, 0x1000, "/opt/one.so");
	feed_pc(&feed, 2, 100, 100, 0x400010);
	feed_mapping(&feed, 100, 5, 0x400000, 0x401000, 0x3000, "/opt/two.so");
	feed_mapping(&feed, 100, 6, 0x400000, 0x401000, 0x3000, "/opt/two.so"); /* seen again */
	feed_pc(&feed, 7, 100, 100, 0x400010);
	feed_pc(&feed, 8, 100, 100, 0x401010);
	feed_finish(&feed, 10);
	mappings = LOADED(&feed, MAPPING, mapping, &count);
	cr_assert_eq(count, 3);
	cr_assert_eq(mappings[0].from_ns, START + 1 * MS);
	cr_assert_eq(mappings[0].to_ns, START + 5 * MS);
	cr_assert_eq(mappings[0].end, 0x402000);
	cr_assert_eq(mappings[1].from_ns, START + 5 * MS);
	cr_assert_eq(mappings[1].to_ns, 0);
	cr_assert_eq(mappings[2].start, 0x401000);
	cr_assert_eq(mappings[2].file_offset, 0x2000, "what is left of the first");
	samples = LOADED(&feed, SAMPLE, sample, &count);
	cr_assert_str_eq(loaded_leaf_path(&feed, samples[0].stack), "/opt/one.so");
	cr_assert_str_eq(loaded_leaf_path(&feed, samples[1].stack), "/opt/two.so");
	cr_assert_eq(loaded_leaf(&feed, samples[1].stack)->offset, 0x3010);
	cr_assert_str_eq(loaded_leaf_path(&feed, samples[2].stack), "/opt/one.so");
	cr_assert_eq(loaded_leaf(&feed, samples[2].stack)->offset, 0x2010);
	feed_end(&feed);
}

/* Executable and read-only mappings of this very program. */
struct own_mappings {
	uint64_t text_start, text_end, text_offset;
	uint64_t header_start, header_end;
};

static void own_mappings_read(struct own_mappings *own)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512], exe[256];
	ssize_t size = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	*own = (struct own_mappings){0};
	cr_assert_gt(size, 0);
	exe[size] = 0;
	while (fgets(line, sizeof(line), maps)) {
		unsigned long start, end, offset;
		char flags[8];

		if (!strstr(line, exe) || sscanf(line, "%lx-%lx %7s %lx", &start, &end, flags, &offset) != 4)
			continue;
		if (flags[2] == 'x') {
			own->text_start = start;
			own->text_end = end;
			own->text_offset = offset;
		} else if (!own->text_start) {
			own->header_start = start;
			own->header_end = end;
		}
	}
	fclose(maps);
	cr_assert_neq(own->text_start, 0);
	cr_assert_eq(own->header_end, own->text_start, "headers come right before the text");
}

/* SYM-05: text moved to anonymous huge pages is still the file's, in part or as a whole. */
Test(aggregate, text_in_anonymous_memory_stays_with_its_file)
{
	struct own_mappings own;
	struct feed feed;
	struct fperf_aggregate_mapping text = mapping_of("/opt/game", 0, 0), anon = mapping_of("", 0, 0),
				       header;
	const struct fperf_rec_sample *samples;
	uint32_t module;
	size_t count;

	own_mappings_read(&own);
	feed_begin(&feed);
	feed_process(&feed, 100, "part");
	feed_process(&feed, 101, "whole");
	text.image_path = "/proc/self/exe";
	header = text;
	text.start = own.text_start;
	text.end = own.text_end;
	text.file_offset = own.text_offset;
	module = add(&feed, &text);
	anon.start = own.text_start + 0x1000;
	anon.end = own.text_start + 0x3000;
	cr_assert_eq(add(&feed, &anon), module);
	feed_pc(&feed, 1, 100, 100, anon.start + 8);

	header.pid = anon.pid = 101;
	header.start = own.header_start;
	header.end = own.header_end;
	header.not_executable = true;
	add(&feed, &header);
	anon.start = own.text_start;
	anon.end = own.text_end;
	cr_assert_eq(add(&feed, &anon), module);
	feed_pc(&feed, 2, 101, 101, anon.start + 8);

	anon.start = own.text_end + (64 << 20); /* far from any file */
	anon.end = anon.start + 0x1000;
	cr_assert_neq(add(&feed, &anon), module);
	feed_finish(&feed, 10);
	samples = LOADED(&feed, SAMPLE, sample, &count);
	cr_assert_eq(loaded_leaf(&feed, samples[0].stack)->offset, own.text_offset + 0x1008);
	cr_assert_eq(loaded_leaf(&feed, samples[1].stack)->offset, own.text_offset + 8);
	feed_end(&feed);
}
