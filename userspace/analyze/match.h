/* Names that stay the same from build to build, so that what belongs together is compared. Internal to
 * analyze/. Each writes at most `size` bytes with the NUL, cut if longer. */
#ifndef FPERF_ANALYZE_MATCH_H
#define FPERF_ANALYZE_MATCH_H

#include <stddef.h>

/* What compilers append to the copies that they make of a function goes: "step.part.0", "step.isra.0.cold",
 * "step.llvm.123", "step(int) [clone .constprop.0]" are all "step…"; a hash of Rust's old mangling goes too.
 * A function without a name ("module+0x1234") is "(no name)": its address says nothing in another build. */
void fperf_match__function(const char *function, const char *module, char *name, size_t size);

/* Modules match by role and name: the program that was recorded is "(program)" whatever its file is called;
 * versions of shared libraries go ("libm.so.6.1" is "libm.so"). `exe` is the path of the program, may be "".
 */
void fperf_match__module(const char *module, const char *exe, char *name, size_t size);

/* "Worker 1" and "Worker 12" do the same work: every number becomes '#'. */
void fperf_match__thread(const char *thread, char *name, size_t size);

#endif
