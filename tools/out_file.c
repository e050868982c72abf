#include "out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES (256u << 10)

/* The permissions that a new file gets, which mkstemp() does not give. */
static mode_t new_file_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

static int open_beside(struct fperf_out_file *file, struct fperf_error *err)
{
	int fd;

	if (asprintf(&file->unfinished, "%s.XXXXXX", file->path) < 0) {
		file->unfinished = NULL;
		return fperf_error__no_memory(err, "the output file");
	}
	fd = mkostemp(file->unfinished, O_CLOEXEC);
	if (fd >= 0) {
		file->stream = fdopen(fd, "w");
		if (file->stream && !fchmod(fd, new_file_mode()))
			return 0;
	}
	fperf_error__set_errno(err, -errno, "cannot create %s", file->path);
	if (fd >= 0)
		unlink(file->unfinished);
	if (file->stream)
		fclose(file->stream);
	else if (fd >= 0)
		close(fd);
	free(file->unfinished);
	file->unfinished = NULL;
	return err->code;
}

int fperf_out_file__open(struct fperf_out_file *file, const char *path, struct fperf_error *err)
{
	struct stat status;

	*file = (struct fperf_out_file){.path = path};
	if (!strcmp(path, "-")) {
		file->stream = stdout;
	} else if (!stat(path, &status) && !S_ISREG(status.st_mode)) {
		file->stream = fopen(path, "we");
		if (!file->stream)
			return fperf_error__set_errno(err, -errno, "cannot write %s", path);
	} else if (open_beside(file, err)) {
		return err->code;
	}
	setvbuf(file->stream, NULL, _IOFBF, BUFFER_BYTES);
	return 0;
}

int fperf_out_file__keep(struct fperf_out_file *file, struct fperf_error *err)
{
	int failed;

	if (file->stream == stdout)
		return fflush(stdout) ? fperf_error__set_errno(err, -errno, "cannot write the output") : 0;
	failed = ferror(file->stream);
	if (fclose(file->stream) || failed || (file->unfinished && rename(file->unfinished, file->path))) {
		fperf_error__set_errno(err, errno ? -errno : -EIO, "cannot write %s", file->path);
		if (file->unfinished)
			unlink(file->unfinished);
		free(file->unfinished);
		return err->code;
	}
	free(file->unfinished);
	return 0;
}

void fperf_out_file__discard(struct fperf_out_file *file)
{
	if (file->stream != stdout)
		fclose(file->stream);
	if (file->unfinished)
		unlink(file->unfinished);
	free(file->unfinished);
}
