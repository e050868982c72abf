/* Steps through a tree of DIEs that end on damaged data, too. */
#ifndef FPERF_SYMBOLIZE_DWARF_TREE_H
#define FPERF_SYMBOLIZE_DWARF_TREE_H

#include <elfutils/libdw.h>
#include <stdbool.h>

/* False when there is none. `child` may not be `die`. */
static inline bool fperf_dwarf_tree__child(Dwarf_Die *die, Dwarf_Die *child)
{
	return dwarf_child(die, child) == 0;
}

/* Moves on to the next sibling; false when there is none. Siblings follow in the file: damaged references
 * that go backwards would otherwise never end. */
static inline bool fperf_dwarf_tree__next(Dwarf_Die *die)
{
	const char *before = die->addr;

	return dwarf_siblingof(die, die) == 0 && (const char *)die->addr > before;
}

#endif
