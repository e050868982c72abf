#include "capture/mark_set.h"

#include "base/vec.h"
#include "capture/mark_library.h"
#include "capture/mark_probe.h"
#include "elf/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More places than anybody watches; what a hostile target could make us attach ends here. */
#define MAX_SITES 128

/* A file that was looked at for a spec and does not have it. */
struct missing {
	size_t spec;
	struct fperf_file_id file;
};

/* A mount namespace and root directory that was looked through. */
struct view {
	struct fperf_file_id mounts, root;
};

struct fperf_mark_set {
	struct fperf_capture_context *context;
	enum fperf_source source;
	bool candidates;
	bool no_links; /* see struct fperf_mark_probe_options */
	struct fperf_mark_spec *specs;
	size_t spec_count, spec_capacity;
	struct fperf_mark_site **sites;
	size_t site_count, site_capacity;
	struct missing *missing;
	size_t missing_count, missing_capacity;
	struct view *views;
	size_t view_count, view_capacity;
	struct fperf_mark_probe **leaving; /* being detached */
	size_t leaving_count, leaving_capacity;
	char trouble[FPERF_ERROR_TEXT];
};

int fperf_mark_set__new(struct fperf_capture_context *context, enum fperf_source source, bool candidates,
			struct fperf_mark_set **out, struct fperf_error *err)
{
	struct fperf_mark_set *set;
	int pmu = fperf_mark_probe__pmu(err); /* without it, nothing of this can work */

	if (pmu < 0)
		return pmu;
	set = calloc(1, sizeof(*set));
	if (!set)
		return fperf_error__no_memory(err, "marks");
	set->context = context;
	set->source = source;
	set->candidates = candidates;
	*out = set;
	return 0;
}

static const char *site_name(const struct fperf_mark_spec *spec, const struct fperf_mark_site *site)
{
	if (spec->name)
		return spec->name;
	return *site->symbol ? site->symbol : spec->symbol ? spec->symbol : "";
}

static void marker_write(struct fperf_mark_set *set, const struct fperf_mark_site *site)
{
	const struct fperf_mark_spec *spec = &set->specs[site->spec];
	struct fperf_writer *writer = set->context->writer;
	struct fperf_rec_marker record = {
		.id = site->marker,
		.kind = spec->kind,
		.rank = spec->rank,
		.surface_arg = spec->surface_arg,
		.chosen = site->chosen,
		.name = fperf_writer__text(writer, site_name(spec, site)),
		.path = fperf_writer__text(writer, site->path),
		.symbol = fperf_writer__text(writer, site->symbol),
		.offset = site->offset,
		.note = fperf_writer__text(writer, site->note),
	};
	struct fperf_error err;

	/* A session file that can't be written is noticed, and told, by whoever flushes it. */
	(void)fperf_writer__add(writer, FPERF_RECORD_MARKER, &record, &err);
}

static void site_free(struct fperf_mark_site *site)
{
	if (!site)
		return;
	fperf_mark_probe__detach_finish(site->probe);
	if (site->fd >= 0)
		close(site->fd);
	free(site->path);
	free(site->symbol);
	free(site);
}

void fperf_mark_set__write(struct fperf_mark_set *set)
{
	for (size_t i = 0; i < set->site_count; i++)
		marker_write(set, set->sites[i]);
}

void fperf_mark_set__free(struct fperf_mark_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->site_count; i++)
		fperf_mark_probe__detach_begin(set->sites[i]->probe);
	for (size_t i = 0; i < set->leaving_count; i++)
		fperf_mark_probe__detach_finish(set->leaving[i]);
	free(set->leaving);
	for (size_t i = 0; i < set->site_count; i++) {
		marker_write(set, set->sites[i]);
		site_free(set->sites[i]);
	}
	free(set->sites);
	free(set->specs);
	free(set->missing);
	free(set->views);
	free(set);
}

int fperf_mark_set__add_spec(struct fperf_mark_set *set, const struct fperf_mark_spec *spec,
			     struct fperf_error *err)
{
	struct fperf_mark_spec *place = fperf_vec__push(&set->specs, &set->spec_count, &set->spec_capacity);

	if (!place)
		return fperf_error__no_memory(err, "marks");
	*place = *spec;
	return 0;
}

static bool same_file(const struct fperf_file_id *a, const struct fperf_file_id *b)
{
	return a->device == b->device && a->inode == b->inode;
}

