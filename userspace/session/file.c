#include "session/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESERVE_BYTES	((off_t)64 << 10)
#define CREATE_ATTEMPTS 8

/* Takes a regular file out of the way. What it holds is lost only once the new file is wanted: the caller
 * creates it right after. */
static int path_clear(const char *path, struct fperf_error *err)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : fperf_error__set_errno(err, -errno, "%s", path);
	if (S_ISLNK(st.st_mode))
		return fperf_error__set(err, -ELOOP,
					"%s is a symbolic link: sessions are not written through links, give "
					"the path that is meant",
					path);
	if (!S_ISREG(st.st_mode))
		return fperf_error__set(err, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL,
					"%s exists and is no regular file: give another path", path);
	if (unlink(path) && errno != ENOENT)
		return fperf_error__set_errno(err, -errno, "%s exists and cannot be replaced", path);
	return 0;
}

int fperf_file__create(struct fperf_file *file, const char *path, uid_t uid, gid_t gid,
		       struct fperf_error *err)
{
	int ret = 0;

	*file = (struct fperf_file){.fd = -1, .path = strdup(path)};
	if (!file->path)
		return fperf_error__no_memory(err, "the path of the session file");
	for (int attempt = 0; !ret && file->fd < 0; attempt++) {
		ret = path_clear(path, err);
		if (ret)
			break;
		file->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (file->fd < 0 && (errno != EEXIST || attempt == CREATE_ATTEMPTS))
			ret = fperf_error__set_errno(err, -errno, "cannot create the session file %s", path);
	}
	if (!ret && (uid != (uid_t)-1 || gid != (gid_t)-1) && fchown(file->fd, uid, gid))
		ret = fperf_error__set_errno(err, -errno, "cannot give %s to its owner", path);
	if (ret) {
		if (file->fd >= 0)
			close(file->fd);
		free(file->path);
		*file = (struct fperf_file){.fd = -1};
	}
	return ret;
}

/* Makes sure that after this piece there is still room for a proper end. */
static int reserve(struct fperf_file *file, size_t size)
{
	int ret;

	if (file->max_size && (uint64_t)file->size + size + (uint64_t)RESERVE_BYTES > file->max_size)
		return -ENOSPC;
	if (file->no_reserve)
		return 0;
	do
		ret = fallocate(file->fd, FALLOC_FL_KEEP_SIZE, (off_t)file->size,
				(off_t)size + RESERVE_BYTES);
	while (ret && errno == EINTR);
	if (!ret)
		return 0;
	if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
		return -errno;
	file->no_reserve = true;
	return 0;
}

static int write_all(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t done = write(fd, bytes, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? -errno : -EIO;
		bytes += done;
		size -= (size_t)done;
	}
	return 0;
}

int fperf_file__append(struct fperf_file *file, const void *bytes, size_t size, bool last,
		       struct fperf_error *err)
{
	int ret = last ? 0 : reserve(file, size);

	if (!ret) {
		ret = write_all(file->fd, bytes, size);
		/* A piece that is there in part would be read as damage. Where even cutting it off fails, the
		 * reader passes over it. */
		if (ret && !ftruncate(file->fd, (off_t)file->size))
			lseek(file->fd, (off_t)file->size, SEEK_SET);
	}
	if (ret)
		return fperf_error__set_errno(err, ret,
					      "cannot write to the session file %s after %" PRIu64 " bytes",
					      file->path, file->size);
	file->size += size;
	return 0;
}

int fperf_file__sync(struct fperf_file *file, struct fperf_error *err)
{
	if (fdatasync(file->fd) && errno != EINVAL)
		return fperf_error__set_errno(err, -errno, "cannot flush %s to the disk", file->path);
	return 0;
}

int fperf_file__close(struct fperf_file *file, struct fperf_error *err)
{
	int ret = 0;

	/* Blocks beyond the end go back only when the length is set, even to what it is. */
	if (ftruncate(file->fd, (off_t)file->size))
		ret = fperf_error__set_errno(err, -errno, "cannot cut %s to its length", file->path);
	if (close(file->fd) && errno != EINTR && !ret)
		ret = fperf_error__set_errno(err, -errno, "cannot close %s", file->path);
	free(file->path);
	*file = (struct fperf_file){.fd = -1};
	return ret;
}

static int sink_chunk(void *self, const struct fperf_chunk_header *header, const uint8_t *bytes, size_t size,
		      bool last, struct fperf_error *err)
{
	(void)header;
	return fperf_file__append(self, bytes, size, last, err);
}

static int sink_sync(void *self, struct fperf_error *err)
{
	return fperf_file__sync(self, err);
}

static int sink_close(void *self, struct fperf_error *err)
{
	return fperf_file__close(self, err);
}

static uint64_t sink_bytes(const void *self)
{
	return ((const struct fperf_file *)self)->size;
}

struct fperf_sink fperf_file__sink(struct fperf_file *file)
{
	static const struct fperf_sink_ops ops = {
		.chunk = sink_chunk, .sync = sink_sync, .close = sink_close, .bytes = sink_bytes};

	return (struct fperf_sink){.ops = &ops, .self = file, .name = file->path};
}
