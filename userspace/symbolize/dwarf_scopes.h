/* In which namespaces, classes and functions the functions of compile units stand: for those that have no
 * linkage name. Runs in the worker process, like dwarf_reader.c. */
#ifndef FPERF_SYMBOLIZE_DWARF_SCOPES_H
#define FPERF_SYMBOLIZE_DWARF_SCOPES_H

#include "base/map.h"

#include <elfutils/libdw.h>
#include <stddef.h>

struct fperf_dwarf_scope {
	Dwarf_Die die;
	size_t parent; /* index + 1, 0: none */
};

/* A zeroed struct is empty. */
struct fperf_dwarf_scopes {
	struct fperf_dwarf_scope *scopes;
	size_t count, capacity;
	struct fperf_map units;	    /* unit (address of its DIE) that has been walked */
	struct fperf_map functions; /* address of a function's DIE to index + 1 of its scope */
	struct fperf_map names;	    /* address of a function's DIE to index + 1 in `made` */
	char **made;
	size_t made_count, made_capacity;
};

void fperf_dwarf_scopes__free(struct fperf_dwarf_scopes *scopes);

/* "scope::scope::name" for the function whose declaration is `declaration`; NULL when it stands in no scope.
 * Each unit is walked once, when it is first asked for. The string lives as long as the scopes. */
const char *fperf_dwarf_scopes__qualify(struct fperf_dwarf_scopes *scopes, Dwarf_Die *declaration,
					const char *name);

#endif
