#include "symbolize/symbolize.h"

#include "base/buf.h"

#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* C++ names: the library's own limit on recursion also refuses names longer than 1024 bytes, which templates
 * reach easily. It stays on for short names. Longer ones are demangled without it, on a stack that is large
 * enough for whatever their length allows: every step of that parser takes at least a byte of input. The one
 * for Rust follows references backwards, again and again, so its limit stays on always; it knows no limit of
 * length.
 */
#define DIRECT_MAX     (DEMANGLE_RECURSION_LIMIT / 2)
#define INPUT_MAX      ((size_t)16 << 10)
#define OUTPUT_MAX     ((size_t)64 << 10) /* substitutions can double a name again and again */
#define STACK_BASE     ((size_t)2 << 20)
#define STACK_PER_BYTE ((size_t)2 << 10) /* measured over repetitive names: at most 0.43 KiB */
#define OPTIONS	       (DMGL_PARAMS | DMGL_ANSI | DMGL_RET_DROP) /* a type in front hides the name */

struct demangling {
	const char *name;
	int options;
	struct fperf_buf out;
	jmp_buf stop; /* leaves the library when the output is too long */
	bool done;
};

static void piece_take(const char *text, size_t size, void *context)
{
	struct demangling *demangling = context;

	fperf_buf__append(&demangling->out, text, size);
	if (demangling->out.failed)
		longjmp(demangling->stop, 1);
}

typedef int (*demangler)(const char *name, int options, demangle_callbackref callback, void *context);

static void demangling_run(struct demangling *demangling, demangler callback)
{
	fperf_buf__clear(&demangling->out);
	if (!setjmp(demangling->stop))
		demangling->done = callback(demangling->name, demangling->options, piece_take, demangling);
}

static void *demangling_thread(void *context)
{
	demangling_run(context, cplus_demangle_v3_callback);
	return NULL;
}

static void demangling_run_deep(struct demangling *demangling, size_t size)
{
	pthread_attr_t attributes;
	pthread_t thread;

	demangling->options |= DMGL_NO_RECURSE_LIMIT;
	if (pthread_attr_init(&attributes))
		return;
	if (!pthread_attr_setstacksize(&attributes, STACK_BASE + size * STACK_PER_BYTE) &&
	    !pthread_create(&thread, &attributes, demangling_thread, demangling))
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

char *fperf_demangle(const char *name)
{
	size_t size = strlen(name);
	struct demangling demangling = {.name = name, .options = OPTIONS};

	if (size > INPUT_MAX || (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0))
		return strdup(name);
	fperf_buf__init(&demangling.out, OUTPUT_MAX);
	demangling_run(&demangling, rust_demangle_callback); /* its older names are valid C++ names, too */
	if (!demangling.done && size <= DIRECT_MAX)
		demangling_run(&demangling, cplus_demangle_v3_callback);
	else if (!demangling.done)
		demangling_run_deep(&demangling, size);
	if (demangling.done)
		fperf_buf__u8(&demangling.out, 0);
	if (!demangling.done || demangling.out.failed || demangling.out.size < 2) {
		fperf_buf__free(&demangling.out);
		return strdup(name);
	}
	return (char *)demangling.out.data;
}