static int probe_attach(struct fperf_mark_set *set, struct fperf_mark_site *site, struct fperf_error *err)
{
	struct fperf_mark_probe_options options = {
		.shared = set->context->shared,
		.source = set->source,
		.marker = site->marker,
		.is_candidate = set->candidates,
		.file_fd = site->fd,
		.offset = site->offset,
		.no_links = &set->no_links,
	};
	int result = fperf_mark_probe__attach(&options, &site->probe, err);

	return result ? fperf_error__wrap(err, "%s:%s", site->path, *site->symbol ? site->symbol : "offset")
		      : 0;
}

static int site_add(struct fperf_mark_set *set, size_t spec, int fd, const struct fperf_file_id *file,
		    const char *path, const char *symbol, uint64_t offset, struct fperf_error *err)
{
	struct fperf_mark_site **place, *site;
	int result;

	for (size_t i = 0; i < set->site_count; i++)
		if (same_file(&set->sites[i]->file, file) && set->sites[i]->offset == offset &&
		    set->specs[set->sites[i]->spec].kind == set->specs[spec].kind &&
		    (set->candidates || set->sites[i]->spec == spec))
			return 0;
	if (set->site_count >= MAX_SITES)
		return fperf_error__set(err, -ENOSPC, "%s: more than %d probes", path, MAX_SITES);
	site = calloc(1, sizeof(*site));
	if (!site)
		return fperf_error__no_memory(err, "a probe");
	site->path = strdup(path);
	site->symbol = strdup(symbol);
	site->marker = set->context->markers + 1;
	site->spec = spec;
	site->file = *file;
	site->offset = offset;
	site->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (!site->path || !site->symbol)
		result = fperf_error__no_memory(err, "a probe");
	else if (site->fd < 0)
		result = fperf_error__set_errno(err, -errno, "%s: dup", path);
	else
		result = probe_attach(set, site, err);
	if (!result) {
		place = fperf_vec__push(&set->sites, &set->site_count, &set->site_capacity);
		if (!place)
			result = fperf_error__no_memory(err, "a probe");
	}
	if (result) {
		site_free(site);
		return result;
	}
	*place = site;
	set->context->markers++;
	marker_write(set, site);
	fperf_log__write(set->context->log, FPERF_LOG_DETAIL, "probe %u: %s in %s, file offset 0x%llx",
			 site->marker, site_name(&set->specs[spec], site), path, (unsigned long long)offset);
	return 0;
}

static int code_check(const struct fperf_elf *elf, const char *path, uint64_t offset, struct fperf_error *err)
{
	const struct fperf_elf_segment *segments;
	size_t count;

	segments = fperf_elf__segments(elf, &count);
	for (size_t i = 0; i < count; i++)
		if (segments[i].flags & PF_X && offset >= segments[i].file_offset &&
		    offset - segments[i].file_offset < segments[i].file_size)
			return 0;
	return fperf_error__set(err, -EINVAL, "%s: no code at file offset 0x%llx", path,
				(unsigned long long)offset);
}

/* "+0xOFFSET" */
static int offset_parse(const struct fperf_elf *elf, const char *path, const char *text, uint64_t *offset,
			struct fperf_error *err)
{
	char *end;

	*offset = strtoull(text + 1, &end, 0);
	if (*end || end == text + 1)
		return fperf_error__set(err, -EINVAL, "%s: '%s' is no offset such as +0x1234", path, text);
	return code_check(elf, path, *offset, err);
}

static int place_find(const struct fperf_mark_spec *spec, int fd, const char *path, uint64_t *offset,
		      struct fperf_error *err)
{
	struct fperf_elf *elf;
	int result = fperf_elf__open_fd(fd, path, &elf, err);

	if (result)
		return result;
	if (spec->symbol[0] == '+')
		result = offset_parse(elf, path, spec->symbol, offset, err);
	else
		result = fperf_elf__find_function(elf, spec->symbol, offset, NULL, err);
	fperf_elf__close(elf);
	return result;
}

int fperf_mark_set__add_place(struct fperf_mark_set *set, size_t spec, uint32_t pid, const char *path,
			      const char *symbol, uint64_t offset, struct fperf_error *err)
{
	struct fperf_file_id file;
	struct fperf_elf *elf;
	int fd = fperf_view__open((pid_t)pid, path, &file, err), result;

	if (fd < 0)
		return fd;
	result = fperf_elf__open_fd(fd, path, &elf, err);
	if (!result) {
		result = code_check(elf, path, offset, err);
		fperf_elf__close(elf);
	}
	if (!result)
		result = site_add(set, spec, fd, &file, path, symbol, offset, err);
	close(fd);
	return result;
}

