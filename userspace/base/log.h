/* Messages from below tools/ go to a sink that the caller provides; nothing here prints. */
#ifndef FPERF_BASE_LOG_H
#define FPERF_BASE_LOG_H

enum fperf_log_level {
	FPERF_LOG_WARNING, /* the user loses something: always shown unless -q */
	FPERF_LOG_NOTE,	   /* what was chosen and why: shown by default */
	FPERF_LOG_DETAIL,  /* shown with -v */
};

struct fperf_log {
	void (*write)(void *context, enum fperf_log_level level, const char *line);
	void *context;
};

/* Formats one line (cut at 1024 bytes) and hands it to the sink. A NULL log or a NULL write drops it. */
void fperf_log__write(const struct fperf_log *log, enum fperf_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
