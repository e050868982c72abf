#include "capture/program.h"

#include "base/vec.h"
#include "frameperf/wire.h"

#include <bpf/bpf.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* libbpf's own messages go nowhere: what matters is in our errors. */
static int print_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

void fperf_shared_maps__init(struct fperf_shared_maps *shared)
{
	memset(shared, 0, sizeof(*shared));
	libbpf_set_print(print_nothing);
}

void fperf_shared_maps__close(struct fperf_shared_maps *shared)
{
	if (shared->target_page)
		munmap(shared->target_page, (size_t)sysconf(_SC_PAGESIZE));
	for (size_t i = 0; i < shared->count; i++)
		close(shared->maps[i].fd);
	free(shared->programs);
	memset(shared, 0, sizeof(*shared));
}

int fperf_shared_maps__fd(const struct fperf_shared_maps *shared, const char *name)
{
	for (size_t i = 0; i < shared->count; i++)
		if (!strcmp(shared->maps[i].name, name))
			return shared->maps[i].fd;
	return -1;
}

void fperf_program__open_options(struct fperf_shared_maps *shared, struct bpf_object_open_opts *options)
{
	memset(options, 0, sizeof(*options));
	options->sz = sizeof(*options);
	options->kernel_log_buf = shared->kernel_log;
	options->kernel_log_size = sizeof(shared->kernel_log);
	options->kernel_log_level = 0; /* the log is filled in when a load fails */
	shared->kernel_log[0] = '\0';
}

static bool map_is_shared(const char *name)
{
	size_t size = strlen(name);

	return !strncmp(name, "fperf_", 6) && !(size > 8 && !strcmp(name + size - 8, "_scratch"));
}

/* The sizes in bpf/ are for four CPUs. More CPUs write more, up to eight times; all rings together stay
 * within about a hundredth of the memory. */
static void rings_scale(struct bpf_object *object)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF), pages = sysconf(_SC_PHYS_PAGES),
	     page = sysconf(_SC_PAGESIZE);
	uint64_t memory = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 1ull << 30;
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		uint32_t size = bpf_map__max_entries(map);

		if (bpf_map__type(map) != BPF_MAP_TYPE_RINGBUF)
			continue;
		for (long per = 4; per < cpus && per < 32; per *= 2)
			size *= 2;
		while (size > memory / 256 && size > 1u << 18)
			size /= 2;
		bpf_map__set_max_entries(map, size);
	}
}

static int maps_reuse(const struct fperf_shared_maps *shared, struct bpf_object *object,
		      struct fperf_error *err)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		int fd = fperf_shared_maps__fd(shared, bpf_map__name(map)), rc;

		rc = fd >= 0 ? bpf_map__reuse_fd(map, fd) : 0;
		if (rc)
			return fperf_error__set_errno(err, rc, "cannot share BPF map %s", bpf_map__name(map));
	}
	return 0;
}

static int maps_remember(struct fperf_shared_maps *shared, struct bpf_object *object, struct fperf_error *err)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		const char *name = bpf_map__name(map);
		int fd;

		if (!map_is_shared(name) || fperf_shared_maps__fd(shared, name) >= 0)
			continue;
		if (shared->count == FPERF_SHARED_MAPS)
			return fperf_error__set(err, -ENOSPC, "more than %d shared BPF maps",
						FPERF_SHARED_MAPS);
		fd = dup(bpf_map__fd(map));
		if (fd < 0)
			return fperf_error__set_errno(err, -errno,
						      "cannot duplicate the descriptor of BPF map %s", name);
		snprintf(shared->maps[shared->count].name, sizeof(shared->maps[0].name), "%s", name);
		shared->maps[shared->count++].fd = fd;
	}
	return 0;
}

/* For the account of their run time only: without memory it is a little low. */
static void programs_remember(struct fperf_shared_maps *shared, struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info), *id;

		if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
			continue;
		id = fperf_vec__push(&shared->programs, &shared->program_count, &shared->program_capacity);
		if (id)
			*id = info.id;
	}
}

static int targets_map(struct fperf_shared_maps *shared, struct fperf_error *err)
{
	int fd = fperf_shared_maps__fd(shared, "fperf_targets");
	void *memory;

	if (shared->target_page || fd < 0)
		return 0;
	memory = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return fperf_error__set_errno(err, -errno, "cannot map the BPF map of targets");
	shared->target_page = memory;
	return 0;
}

/* The line of the verifier's log that tells most: the last that is no statistics. */
static const char *log_last_line(char *log)
{
	static const char *const statistics[] = {"processed ", "stack depth ", "verification time "};
	char *line, *last = NULL;

	for (line = strtok(log, "\n"); line; line = strtok(NULL, "\n")) {
		bool counts = false;

		for (size_t i = 0; i < sizeof(statistics) / sizeof(statistics[0]); i++)
			counts |= !strncmp(line, statistics[i], strlen(statistics[i]));
		if (!counts && *line)
			last = line;
	}
	return last;
}

int fperf_program__load(struct fperf_shared_maps *shared, struct bpf_object *object, const char *name,
			struct fperf_error *err)
{
	const char *said;
	int rc;

