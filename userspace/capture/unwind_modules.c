#include "capture/unwind_modules.h"

#include "capture/proc_files.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "unwind/cache.h"
#include "unwind/table.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define SLOT_MISSING	0 /* a module that is always missing: for when there are no more slots */
#define IDLE_NS		(20 * FPERF_NS_PER_S) /* without users before a table is dropped */
#define RETRY_NS	(5 * FPERF_NS_PER_S)
#define EVICT_UNUSED_NS FPERF_NS_PER_S /* younger ones are in use: dropping them would only move the gap */
#define VDSO_MAX	(64u << 10)
#define BUILD_NICENESS	5 /* for modules that no stack has met yet */

enum module_state {
	MODULE_FREE = 0,
	MODULE_QUEUED,
	MODULE_LOADED,
	MODULE_NO_ROWS,
	MODULE_FAILED,
	MODULE_EVICTED, /* or never had room */
	MODULE_WAITING, /* not built: nobody maps it any more */
};

struct module {
	enum module_state state;
	uint32_t id; /* session-wide */
	uint32_t users;
	uint32_t first, count; /* cells */
	uint64_t rows;
	uint64_t since_ns; /* idle or evicted since then */
	int fd;		   /* -1: `image` */
	uint8_t *image;
	size_t image_size;
	uint64_t file_size; /* or the image's */
	bool own;	    /* the recorder's own program, in which a command is until its exec */
	char name[160];	    /* for messages */
};

struct fperf_unwind_modules {
	struct fperf_unwind_maps *maps;
	struct fperf_unwind_cache_dir *cache;
	const struct fperf_log *log;
	pthread_mutex_t lock; /* of everything below, and of the maps */
	pthread_cond_t changed;
	pthread_t thread;
	dev_t own_device; /* of the recorder's own program */
	ino_t own_inode;
	bool tables;
	bool stopping;
	struct module *modules; /* by slot */
	size_t count, capacity;
	struct fperf_map by_id;
	uint32_t *queue;
	size_t queue_count, queue_capacity;
	struct fperf_unwind_modules_stats stats;
	char message[512]; /* from the thread, for poll to write: the log belongs to the main thread */
};

/* What the thread made of a module, outside of the lock. */
struct build {
	struct fperf_unwind_module module;
	uint64_t *cells;
	size_t cell_count;
	uint64_t rows;
	enum module_state state;
	bool from_cache;
	char why[256];
};

static void build_table(struct fperf_unwind_modules *modules, struct fperf_elf *elf, struct build *build,
			struct fperf_error *err)
{
	struct fperf_unwind_table table;

	build->from_cache = fperf_unwind_cache__load(modules->cache, elf, &table);
	if (!build->from_cache) {
		if (fperf_unwind_table__build(elf, FPERF_UNWIND_SHARDS << FPERF_UNWIND_SHARD_BITS, &table,
					      err)) {
			snprintf(build->why, sizeof(build->why), "%.*s", (int)sizeof(build->why) - 1,
				 err->text);
			return;
		}
		fperf_unwind_cache__store(modules->cache, elf, &table);
	}
	build->rows = table.count;
	if (!table.count)
		build->state = MODULE_NO_ROWS;
	else if (!fperf_unwind_table__cells(&table, &build->module, &build->cells, &build->cell_count, err))
		build->state = MODULE_LOADED;
	fperf_unwind_table__free(&table);
}

static void module_build(struct fperf_unwind_modules *modules, const struct module *module,
			 struct build *build)
{
	struct fperf_error err = {0};
	struct fperf_elf *elf;
	int rc;

	memset(build, 0, sizeof(*build));
	build->state = MODULE_FAILED;
	rc = module->fd >= 0
		     ? fperf_elf__open_fd(module->fd, module->name, &elf, &err)
		     : fperf_elf__open_memory(module->image, module->image_size, module->name, &elf, &err);
	if (rc == -ENOEXEC) { /* code that is not ELF: another format, or a JIT's file */
		build->state = MODULE_NO_ROWS;
		return;
	}
	if (rc) {
		snprintf(build->why, sizeof(build->why), "%.*s", (int)sizeof(build->why) - 1, err.text);
		return;
	}
	build_table(modules, elf, build, &err);
	fperf_elf__close(elf);
}

/* With the lock held. Takes the module's table out of the maps. */
static void module_unload(struct fperf_unwind_modules *modules, uint32_t slot, uint64_t now_ns)
{
	struct module *module = &modules->modules[slot];
	struct fperf_unwind_module missing = {.used_ns = modules->maps->modules[slot].used_ns};

	fperf_unwind_maps__set_module(modules->maps, slot, &missing);
	if (module->count)
		fperf_unwind_maps__give_cells(modules->maps, module->first, module->count, now_ns);
	modules->stats.rows -= module->rows;
	modules->stats.cells -= module->count;
	module->count = 0;
	module->rows = 0;
}

