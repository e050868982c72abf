#include "capture/jit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_MAP_BYTES ((uint64_t)256 << 20) /* of one process; about four million functions */
#define MAX_LINE      65536

/* Hexadecimal digits at *pos, after blanks; false when there are none or more than 64 bits of them. */
static bool parse_hex(const char **pos, const char *end, uint64_t *value)
{
	const char *at = *pos, *digits;

	*value = 0;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		at += 2;
	for (digits = at; at < end; at++) {
		unsigned char c = (unsigned char)*at;
		unsigned digit = c >= '0' && c <= '9' ? c - (unsigned)'0' : (c | 32u) - 'a' + 10;

		if (digit > 15)
			break;
		if (*value >> 60)
			return false;
		*value = *value << 4 | digit;
	}
	*pos = at;
	return at > digits && at < end && (*at == ' ' || *at == '\t');
}

bool fperf_jit__parse_line(const char *line, size_t size, struct fperf_jit_line *parsed)
{
	const char *pos = line, *end = line + size;

	if (end > pos && end[-1] == '\r')
		end--;
	if (!parse_hex(&pos, end, &parsed->address) || !parse_hex(&pos, end, &parsed->size))
		return false;
	while (pos < end && (*pos == ' ' || *pos == '\t'))
		pos++;
	parsed->name = pos;
	parsed->name_size = (size_t)(end - pos);
	if (parsed->name_size > FPERF_JIT_NAME_MAX)
		parsed->name_size = FPERF_JIT_NAME_MAX;
	return parsed->name_size && parsed->address && parsed->size &&
	       parsed->address + parsed->size > parsed->address;
}

struct reading {
	struct fperf_jit_map *map;
	void (*take)(void *context, const struct fperf_jit_line *line);
	void *context;
	int64_t taken;
};

static void take_line(struct reading *reading, const char *line, size_t size)
{
	struct fperf_jit_line parsed;

	if (!size)
		return;
	if (fperf_jit__parse_line(line, size, &parsed)) {
		reading->map->lines++;
		reading->taken++;
		reading->take(reading->context, &parsed);
	} else {
		reading->map->bad++;
	}
}

/* Hands out the whole lines in `data` and returns how many bytes they take. A line that does not even fit
 * into the buffer is passed over. */
static size_t take_lines(struct reading *reading, const char *data, size_t size, bool last)
{
	size_t pos = 0;

	while (pos < size) {
		const char *newline = memchr(data + pos, '\n', size - pos);

		if (!newline) {
			if (!last && size - pos < MAX_LINE)
				return pos;
			take_line(reading, data + pos, size - pos);
			return size;
		}
		take_line(reading, data + pos, (size_t)(newline - data) - pos);
		pos = (size_t)(newline - data) + 1;
	}
	return pos;
}

int64_t fperf_jit__read(struct fperf_jit_map *map, int fd, bool final,
			void (*take)(void *context, const struct fperf_jit_line *line), void *context,
			struct fperf_error *err)
{
	struct reading reading = {map, take, context, 0};
	int64_t result = 0;
	struct stat stat;
	char *data;

	if (fstat(fd, &stat))
		return fperf_error__set_errno(err, -errno, "perf map: fstat");
	if (stat.st_dev != map->device || stat.st_ino != map->inode || (uint64_t)stat.st_size < map->offset)
		*map = (struct fperf_jit_map){.device = stat.st_dev, .inode = stat.st_ino, .bad = map->bad};
	if ((uint64_t)stat.st_size == map->offset)
		return 0;
	data = malloc(MAX_LINE);
	if (!data)
		return fperf_error__no_memory(err, "a perf map");
	while (map->offset < MAX_MAP_BYTES) {
		ssize_t got = pread(fd, data, MAX_LINE, (off_t)map->offset);
		size_t used;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			result = fperf_error__set_errno(err, -errno, "perf map: read");
		if (got <= 0)
			break;
		used = take_lines(&reading, data, (size_t)got, final && got < MAX_LINE);
		map->offset += used;
		if (!used)
			break;
	}
	map->given_up = map->offset >= MAX_MAP_BYTES;
	free(data);
	return result ? result : reading.taken;
}
