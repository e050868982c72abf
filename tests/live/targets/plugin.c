/* Built as a shared library without frame pointers. */
#include "spin.h"

uint64_t plugin_work(uint64_t ns);

NOINLINE uint64_t plugin_inner(uint64_t ns)
{
	return spin_ns(ns) + 1;
}

NOINLINE uint64_t plugin_work(uint64_t ns)
{
	return plugin_inner(ns) + 1;
}