/* True when the file was looked at for this spec before. */
static bool is_known(const struct fperf_mark_set *set, size_t spec, const struct fperf_file_id *file)
{
	for (size_t i = 0; i < set->missing_count; i++)
		if (set->missing[i].spec == spec && same_file(&set->missing[i].file, file))
			return true;
	for (size_t i = 0; i < set->site_count; i++)
		if (set->sites[i]->spec == spec && same_file(&set->sites[i]->file, file))
			return true;
	return false;
}

/* Takes `fd`. */
static void file_try(struct fperf_mark_set *set, size_t index, int fd, const struct fperf_file_id *file,
		     const char *path)
{
	const struct fperf_mark_spec *spec = &set->specs[index];
	struct missing *missing;
	struct fperf_error err;
	uint64_t offset;
	int result;

	if (is_known(set, index, file)) {
		close(fd);
		return;
	}
	result = place_find(spec, fd, path, &offset, &err);
	if (!result)
		result = site_add(set, index, fd, file, path, spec->symbol[0] == '+' ? "" : spec->symbol,
				  offset, &err);
	close(fd);
	if (!result)
		return;
	missing = fperf_vec__push(&set->missing, &set->missing_count, &set->missing_capacity);
	if (missing)
		*missing = (struct missing){index, *file};
	if (spec->automatic && (result == -ENOENT || result == -ENOEXEC))
		return;
	snprintf(set->trouble, sizeof(set->trouble), "%s", err.text);
	fperf_log__write(set->context->log, FPERF_LOG_WARNING, "%s", err.text);
}

struct locating {
	struct fperf_mark_set *set;
	uint32_t pid;
	size_t spec;
};

static void path_try(void *context, const char *path)
{
	struct locating *locating = context;
	struct fperf_file_id file;
	struct fperf_error err;
	int fd = fperf_view__open((pid_t)locating->pid, path, &file, &err);

	if (fd >= 0)
		file_try(locating->set, locating->spec, fd, &file, path);
}

static bool view_is_new(struct fperf_mark_set *set, uint32_t pid)
{
	struct stat mounts, root;
	struct view view, *place;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
	if (stat(path, &mounts))
		return false;
	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	if (stat(path, &root))
		return false;
	view = (struct view){{mounts.st_dev, mounts.st_ino}, {root.st_dev, root.st_ino}};
	for (size_t i = 0; i < set->view_count; i++)
		if (same_file(&set->views[i].mounts, &view.mounts) &&
		    same_file(&set->views[i].root, &view.root))
			return false;
	place = fperf_vec__push(&set->views, &set->view_count, &set->view_capacity);
	if (place)
		*place = view;
	return place != NULL;
}

void fperf_mark_set__see_process(struct fperf_mark_set *set, uint32_t pid)
{
	if (!view_is_new(set, pid))
		return;
	for (size_t i = 0; i < set->spec_count; i++) {
		const struct fperf_mark_spec *spec = &set->specs[i];
		struct locating locating = {set, pid, i};

		if (!spec->symbol)
			continue;
		if (strchr(spec->path, '/'))
			path_try(&locating, spec->path);
		else if (!strpbrk(spec->path, "*?["))
			fperf_library__locate((pid_t)pid, spec->path, path_try, &locating);
	}
}

/* Is this what the spec means? An absolute path may lead to the mapped file through links, which keep or
 * shorten the file's name. */
static bool spec_suits(const struct fperf_mark_spec *spec, const struct fperf_capture_mapping *mapping)
{
	const char *slash = strrchr(spec->path, '/');

	return fperf_library__matches(mapping->path, slash ? slash + 1 : spec->path);
}

static bool path_leads_to(const struct fperf_mark_spec *spec, const struct fperf_capture_mapping *mapping,
			  const struct fperf_file_id *mapped)
{
	struct fperf_file_id file;
	struct fperf_error err;
	int fd;

	if (!strchr(spec->path, '/') || !strcmp(spec->path, mapping->path))
		return true;
	fd = fperf_view__open((pid_t)mapping->pid, spec->path, &file, &err);
	if (fd < 0)
		return false;
	close(fd);
	return same_file(&file, mapped);
}

