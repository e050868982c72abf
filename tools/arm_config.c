#include "arm_config.h"

#include "base/clock.h"
#include "base/vec.h"
#include "record_options.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_BYTES     190 /* longer lines are cut by libinih */
#define WINDOW_NS      (30 * FPERF_NS_PER_S)
#define QUOTA	       20
#define QUOTA_SIZE     (1ull << 30)
#define TARGET_SECTION "target "

struct parsing {
	struct fperf_arm_config *config;
	struct fperf_record_config record; /* what the options of the current target make */
	char section[64];		   /* of the last entry */
	struct fperf_arm_target *target;   /* NULL: in [arm] */
	struct fperf_error why;		   /* of the first entry that is wrong */
	bool failed;
};

static int replace(char **slot, const char *value, struct fperf_error *err)
{
	free(*slot);
	*slot = strdup(value);
	return *slot ? 0 : fperf_error__no_memory(err, "the configuration");
}

static int set_directory(char **slot, const char *key, const char *value, struct fperf_error *err)
{
	if (value[0] != '/')
		return fperf_error__set(err, -EINVAL, "%s = %s: must be an absolute path", key, value);
	return replace(slot, value, err);
}

/* "30", "30s", "5min", "2h". */
static int parse_window(const char *value, uint64_t *ns, struct fperf_error *err)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = {{"", 1}, {"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}};
	char *end;
	double number;

	errno = 0;
	number = strtod(value, &end);
	while (*end == ' ')
		end++;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (end == value || errno || strcmp(end, units[i].unit))
			continue;
		number *= units[i].seconds;
		if (!(number >= 1 && number <= 7 * 86400.0))
			break;
		*ns = (uint64_t)(number * 1e9);
		return 0;
	}
	return fperf_error__set(err, -EINVAL, "window = %s: is no time from 1s to 168h, such as 30s or 5min",
				value);
}

/* "500M", "2G", or bytes. */
static int parse_size(const char *value, uint64_t *bytes, struct fperf_error *err)
{
	unsigned long long number;
	const char *units = "KMGT", *unit;
	char *end;

	errno = 0;
	number = strtoull(value, &end, 10);
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (isdigit((unsigned char)value[0]) && !errno && number && (!*end || (unit && !end[1]))) {
		unsigned int shift = unit ? 10 * (unsigned int)(unit - units + 1) : 0;

		*bytes = number << shift;
		if (*bytes >> shift == number)
			return 0;
	}
	return fperf_error__set(err, -EINVAL, "quota-size = %s: is no size such as 500M or 2G", value);
}