	rings_scale(object);
	rc = maps_reuse(shared, object, err);
	if (rc)
		return rc;
	rc = bpf_object__load(object);
	if (rc) {
		said = log_last_line(shared->kernel_log);
		if (rc == -EPERM || rc == -EACCES)
			return fperf_error__set_errno(
				err, rc,
				"cannot load BPF program '%s' (needs root, or CAP_BPF and CAP_PERFMON)%s%s",
				name, said ? ", kernel says: " : "", said ? said : "");
		if (rc == -ESRCH || access("/sys/kernel/btf/vmlinux", R_OK))
			return fperf_error__set_errno(err, rc,
						      "cannot load BPF program '%s': the kernel has no BTF "
						      "(CONFIG_DEBUG_INFO_BTF), or not the types it needs",
						      name);
		return fperf_error__set_errno(err, rc, "cannot load BPF program '%s'%s%s", name,
					      said ? ", kernel says: " : "", said ? said : "");
	}
	programs_remember(shared, object);
	rc = maps_remember(shared, object, err);
	return rc ? rc : targets_map(shared, err);
}

int fperf_program__set_data(const struct bpf_map *map, const void *data)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(bpf_map__fd(map), &zero, data, BPF_ANY) ? -errno : 0;
}

uint32_t fperf_program__kernel_stack_size(void)
{
	long page = sysconf(_SC_PAGESIZE);

	return page > 16384 ? (uint32_t)page : 16384;
}

void fperf_program__cost(const struct fperf_shared_maps *shared, const char *name,
			 struct fperf_program_cost *cost)
{
	*cost = (struct fperf_program_cost){0};
	for (size_t i = 0; i < shared->program_count; i++) {
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(shared->programs[i]);

		if (fd < 0)
			continue; /* unloaded */
		if (!bpf_obj_get_info_by_fd(fd, &info, &size) &&
		    (!name || !strncmp(info.name, name, sizeof(info.name) - 1))) {
			cost->run_ns += info.run_time_ns;
			cost->runs += info.run_cnt;
		}
		close(fd);
	}
}

uint64_t fperf_program__run_ns(const struct fperf_shared_maps *shared)
{
	struct fperf_program_cost all;

	fperf_program__cost(shared, NULL, &all);
	return all.run_ns;
}

bool fperf_program__self_time(const struct fperf_shared_maps *shared, struct fperf_self_time *time)
{
	int fd = fperf_shared_maps__fd(shared, "fperf_self_time"), cpus = libbpf_num_possible_cpus();
	struct fperf_self_time *values;
	uint32_t zero = 0;
	bool got;

	*time = (struct fperf_self_time){0};
	if (fd < 0 || cpus <= 0)
		return false;
	values = calloc((size_t)cpus, sizeof(*values));
	got = values && !bpf_map_lookup_elem(fd, &zero, values);
	for (int cpu = 0; got && cpu < cpus; cpu++) {
		time->ns += values[cpu].ns;
		time->count += values[cpu].count;
	}
	free(values);
	return got;
}

int fperf_program__attach(struct bpf_object *object, const char *program, struct bpf_link **link,
			  struct fperf_error *err)
{
	struct bpf_program *found = bpf_object__find_program_by_name(object, program);

	if (!found)
		return fperf_error__set(err, -ENOENT, "no BPF program '%s'", program);
	*link = bpf_program__attach(found);
	if (!*link)
		return fperf_error__set_errno(err, -errno, "cannot attach BPF program '%s' to %s", program,
					      bpf_program__section_name(found));
	return 0;
}

/* The byte of a thread group id; NULL when it cannot be mapped. */
static uint8_t *target_byte(struct fperf_shared_maps *shared, uint32_t pid)
{
	uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);

	if (!shared->target_page || pid >= FPERF_PID_LIMIT)
		return NULL;
	if (pid - shared->target_first >= page) {
		void *memory = mmap(shared->target_page, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
				    fperf_shared_maps__fd(shared, "fperf_targets"), pid / page * page);

		if (memory == MAP_FAILED)
			return NULL;
		shared->target_first = pid / page * page;
	}
	return &shared->target_page[pid - shared->target_first];
}

static void target_store(struct fperf_shared_maps *shared, uint32_t pid, uint8_t value)
{
	uint8_t *byte = target_byte(shared, pid);

	if (byte)
		__atomic_store_n(byte, value, __ATOMIC_SEQ_CST);
}

void fperf_targets__add(struct fperf_shared_maps *shared, uint32_t pid)
{
	target_store(shared, pid, 1);
}

void fperf_targets__remove(struct fperf_shared_maps *shared, uint32_t pid)
{
	target_store(shared, pid, 0);
}

bool fperf_targets__has(struct fperf_shared_maps *shared, uint32_t pid)
{
	const uint8_t *byte = target_byte(shared, pid);

	return byte && __atomic_load_n(byte, __ATOMIC_SEQ_CST);
}

bool fperf_losses__read(const struct fperf_shared_maps *shared,
			uint64_t lost[FPERF_SOURCES][FPERF_LOSS_REASONS])
{
	int fd = fperf_shared_maps__fd(shared, "fperf_losses"), cpus = libbpf_num_possible_cpus();
	uint64_t *values;

	if (fd < 0 || cpus <= 0)
		return false;
	values = calloc((size_t)cpus, sizeof(*values));
	if (!values)
		return false;
	for (uint32_t key = 0; key < FPERF_SOURCES * FPERF_LOSS_REASONS; key++) {
		uint64_t *sum = &lost[key / FPERF_LOSS_REASONS][key % FPERF_LOSS_REASONS];

		*sum = 0;
		if (bpf_map_lookup_elem(fd, &key, values))
			continue;
		for (int cpu = 0; cpu < cpus; cpu++)
			*sum += values[cpu];
	}
	free(values);
	return true;
}