/* The mapped file itself; by its path where the mapping is no longer as it was told. */
static int mapping_open(const struct fperf_capture_mapping *mapping, struct fperf_file_id *file)
{
	struct fperf_error err;
	int fd = fperf_view__open_mapping((pid_t)mapping->pid, mapping->start, mapping->end, file, &err);

	return fd >= 0 ? fd : fperf_view__open((pid_t)mapping->pid, mapping->path, file, &err);
}

static bool file_has_site(const struct fperf_mark_set *set, const struct fperf_file_id *file)
{
	for (size_t i = 0; i < set->site_count; i++)
		if (same_file(&set->sites[i]->file, file))
			return true;
	return false;
}

bool fperf_mark_set__see_mapping(struct fperf_mark_set *set, const struct fperf_capture_mapping *mapping)
{
	struct fperf_file_id file;
	int fd = -1;

	if (mapping->path[0] != '/')
		return false;
	for (size_t i = 0; i < set->spec_count; i++) {
		const struct fperf_mark_spec *spec = &set->specs[i];
		int own;

		if (!spec->symbol || !spec_suits(spec, mapping))
			continue;
		if (fd < 0)
			fd = mapping_open(mapping, &file);
		if (fd < 0)
			return false;
		if (is_known(set, i, &file) || !path_leads_to(spec, mapping, &file))
			continue;
		own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (own >= 0)
			file_try(set, i, own, &file, mapping->path);
	}
	if (fd < 0)
		return false;
	close(fd);
	return file_has_site(set, &file);
}

size_t fperf_mark_set__count(const struct fperf_mark_set *set)
{
	return set->site_count;
}

struct fperf_mark_site *fperf_mark_set__site(const struct fperf_mark_set *set, size_t index)
{
	return set->sites[index];
}

const struct fperf_mark_spec *fperf_mark_set__spec(const struct fperf_mark_set *set, size_t index)
{
	return &set->specs[index];
}

void fperf_mark_set__detach(struct fperf_mark_set *set, size_t index)
{
	struct fperf_mark_site *site = set->sites[index];
	struct fperf_mark_probe **place;

	if (!site->probe)
		return;
	fperf_mark_probe__detach_begin(site->probe);
	place = fperf_vec__push(&set->leaving, &set->leaving_count, &set->leaving_capacity);
	if (place)
		*place = site->probe;
	else
		fperf_mark_probe__detach_finish(site->probe);
	site->probe = NULL;
}

int fperf_mark_set__attach(struct fperf_mark_set *set, size_t index, struct fperf_error *err)
{
	struct fperf_mark_site *site = set->sites[index];

	return site->probe ? 0 : probe_attach(set, site, err);
}

bool fperf_mark_set__attach_in(struct fperf_mark_set *set, const char *path)
{
	bool any = false;

	for (size_t i = 0; i < set->site_count; i++) {
		const char *slash = strrchr(set->sites[i]->path, '/');
		struct fperf_error err;

		if (set->sites[i]->probe ||
		    !fperf_library__matches(path, slash ? slash + 1 : set->sites[i]->path))
			continue;
		any = true;
		if (fperf_mark_set__attach(set, i, &err))
			fperf_log__write(set->context->log, FPERF_LOG_WARNING, "%s", err.text);
	}
	return any;
}

static bool spec_has_site(const struct fperf_mark_set *set, size_t spec)
{
	for (size_t i = 0; i < set->site_count; i++)
		if (set->sites[i]->spec == spec)
			return true;
	return false;
}

void fperf_mark_set__tell_missing(struct fperf_mark_set *set)
{
	struct fperf_rec_source record = {.source = set->source, .state = FPERF_SOURCE_STATE_FAILED};
	struct fperf_error err;

	for (size_t i = 0; i < set->spec_count; i++) {
		const struct fperf_mark_spec *spec = &set->specs[i];

		if (spec->automatic || spec_has_site(set, i))
			continue;
		fperf_log__write(set->context->log, FPERF_LOG_WARNING, "%s:%s: no probe was attached: %s",
				 spec->path, spec->symbol,
				 *set->trouble ? set->trouble : "no process of the target mapped the file");
	}
	if (set->site_count)
		return;
	record.reason = fperf_writer__text(
		set->context->writer, *set->trouble ? set->trouble : "nothing that was asked for was mapped");
	(void)fperf_writer__add(set->context->writer, FPERF_RECORD_SOURCE, &record, &err);
}
