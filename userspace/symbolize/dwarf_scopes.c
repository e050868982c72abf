#include "symbolize/dwarf_scopes.h"

#include "base/buf.h"
#include "base/vec.h"
#include "symbolize/dwarf_tree.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES ((size_t)64 << 10)
#define DEPTH_MAX      64 /* scopes inside of each other */

void fperf_dwarf_scopes__free(struct fperf_dwarf_scopes *scopes)
{
	for (size_t i = 0; i < scopes->made_count; i++)
		free(scopes->made[i]);
	free(scopes->made);
	free(scopes->scopes);
	fperf_map__free(&scopes->units);
	fperf_map__free(&scopes->functions);
	fperf_map__free(&scopes->names);
	*scopes = (struct fperf_dwarf_scopes){0};
}

static bool is_scope(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_subprogram:
		return true;
	default:
		return false;
	}
}

static void scope_walk(struct fperf_dwarf_scopes *scopes, Dwarf_Die *die, size_t parent, int depth)
{
	Dwarf_Die child;

	if (depth > DEPTH_MAX || !fperf_dwarf_tree__child(die, &child))
		return;
	do {
		size_t scope = parent;

		/* What is inlined into a function declares nothing: whole trees are passed over. */
		if (!is_scope(&child) && dwarf_tag(&child) != DW_TAG_lexical_block)
			continue;
		if (dwarf_tag(&child) == DW_TAG_subprogram)
			fperf_map__set(&scopes->functions, (uintptr_t)child.addr, parent);
		if (is_scope(&child) && dwarf_haschildren(&child) > 0) {
			struct fperf_dwarf_scope *added =
				fperf_vec__push(&scopes->scopes, &scopes->count, &scopes->capacity);

			if (!added)
				return;
			*added = (struct fperf_dwarf_scope){child, parent};
			scope = scopes->count;
		}
		scope_walk(scopes, &child, scope, depth + 1);
	} while (fperf_dwarf_tree__next(&child));
}

static const char *scope_name(Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);

	if (name && *name)
		return name;
	return dwarf_tag(die) == DW_TAG_namespace ? "(anonymous namespace)" : "{unnamed}";
}

static char *name_join(const struct fperf_dwarf_scopes *scopes, size_t scope, const char *name)
{
	size_t path[DEPTH_MAX], depth = 0;
	struct fperf_buf text;

	for (; scope && depth < DEPTH_MAX; scope = scopes->scopes[scope - 1].parent)
		path[depth++] = scope;
	fperf_buf__init(&text, NAME_MAX_BYTES);
	while (depth--)
		fperf_buf__printf(&text, "%s::", scope_name(&scopes->scopes[path[depth] - 1].die));
	fperf_buf__append(&text, name, strlen(name) + 1);
	if (text.failed)
		fperf_buf__free(&text);
	return (char *)text.data;
}

const char *fperf_dwarf_scopes__qualify(struct fperf_dwarf_scopes *scopes, Dwarf_Die *declaration,
					const char *name)
{
	uint64_t key = (uintptr_t)declaration->addr, value;
	Dwarf_Die unit;
	char **made;

	if (fperf_map__get(&scopes->names, key, &value))
		return scopes->made[value - 1];
	if (!dwarf_diecu(declaration, &unit, NULL, NULL))
		return NULL;
	if (!fperf_map__get(&scopes->units, (uintptr_t)unit.addr, NULL)) {
		fperf_map__set(&scopes->units, (uintptr_t)unit.addr, 1);
		scope_walk(scopes, &unit, 0, 0);
	}
	if (!fperf_map__get(&scopes->functions, key, &value) || !value)
		return NULL;
	made = fperf_vec__push(&scopes->made, &scopes->made_count, &scopes->made_capacity);
	if (!made)
		return NULL;
	*made = name_join(scopes, value, name);
	if (!*made) {
		scopes->made_count--;
		return NULL;
	}
	fperf_map__set(&scopes->names, key, scopes->made_count);
	return *made;
}
