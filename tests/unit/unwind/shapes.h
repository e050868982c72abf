/* Functions whose stack frames are hard to unwind; run in a process of their own, forever. */
#ifndef TESTS_UNWIND_SHAPES_H
#define TESTS_UNWIND_SHAPES_H

void shapes_once(void);

#endif
