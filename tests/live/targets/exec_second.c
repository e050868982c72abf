#include "spin.h"

NOINLINE uint64_t fn_b(void)
{
	return spin_ns(1000000000ull);
}

int main(void)
{
	fn_b();
	return 0;
}