/* With the lock held. The loaded table that was used longest ago, preferring those without users. */
static bool evict_one(struct fperf_unwind_modules *modules, uint64_t now_ns)
{
	uint64_t oldest = UINT64_MAX;
	uint32_t found = SLOT_MISSING;

	for (uint32_t slot = 1; slot < modules->count; slot++) {
		const struct module *module = &modules->modules[slot];
		uint64_t used_ns = modules->maps->modules[slot].used_ns;

		if (module->state != MODULE_LOADED)
			continue;
		if (!module->users)
			used_ns = 0;
		else if (now_ns - used_ns < EVICT_UNUSED_NS)
			continue;
		if (used_ns < oldest) {
			oldest = used_ns;
			found = slot;
		}
	}
	if (found == SLOT_MISSING)
		return false;
	module_unload(modules, found, now_ns);
	modules->modules[found].state = MODULE_EVICTED;
	modules->modules[found].since_ns = now_ns;
	modules->stats.evicted++;
	snprintf(modules->message, sizeof(modules->message),
		 "unwind tables are at their bound of memory: dropped the one of %s, unused for longest",
		 modules->modules[found].name);
	return true;
}

/* With the lock held; releases it while it waits for freed cells to rest. */
static int cells_take(struct fperf_unwind_modules *modules, uint32_t count, uint32_t *first,
		      struct fperf_error *err)
{
	int rc;

	while (!modules->stopping) {
		uint64_t now_ns = fperf_clock__now_ns();
		struct timespec until;

		fperf_unwind_maps__settle(modules->maps, now_ns);
		rc = fperf_unwind_maps__take_cells(modules->maps, count, first, err);
		if (rc != -ENOSPC)
			return rc;
		if (!modules->maps->cells.resting_count && !evict_one(modules, now_ns))
			return rc;
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += FPERF_UNWIND_REST_NS / 2;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&modules->changed, &modules->lock, &until);
	}
	return fperf_error__set(err, -ECANCELED, "stopping");
}

/* With the lock held, which cells_take() may release. */
static int cells_store(struct fperf_unwind_modules *modules, const struct build *build, uint32_t *first,
		       struct fperf_error *err)
{
	uint32_t count = (uint32_t)build->cell_count;
	int rc = cells_take(modules, count, first, err);

	if (rc)
		return rc;
	rc = fperf_unwind_maps__write_cells(modules->maps, *first, build->cells, count, err);
	if (rc)
		fperf_unwind_maps__give_cells(modules->maps, *first, count, fperf_clock__now_ns());
	return rc;
}

/* With the lock held. */
static void module_publish(struct fperf_unwind_modules *modules, uint32_t slot, struct build *build)
{
	struct fperf_error err = {0};
	uint32_t first = 0;
	int rc = 0;

	if (build->state == MODULE_LOADED) {
		rc = cells_store(modules, build, &first, &err);
		if (rc)
			build->state = rc == -ENOSPC ? MODULE_EVICTED : MODULE_FAILED;
	}
	if (rc && rc != -ECANCELED)
		snprintf(modules->message, sizeof(modules->message), "no unwind table for %s: %.300s",
			 modules->modules[slot].name, err.text);
	if (build->state == MODULE_FAILED && build->why[0])
		snprintf(modules->message, sizeof(modules->message), "no unwind table for %s: %s",
			 modules->modules[slot].name, build->why);
	if (build->state == MODULE_LOADED) {
		build->module.index_cell += first;
		build->module.row_cell += first;
		build->module.state = FPERF_UNWIND_MODULE_LOADED;
		build->module.used_ns = fperf_clock__now_ns();
		modules->modules[slot].first = first;
		modules->modules[slot].count = (uint32_t)build->cell_count;
		modules->modules[slot].rows = build->rows;
		modules->stats.rows += build->rows;
		modules->stats.cells += build->cell_count;
		fperf_unwind_maps__set_module(modules->maps, slot, &build->module);
	} else if (build->state == MODULE_NO_ROWS) {
		build->module.state = FPERF_UNWIND_MODULE_NO_ROWS;
		fperf_unwind_maps__set_module(modules->maps, slot, &build->module);
	}
	modules->stats.built += build->state == MODULE_LOADED && !build->from_cache;
	modules->stats.from_cache += build->state == MODULE_LOADED && build->from_cache;
	modules->stats.without_rows += build->state == MODULE_NO_ROWS;
	modules->stats.failed += build->state == MODULE_FAILED;
	modules->modules[slot].state = build->state;
	modules->modules[slot].since_ns = fperf_clock__now_ns();
}