/* In [arm]. */
static int set_general(struct parsing *parsing, const char *key, const char *value, struct fperf_error *err)
{
	static const char *const keys[] = {"output", "state"};
	const char *nearest;

	if (!strcmp(key, "output"))
		return set_directory(&parsing->config->output, key, value, err);
	if (!strcmp(key, "state"))
		return set_directory(&parsing->config->state, key, value, err);
	nearest = fperf_nearest(key, keys, sizeof(keys) / sizeof(keys[0]));
	return fperf_error__set(err, -EINVAL, "[arm] has no '%s'%s%s%s", key,
				nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

/* Options of `record` that the watcher gives itself, or that make no sense without a user. */
static bool is_own_option(const char *name)
{
	static const char *const own[] = {"pid",     "name", "output",	"duration",
					  "as-root", "keep", "out-dir", "keep-size"};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strcmp(name, own[i]))
			return true;
	return false;
}

static int argument_add(struct fperf_arm_target *target, char *text, struct fperf_error *err)
{
	char **slot = text ? fperf_vec__push(&target->arguments, &target->argument_count,
					     &target->argument_capacity)
			   : NULL;

	if (!slot) {
		free(text);
		return fperf_error__no_memory(err, "the configuration");
	}
	*slot = text;
	return 0;
}

static int set_option(struct parsing *parsing, const struct fperf_option *option, const char *value,
		      struct fperf_error *err)
{
	bool on = !strcmp(value, "yes") || !strcmp(value, "true") || !strcmp(value, "on");
	struct fperf_error why = {0};
	char *text = NULL;

	if (!option->value && !on && strcmp(value, "no") && strcmp(value, "false") && strcmp(value, "off"))
		return fperf_error__set(err, -EINVAL, "%s = %s: is neither yes nor no", option->name, value);
	if (!option->value && !on)
		return 0;
	if (option->set(&parsing->record, option->value ? value : NULL, &why) < 0)
		return fperf_error__set(err, -EINVAL, "%s = %s: %s", option->name, value, why.text);
	if (option->value ? asprintf(&text, "--%s=%s", option->name, value) < 0
			  : asprintf(&text, "--%s", option->name) < 0)
		text = NULL;
	return argument_add(parsing->target, text, err);
}

/* A key of a target: its own ones, and every option of `record`. */
static int set_target(struct parsing *parsing, const char *key, const char *value, struct fperf_error *err)
{
	struct fperf_arm_target *target = parsing->target;
	const char *names[FPERF_RECORD_OPTIONS + 6] = {"name",	"exe",	      "window",
						       "quota", "quota-size", "output"};
	size_t count = 6;
	const char *nearest;

	if (!strcmp(key, "name"))
		return value[0] ? replace(&target->name, value, err)
				: fperf_error__set(err, -EINVAL, "name is empty");
	if (!strcmp(key, "exe"))
		return set_directory(&target->exe, key, value, err);
	if (!strcmp(key, "output"))
		return set_directory(&target->output, key, value, err);
	if (!strcmp(key, "window"))
		return parse_window(value, &target->window_ns, err);
	if (!strcmp(key, "quota"))
		return fperf_value__u32(value, 1, 100000, &target->quota, err) < 0
			       ? fperf_error__wrap(err, "quota")
			       : 0;
	if (!strcmp(key, "quota-size"))
		return parse_size(value, &target->quota_size, err);
	for (size_t i = 0; i < FPERF_RECORD_OPTIONS; i++) {
		const struct fperf_option *option = &fperf_record_options[i];

		if (is_own_option(option->name))
			continue;
		if (!strcmp(key, option->name))
			return set_option(parsing, option, value, err);
		names[count++] = option->name;
	}
	nearest = fperf_nearest(key, names, count);
	return fperf_error__set(err, -EINVAL, "a target has no '%s'%s%s%s", key,
				nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static void record_reset(struct parsing *parsing)
{
	fperf_record_config__free(&parsing->record);
	parsing->record = fperf_record_defaults;
}

static bool name_is_plain(const char *name)
{
	for (const char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("._-+", *at))
			return false;
	return name[0] && name[0] != '.' && strlen(name) < 40;
}

static int section_begin(struct parsing *parsing, const char *section, struct fperf_error *err)
{
	struct fperf_arm_config *config = parsing->config;
	const char *name = section + strlen(TARGET_SECTION);

	if (!strcmp(section, "arm")) {
		parsing->target = NULL;
		return 0;
	}
	if (strncmp(section, TARGET_SECTION, strlen(TARGET_SECTION)))
		return fperf_error__set(err, -EINVAL,
					section[0] ? "[%s] is neither [arm] nor [target NAME]"
						   : "%sstands before any section: begin with [arm]",
					section);
	if (!name_is_plain(name))
		return fperf_error__set(
			err, -EINVAL,
			"[%s]: the name may hold letters, digits, and ._-+, and begins sessions' names",
			section);
	for (size_t i = 0; i < config->target_count; i++) { /* once more; refused when all is read */
		if (strcmp(config->targets[i].section, name))
			continue;
		parsing->target = &config->targets[i];
		return 0;
	}
	if (config->target_count == FPERF_ARM_TARGETS)
		return fperf_error__set(err, -E2BIG, "there are more than %d targets", FPERF_ARM_TARGETS);
	parsing->target = fperf_vec__push(&config->targets, &config->target_count, &config->target_capacity);
	if (!parsing->target)
		return fperf_error__no_memory(err, "the configuration");
	*parsing->target = (struct fperf_arm_target){
		.window_ns = WINDOW_NS,
		.quota = QUOTA,
		.quota_size = QUOTA_SIZE,
	};
	record_reset(parsing);
	return replace(&parsing->target->section, name, err);
}

/* Of libinih: returns 0 for an entry that is wrong, which makes its line the result of the parse. */
static int entry(void *context, const char *section, const char *key, const char *value)
{
	struct parsing *parsing = context;
	int rc = 0;

	if (parsing->failed)
		return 1;
	if (!parsing->section[0] || strcmp(section, parsing->section)) {
		rc = section_begin(parsing, section, &parsing->why);
		snprintf(parsing->section, sizeof(parsing->section), "%s", section[0] ? section : " ");
	}
	if (!rc)
		rc = parsing->target ? set_target(parsing, key, value, &parsing->why)
				     : set_general(parsing, key, value, &parsing->why);
	if (!rc && parsing->target)
		rc = fperf_record_config__check_safe(&parsing->record, &parsing->why);
	parsing->failed = rc < 0;
	return rc < 0 ? 0 : 1;
}

/* Lines that libinih would take for something else. */
static int lines_check(const char *text, const char *path, struct fperf_error *err)
{
	unsigned int line = 1;

	for (const char *at = text; *at; line++) {
		size_t size = strcspn(at, "\n");

		if (size > LINE_BYTES)
			return fperf_error__set(err, -EINVAL, "%s:%u: the line is longer than %d bytes", path,
						line, LINE_BYTES);
		/* libinih would take it for more of the value before */
		if ((*at == ' ' || *at == '\t') && size > strspn(at, " \t\r") &&
		    !strchr(";#[", at[strspn(at, " \t")]))
			return fperf_error__set(err, -EINVAL, "%s:%u: the line begins with a space", path,
						line);
		at += size + (at[size] == '\n');
	}
	return 0;
}

/* The line in which a section begins for the first or second time, for what no entry of it tells; 0: none. */
static unsigned int section_line(const char *text, const char *section, int times)
{
	unsigned int line = 1;
	char header[96];

	snprintf(header, sizeof(header), "[" TARGET_SECTION "%s]", section);
	for (const char *at = text; *at; line++) {
		const char *from = at + strspn(at, " \t");
		size_t size = strcspn(at, "\n");

		if (!strncmp(from, header, strlen(header)) && !--times)
			return line;
		at += size + (at[size] == '\n');
	}
	return 0;
}

/* What no single entry tells. */
static int whole_check(const struct fperf_arm_config *config, const char *text, const char *path,
		       struct fperf_error *err)
{
	if (!config->target_count)
		return fperf_error__set(err, -EINVAL, "%s:1: there is no [target NAME]", path);
	for (size_t i = 0; i < config->target_count; i++) {
		const struct fperf_arm_target *target = &config->targets[i];
		unsigned int line = section_line(text, target->section, 1),
			     twice = section_line(text, target->section, 2);

		if (twice)
			return fperf_error__set(err, -EEXIST, "%s:%u: [target %s] is there twice", path,
						twice, target->section);
		if (!target->name && !target->exe)
			return fperf_error__set(err, -EINVAL,
						"%s:%u: [target %s] has neither a name nor an exe", path,
						line, target->section);
		if (!target->output && !config->output)
			return fperf_error__set(err, -EINVAL,
						"%s:%u: [target %s] has no output directory, nor has [arm]",
						path, line, target->section);
	}
	return 0;
}

int fperf_arm_config__parse(const char *text, const char *path, struct fperf_arm_config *config,
			    struct fperf_error *err)
{
	struct parsing parsing = {.config = config, .record = fperf_record_defaults};
	int rc, line;

	*config = (struct fperf_arm_config){0};
	rc = lines_check(text, path, err);
	if (!rc)
		rc = replace(&config->state, FPERF_ARM_STATE, err);
	if (!rc) {
		line = ini_parse_string(text, entry, &parsing);
		if (line)
			rc = fperf_error__set(err, -EINVAL, "%s:%d: %s", path, line > 0 ? line : 1,
					      parsing.failed ? parsing.why.text
							     : "is neither KEY = VALUE nor [SECTION]");
	}
	rc = rc ? rc : whole_check(config, text, path, err);
	fperf_record_config__free(&parsing.record);
	if (rc)
		fperf_arm_config__free(config);
	return rc;
}

static int file_check(int fd, const char *path, struct fperf_error *err)
{
	struct stat file;

	if (fstat(fd, &file))
		return fperf_error__set_errno(err, -errno, "cannot read %s", path);
	if (!S_ISREG(file.st_mode))
		return fperf_error__set(err, -EINVAL, "%s is no file", path);
	if ((file.st_uid && file.st_uid != geteuid()) || file.st_mode & (S_IWGRP | S_IWOTH))
		return fperf_error__set(
			err, -EPERM,
			"%s: others than its reader may write to it (owner %u, mode %o): chown "
			"root and chmod go-w it",
			path, (unsigned int)file.st_uid, (unsigned int)file.st_mode & 07777);
	if (file.st_size > FPERF_ARM_FILE_BYTES)
		return fperf_error__set(err, -EFBIG, "%s is larger than 1 MiB", path);
	return 0;
}

/* The whole text of a file, NUL-terminated; the caller frees it. */
static int file_read(const char *path, char **text, struct fperf_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;
	size_t used = 0;
	ssize_t got = 1;

	*text = calloc(1, FPERF_ARM_FILE_BYTES + 1);
	rc = fd < 0 ? fperf_error__set_errno(err, -errno, "cannot read %s", path) : file_check(fd, path, err);
	if (!rc && !*text)
		rc = fperf_error__no_memory(err, "the configuration");
	while (!rc && got > 0 && used < FPERF_ARM_FILE_BYTES) {
		got = read(fd, *text + used, FPERF_ARM_FILE_BYTES - used);
		if (got < 0)
			rc = fperf_error__set_errno(err, -errno, "cannot read %s", path);
		else
			used += (size_t)got;
	}
	if (!rc && strlen(*text) != used)
		rc = fperf_error__set(err, -EINVAL, "%s holds NUL bytes", path);
	if (fd >= 0)
		close(fd);
	return rc;
}

int fperf_arm_config__load(const char *path, struct fperf_arm_config *config, struct fperf_error *err)
{
	char *text;
	int rc = file_read(path, &text, err);

	rc = rc ? rc : fperf_arm_config__parse(text, path, config, err);
	free(text);
	return rc;
}

static int state_entry(void *context, const char *section, const char *key, const char *value)
{
	char **state = context;

	if (!strcmp(section, "arm") && !strcmp(key, "state") && value[0] == '/') {
		free(*state);
		*state = strdup(value);
	}
	return 1;
}

char *fperf_arm_config__state(const char *path)
{
	char *state = NULL, *text;
	struct fperf_error err;

	if (!file_read(path, &text, &err))
		ini_parse_string(text, state_entry, &state);
	free(text);
	return state ? state : strdup(FPERF_ARM_STATE);
}

void fperf_arm_config__free(struct fperf_arm_config *config)
{
	for (size_t i = 0; i < config->target_count; i++) {
		struct fperf_arm_target *target = &config->targets[i];

		for (size_t j = 0; j < target->argument_count; j++)
			free(target->arguments[j]);
		free(target->arguments);
		free(target->section);
		free(target->name);
		free(target->exe);
		free(target->output);
	}
	free(config->targets);
	free(config->output);
	free(config->state);
	*config = (struct fperf_arm_config){0};
}

const struct fperf_arm_target *fperf_arm_config__target(const struct fperf_arm_config *config,
							const char *section)
{
	for (size_t i = 0; i < config->target_count; i++)
		if (config->targets[i].section && !strcmp(config->targets[i].section, section))
			return &config->targets[i];
	return NULL;
}
