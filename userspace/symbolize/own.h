/* Which modules are the target's own: the code that its developers can change. See docs/symbols.md. */
#ifndef FPERF_SYMBOLIZE_OWN_H
#define FPERF_SYMBOLIZE_OWN_H

#include <stdbool.h>
#include <stddef.h>

/* By the path of a file module, as the target sees it. `programs` are the paths of the target's program
 * files, which are its own wherever they lie. */
bool fperf_own__path(const char *path, const char *const *programs, size_t program_count);

/* By the name of a JIT-compiled function: a game's scripts are its own, shaders that a software renderer
 * compiled are not. */
bool fperf_own__jit_name(const char *name);

#endif