static bool module_wanted(const struct fperf_unwind_modules *modules, uint32_t slot)
{
	return modules->maps->modules[slot].used_ns && !modules->modules[slot].own;
}

/* With the lock held. What stacks have met comes first, and small files before large ones: a game is within a
 * few of its hundred modules nearly always, and must not wait for a compiler library that is mapped first,
 * nor for the recorder's own program, which is large when it is static. */
static uint32_t queue_take(struct fperf_unwind_modules *modules)
{
	size_t best = 0;
	uint32_t slot;

	for (size_t i = 1; i < modules->queue_count; i++) {
		uint32_t one = modules->queue[i], other = modules->queue[best];
		bool wanted = module_wanted(modules, one), other_wanted = module_wanted(modules, other);

		if (wanted == other_wanted
			    ? modules->modules[one].file_size < modules->modules[other].file_size
			    : wanted)
			best = i;
	}
	slot = modules->queue[best];
	modules->queue_count--;
	memmove(modules->queue + best, modules->queue + best + 1,
		(modules->queue_count - best) * sizeof(*modules->queue));
	return slot;
}

static void *modules_thread(void *context)
{
	struct fperf_unwind_modules *modules = context;

	pthread_mutex_lock(&modules->lock);
	while (!modules->stopping) {
		struct module module;
		struct build build;
		uint32_t slot;
		bool wanted;

		if (!modules->queue_count) {
			pthread_cond_wait(&modules->changed, &modules->lock);
			continue;
		}
		slot = queue_take(modules);
		if (!modules->modules[slot].users) { /* of an image before an exec: others are waited for */
			modules->modules[slot].state = MODULE_WAITING;
			continue;
		}
		module = modules->modules[slot]; /* stays as it is while it is queued */
		wanted = module_wanted(modules, slot);
		pthread_mutex_unlock(&modules->lock);
		/* a game that keeps all CPUs busy must not keep its own stacks from being whole */
		setpriority(PRIO_PROCESS, (id_t)gettid(), wanted ? 0 : BUILD_NICENESS);
		module_build(modules, &module, &build);
		pthread_mutex_lock(&modules->lock);
		if (!modules->stopping)
			module_publish(modules, slot, &build);
		modules->stats.build_ns = fperf_clock__thread_cpu_ns();
		free(build.cells);
	}
	pthread_mutex_unlock(&modules->lock);
	return NULL;
}

int fperf_unwind_modules__new(struct fperf_unwind_maps *maps, const char *cache_path, bool tables,
			      const struct fperf_log *log, struct fperf_unwind_modules **out,
			      struct fperf_error *err)
{
	struct fperf_unwind_modules *modules = calloc(1, sizeof(*modules));
	struct fperf_error no_cache = {0};
	pthread_condattr_t attr;
	struct stat own;
	int rc;

	if (!modules || !fperf_vec__push(&modules->modules, &modules->count, &modules->capacity)) {
		free(modules);
		return fperf_error__no_memory(err, "the list of unwind tables");
	}
	if (!stat("/proc/self/exe", &own)) {
		modules->own_device = own.st_dev;
		modules->own_inode = own.st_ino;
	}
	modules->modules[SLOT_MISSING].state = MODULE_FAILED;
	modules->modules[SLOT_MISSING].fd = -1;
	modules->maps = maps;
	modules->log = log;
	modules->tables = tables;
	if (tables && fperf_unwind_cache__open(cache_path, 0, &modules->cache, &no_cache))
		fperf_log__write(log, FPERF_LOG_DETAIL, "unwind tables are built anew: %s", no_cache.text);
	pthread_mutex_init(&modules->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&modules->changed, &attr);
	pthread_condattr_destroy(&attr);
	rc = pthread_create(&modules->thread, NULL, modules_thread, modules);
	if (rc) {
		pthread_cond_destroy(&modules->changed);
		pthread_mutex_destroy(&modules->lock);
		fperf_unwind_cache__close(modules->cache);
		free(modules->modules);
		free(modules);
		return fperf_error__set_errno(err, -rc, "cannot start the thread that builds unwind tables");
	}
	*out = modules;
	return 0;
}

static void module_close(struct module *module)
{
	if (module->fd >= 0)
		close(module->fd);
	free(module->image);
	*module = (struct module){.fd = -1};
}

