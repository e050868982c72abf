/* Interned byte strings: equal bytes have equal ids. Id 0 is always the empty string. */
#ifndef FPERF_BASE_STRTAB_H
#define FPERF_BASE_STRTAB_H

#include <stddef.h>
#include <stdint.h>

struct fperf_strtab;

struct fperf_strtab *fperf_strtab__new(void); /* NULL when out of memory */
void fperf_strtab__free(struct fperf_strtab *tab);

/* The id of `size` bytes, interning them if new; any bytes are allowed. 0 for the empty string, and also when
 * out of memory or when 2^32 - 1 strings exist (the caller loses a name, nothing else). */
uint32_t fperf_strtab__intern(struct fperf_strtab *tab, const void *bytes, size_t size);

/* NUL-terminated copy owned by the table; "" for an id that does not exist. `size`, if not NULL, gets the
 * length. */
const char *fperf_strtab__get(const struct fperf_strtab *tab, uint32_t id, size_t *size);
uint32_t fperf_strtab__count(const struct fperf_strtab *tab); /* ids are 0 .. count - 1 */

#endif
