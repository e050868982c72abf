#include "capture/unwind_maps.h"

#include <bpf/bpf.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_align(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

static int array_map(const struct fperf_shared_maps *shared, const char *name, size_t size, void **memory,
		     size_t *mapped, struct fperf_error *err)
{
	int fd = fperf_shared_maps__fd(shared, name);

	*mapped = page_align(size);
	*memory = mmap(NULL, *mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*memory != MAP_FAILED)
		return 0;
	*memory = NULL;
	return fperf_error__set_errno(err, -errno, "cannot map BPF map %s", name);
}

int fperf_unwind_maps__open(const struct fperf_shared_maps *shared, uint32_t cell_limit,
			    struct fperf_unwind_maps *maps, struct fperf_error *err)
{
	uint32_t most = FPERF_UNWIND_SHARDS << FPERF_UNWIND_SHARD_BITS;
	void *memory;
	int rc;

	memset(maps, 0, sizeof(*maps));
	maps->shards_fd = fperf_shared_maps__fd(shared, "fperf_unwind_shards");
	maps->processes_fd = fperf_shared_maps__fd(shared, "fperf_unwind_processes");
	maps->stats_fd = fperf_shared_maps__fd(shared, "fperf_unwind_stats");
	if (maps->shards_fd < 0 || maps->processes_fd < 0)
		return fperf_error__set(err, -ENODEV, "no program that captures stacks is loaded");
	rc = array_map(shared, "fperf_unwind_modules", FPERF_UNWIND_MODULES * sizeof(*maps->modules), &memory,
		       &maps->modules_size, err);
	if (rc)
		return rc;
	maps->modules = memory;
	rc = array_map(shared, "fperf_unwind_mappings", FPERF_UNWIND_MAPPINGS * sizeof(*maps->mappings),
		       &memory, &maps->mappings_size, err);
	maps->mappings = memory;
	if (!rc && fperf_unwind_space__init(&maps->cells, cell_limit < most ? cell_limit : most))
		rc = fperf_error__no_memory(err, "the space of unwind tables");
	if (rc)
		fperf_unwind_maps__close(maps);
	return rc;
}

static void shard_close(struct fperf_unwind_maps *maps, uint32_t number)
{
	struct fperf_unwind_shard *shard = &maps->shards[number];

	if (!shard->exists)
		return;
	bpf_map_delete_elem(maps->shards_fd, &number);
	close(shard->fd);
	*shard = (struct fperf_unwind_shard){0};
	maps->shard_count--;
}

void fperf_unwind_maps__close(struct fperf_unwind_maps *maps)
{
	for (uint32_t i = 0; i < FPERF_UNWIND_SHARDS; i++)
		shard_close(maps, i);
	fperf_unwind_space__destroy(&maps->cells);
	if (maps->modules)
		munmap(maps->modules, maps->modules_size);
	if (maps->mappings)
		munmap(maps->mappings, maps->mappings_size);
	maps->modules = NULL;
	maps->mappings = NULL;
}

static int shard_open(struct fperf_unwind_maps *maps, uint32_t number, struct fperf_error *err)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	struct fperf_unwind_shard *shard = &maps->shards[number];
	int fd, rc;

	if (shard->exists)
		return 0;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "fperf_shard", sizeof(uint32_t), sizeof(uint64_t),
			    FPERF_UNWIND_SHARD_CELLS, &options);
	if (fd < 0)
		return fperf_error__set_errno(err, fd, "cannot create a BPF map for unwind tables");
	rc = bpf_map_update_elem(maps->shards_fd, &number, &fd, BPF_ANY);
	if (rc) {
		fperf_error__set_errno(err, rc, "cannot add a BPF map for unwind tables");
		close(fd);
		return rc;
	}
	shard->exists = true;
	shard->fd = fd;
	maps->shard_count++;
	return 0;
}

/* Calls back for the part of each shard that a range of cells touches. */
static void range_visit(struct fperf_unwind_maps *maps, uint32_t first, uint32_t count,
			void (*visit)(struct fperf_unwind_shard *shard, uint32_t at, uint32_t part,
				      uint32_t done, void *context),
			void *context)
{
	uint32_t done = 0;

	while (done < count) {
		uint32_t cell = first + done, at = cell & (FPERF_UNWIND_SHARD_CELLS - 1);
		uint32_t part = FPERF_UNWIND_SHARD_CELLS - at;

		if (part > count - done)
			part = count - done;
		visit(&maps->shards[cell >> FPERF_UNWIND_SHARD_BITS], at, part, done, context);
		done += part;
	}
}

static void use_add(struct fperf_unwind_shard *shard, uint32_t at, uint32_t part, uint32_t done,
		    void *context)
{
	(void)at;
	(void)done;
	(void)context;
	shard->used += part;
}

