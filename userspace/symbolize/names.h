/* From the names that files carry to the names that people read. */
#ifndef FPERF_SYMBOLIZE_NAMES_H
#define FPERF_SYMBOLIZE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Longest function, module or file name that is passed on; longer ones are cut and marked with a hash of the
 * whole, so that two of them stay different. Bytes. */
#define FPERF_NAME_MAX 4096

/* Length of `name` without symbol version ("@VER", "@@VER") and without the suffixes that compilers give to
 * clones and fragments of a function (".cold", ".part.0", ".constprop.1", ".isra.2", ".lto_priv.0",
 * ".llvm.123", ".0", …), so that they count as their function. */
size_t fperf_names__base_size(const char *name);

/* A printable copy of at most FPERF_NAME_MAX bytes: control characters and bytes that are no UTF-8 become
 * \xNN. malloc()ed; NULL when out of memory. */
char *fperf_names__printable(const char *name, size_t size);

/* Mangled or demangled name of the C++ or Rust standard library (std::, __gnu_cxx::, core::, alloc::,
 * operator new, …): code that belongs to the language, wherever it was compiled into. */
bool fperf_names__is_language_runtime(const char *mangled);

#endif