void fperf_unwind_modules__free(struct fperf_unwind_modules *modules)
{
	if (!modules)
		return;
	pthread_mutex_lock(&modules->lock);
	modules->stopping = true;
	pthread_cond_broadcast(&modules->changed);
	pthread_mutex_unlock(&modules->lock);
	pthread_join(modules->thread, NULL);
	for (size_t slot = 0; slot < modules->count; slot++)
		module_close(&modules->modules[slot]);
	pthread_cond_destroy(&modules->changed);
	pthread_mutex_destroy(&modules->lock);
	fperf_unwind_cache__close(modules->cache);
	fperf_map__free(&modules->by_id);
	free(modules->modules);
	free(modules->queue);
	free(modules);
}

static void queue_push(struct fperf_unwind_modules *modules, uint32_t slot)
{
	uint32_t *place = fperf_vec__push(&modules->queue, &modules->queue_count, &modules->queue_capacity);

	modules->modules[slot].state = place ? MODULE_QUEUED : MODULE_FAILED;
	if (place)
		*place = slot;
	pthread_cond_signal(&modules->changed);
}

static int map_file_open(uint32_t pid, uint64_t start, uint64_t end)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", pid, (unsigned long long)start,
		 (unsigned long long)end);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

struct file_search {
	const struct fperf_capture_mapping *mapping;
	int fd;
};

static void same_file_open(void *context, const struct fperf_proc_mapping *found)
{
	struct file_search *search = context;

	if (search->fd < 0 && strcmp(found->path, search->mapping->path) == 0)
		search->fd = map_file_open(search->mapping->pid, found->start, found->end);
}

/* The mapped file itself, whatever has its name by now: by this mapping, or when its text was moved to
 * anonymous memory by another one of the file. */
static int mapped_file_open(const struct fperf_capture_mapping *mapping)
{
	struct file_search search = {mapping, map_file_open(mapping->pid, mapping->start, mapping->end)};
	struct fperf_error gone;

	if (search.fd < 0)
		fperf_proc__mappings(mapping->pid, same_file_open, &search, &gone);
	return search.fd;
}