static void use_drop(struct fperf_unwind_shard *shard, uint32_t at, uint32_t part, uint32_t done,
		     void *context)
{
	(void)at;
	(void)done;
	(void)context;
	shard->used -= part;
}

struct cells_copy {
	const uint64_t *cells;
	int failed; /* negative errno */
};

static void cells_copy(struct fperf_unwind_shard *shard, uint32_t at, uint32_t part, uint32_t done,
		       void *context)
{
	struct cells_copy *copy = context;
	size_t size = FPERF_UNWIND_SHARD_CELLS * sizeof(*copy->cells);
	uint64_t *to = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, shard->fd, 0);

	if (to == MAP_FAILED) {
		copy->failed = -errno;
		return;
	}
	memcpy(to + at, copy->cells + done, part * sizeof(*to));
	munmap(to, size);
}

int fperf_unwind_maps__take_cells(struct fperf_unwind_maps *maps, uint32_t count, uint32_t *first,
				  struct fperf_error *err)
{
	uint32_t last;

	if (!fperf_unwind_space__take(&maps->cells, count, first))
		return fperf_error__set(err, -ENOSPC, "no room for %u more cells of unwind tables", count);
	last = (*first + count - 1) >> FPERF_UNWIND_SHARD_BITS;
	range_visit(maps, *first, count, use_add, NULL);
	for (uint32_t i = *first >> FPERF_UNWIND_SHARD_BITS; i <= last; i++) {
		int rc = shard_open(maps, i, err);

		if (rc) {
			fperf_unwind_maps__give_cells(maps, *first, count, 0);
			return rc;
		}
	}
	return 0;
}

int fperf_unwind_maps__write_cells(struct fperf_unwind_maps *maps, uint32_t first, const uint64_t *cells,
				   uint32_t count, struct fperf_error *err)
{
	struct cells_copy copy = {.cells = cells};

	range_visit(maps, first, count, cells_copy, &copy);
	return copy.failed
		       ? fperf_error__set_errno(err, copy.failed, "cannot map a BPF map for unwind tables")
		       : 0;
}

void fperf_unwind_maps__give_cells(struct fperf_unwind_maps *maps, uint32_t first, uint32_t count,
				   uint64_t now_ns)
{
	fperf_unwind_space__give(&maps->cells, first, count, now_ns);
}

static void cells_settled(void *context, uint32_t first, uint32_t count)
{
	struct fperf_unwind_maps *maps = context;
	uint32_t last = (first + count - 1) >> FPERF_UNWIND_SHARD_BITS;

	range_visit(maps, first, count, use_drop, NULL);
	for (uint32_t i = first >> FPERF_UNWIND_SHARD_BITS; i <= last; i++) {
		if (!maps->shards[i].used)
			shard_close(maps, i);
	}
}

void fperf_unwind_maps__settle(struct fperf_unwind_maps *maps, uint64_t now_ns)
{
	fperf_unwind_space__settle(&maps->cells, now_ns, cells_settled, maps);
}

void fperf_unwind_maps__set_module(struct fperf_unwind_maps *maps, uint32_t slot,
				   const struct fperf_unwind_module *module)
{
	struct fperf_unwind_module *entry = &maps->modules[slot];
	struct fperf_unwind_module hidden = *module;

	hidden.state = FPERF_UNWIND_MODULE_MISSING;
	__atomic_store_n(&entry->state, FPERF_UNWIND_MODULE_MISSING, __ATOMIC_SEQ_CST);
	*entry = hidden;
	__atomic_store_n(&entry->state, module->state, __ATOMIC_SEQ_CST);
}

int fperf_unwind_maps__set_process(struct fperf_unwind_maps *maps, uint32_t pid,
				   const struct fperf_unwind_process *process)
{
	return bpf_map_update_elem(maps->processes_fd, &pid, process, BPF_ANY);
}

void fperf_unwind_maps__remove_process(struct fperf_unwind_maps *maps, uint32_t pid)
{
	bpf_map_delete_elem(maps->processes_fd, &pid);
}

void fperf_unwind_maps__stats(const struct fperf_unwind_maps *maps, struct fperf_unwind_stats *stats)
{
	int cpus = libbpf_num_possible_cpus();
	struct fperf_unwind_stats *each;
	uint32_t zero = 0;

	memset(stats, 0, sizeof(*stats));
	each = cpus > 0 ? calloc((size_t)cpus, sizeof(*each)) : NULL;
	if (each && maps->stats_fd >= 0 && !bpf_map_lookup_elem(maps->stats_fd, &zero, each)) {
		for (int cpu = 0; cpu < cpus; cpu++) {
			stats->stacks += each[cpu].stacks;
			stats->frames += each[cpu].frames;
			stats->misses += each[cpu].misses;
		}
	}
	free(each);
}