/* The vDSO has no file: its image is copied from the process. */
static bool vdso_copy(const struct fperf_capture_mapping *mapping, struct module *module)
{
	size_t size = mapping->end - mapping->start;
	struct iovec local, remote;

	if (size > VDSO_MAX)
		return false;
	module->image = malloc(size);
	if (!module->image)
		return false;
	local = (struct iovec){module->image, size};
	remote = (struct iovec){(void *)(uintptr_t)mapping->start, size};
	module->image_size = size;
	return process_vm_readv((pid_t)mapping->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* A slot of which no mapping knows any more. */
static uint32_t slot_new(struct fperf_unwind_modules *modules)
{
	struct module *module;

	for (uint32_t slot = 1; slot < modules->count; slot++) {
		if (modules->modules[slot].state == MODULE_FREE)
			return slot;
	}
	if (modules->count >= FPERF_UNWIND_MODULES)
		return SLOT_MISSING;
	module = fperf_vec__push(&modules->modules, &modules->count, &modules->capacity);
	if (!module)
		return SLOT_MISSING;
	module->fd = -1;
	return (uint32_t)modules->count - 1;
}

static uint32_t module_add(struct fperf_unwind_modules *modules, const struct fperf_capture_mapping *mapping)
{
	struct module module = {.id = mapping->module, .fd = -1};
	struct fperf_unwind_module unused = {0};
	struct stat status;
	uint32_t slot;

	if (strcmp(mapping->path, "[vdso]") == 0) {
		if (!vdso_copy(mapping, &module)) {
			module_close(&module);
			return SLOT_MISSING;
		}
	} else {
		module.fd = mapped_file_open(mapping);
		if (module.fd <
		    0) /* the process is gone, or this is no file that can be opened: maybe the next time */
			return SLOT_MISSING;
	}
	module.file_size = module.image_size;
	if (module.fd >= 0 && !fstat(module.fd, &status)) {
		module.file_size = (uint64_t)status.st_size;
		module.own = status.st_dev == modules->own_device && status.st_ino == modules->own_inode;
	}
	snprintf(module.name, sizeof(module.name), "%s", mapping->path);
	slot = slot_new(modules);
	if (slot == SLOT_MISSING || fperf_map__set(&modules->by_id, mapping->module, slot)) {
		module_close(&module);
		return SLOT_MISSING;
	}
	fperf_unwind_maps__set_module(modules->maps, slot, &unused);
	modules->modules[slot] = module;
	if (modules->tables)
		queue_push(modules, slot);
	else
		modules->modules[slot].state = MODULE_NO_ROWS;
	return slot;
}

static bool is_file_backed(const struct fperf_capture_mapping *mapping)
{
	if (strcmp(mapping->path, "[vdso]") == 0)
		return true;
	return mapping->path[0] == '/' && mapping->path[1] != '/' &&
	       strncmp(mapping->path, "/dev/zero", 9) != 0 &&
	       strncmp(mapping->path, "/anon_hugepage", 14) != 0 && mapping->module;
}

uint32_t fperf_unwind_modules__get(struct fperf_unwind_modules *modules,
				   const struct fperf_capture_mapping *mapping)
{
	uint64_t known;
	uint32_t slot;

	if (!is_file_backed(mapping))
		return FPERF_UNWIND_NO_MODULE;
	pthread_mutex_lock(&modules->lock);
	slot = fperf_map__get(&modules->by_id, mapping->module, &known) ? (uint32_t)known
									: module_add(modules, mapping);
	modules->modules[slot].users++;
	if (modules->modules[slot].state == MODULE_WAITING)
		queue_push(modules, slot);
	pthread_mutex_unlock(&modules->lock);
	return slot;
}

void fperf_unwind_modules__retain(struct fperf_unwind_modules *modules, uint32_t slot)
{
	if (slot == FPERF_UNWIND_NO_MODULE)
		return;
	pthread_mutex_lock(&modules->lock);
	modules->modules[slot].users++;
	pthread_mutex_unlock(&modules->lock);
}

void fperf_unwind_modules__put(struct fperf_unwind_modules *modules, uint32_t slot)
{
	if (slot == FPERF_UNWIND_NO_MODULE)
		return;
	pthread_mutex_lock(&modules->lock);
	if (!--modules->modules[slot].users)
		modules->modules[slot].since_ns = fperf_clock__now_ns();
	pthread_mutex_unlock(&modules->lock);
}

/* With the lock held. */
static void module_release(struct fperf_unwind_modules *modules, uint32_t slot, uint64_t now_ns)
{
	module_unload(modules, slot, now_ns);
	fperf_map__remove(&modules->by_id, modules->modules[slot].id);
	module_close(&modules->modules[slot]);
}

void fperf_unwind_modules__poll(struct fperf_unwind_modules *modules, uint64_t now_ns)
{
	char message[sizeof(modules->message)];

	pthread_mutex_lock(&modules->lock);
	for (uint32_t slot = 1; slot < modules->count; slot++) {
		struct module *module = &modules->modules[slot];

		if (module->state == MODULE_FREE || module->state == MODULE_QUEUED)
			continue;
		if (!module->users && now_ns > module->since_ns + IDLE_NS)
			module_release(modules, slot, now_ns);
		else if (module->state == MODULE_EVICTED && module->users &&
			 now_ns > module->since_ns + RETRY_NS &&
			 modules->maps->modules[slot].used_ns > module->since_ns)
			queue_push(modules, slot);
	}
	fperf_unwind_maps__settle(modules->maps, now_ns);
	memcpy(message, modules->message, sizeof(message));
	modules->message[0] = '\0';
	pthread_mutex_unlock(&modules->lock);
	if (message[0])
		fperf_log__write(modules->log, FPERF_LOG_WARNING, "%s", message);
}

int fperf_unwind_modules__file(struct fperf_unwind_modules *modules, uint32_t slot, char *name, size_t size)
{
	int fd = -1;

	if (slot == FPERF_UNWIND_NO_MODULE)
		return -1;
	pthread_mutex_lock(&modules->lock);
	if (modules->modules[slot].fd >= 0) {
		fd = fcntl(modules->modules[slot].fd, F_DUPFD_CLOEXEC, 3);
		snprintf(name, size, "%s", modules->modules[slot].name);
	} else if (modules->modules[slot].image) {
		fd = memfd_create("vdso", MFD_CLOEXEC);
		if (fd >= 0 && write(fd, modules->modules[slot].image, modules->modules[slot].image_size) !=
				       (ssize_t)modules->modules[slot].image_size) {
			close(fd);
			fd = -1;
		}
		snprintf(name, size, "%s", modules->modules[slot].name);
	}
	pthread_mutex_unlock(&modules->lock);
	return fd;
}

void fperf_unwind_modules__stats(struct fperf_unwind_modules *modules,
				 struct fperf_unwind_modules_stats *stats)
{
	pthread_mutex_lock(&modules->lock);
	*stats = modules->stats;
	pthread_mutex_unlock(&modules->lock);
}
