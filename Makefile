# frameperf: see README.md. `make help` lists the targets.
# ARCH=arm64: a cross build, with libraries that tests/vm/fetch-sysroot.sh has fetched into SYSROOT.
ifeq ($(ARCH),arm64)
CC       := aarch64-linux-gnu-gcc
SYSROOT  ?= $(shell tests/vm/fetch-sysroot.sh)
override ARCH := aarch64
endif
CC       ?= cc
CLANG    ?= clang
BPFTOOL  ?= bpftool
BUILD    ?= build
SANITIZE ?=
STATIC   ?=
PREFIX   ?= /usr/local

ifndef ARCH
ARCH     := $(shell $(CC) -dumpmachine | sed -e 's/-.*//')
endif
BPF_ARCH := $(if $(filter aarch64,$(ARCH)),arm64,x86)

warnings := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
comma    := ,
sanitize := $(if $(SANITIZE),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined)
CFLAGS   ?= -O2 -g
all_cflags  = -std=c17 -D_GNU_SOURCE $(warnings) $(CFLAGS) $(sanitize) -fno-omit-frame-pointer -fno-strict-aliasing \
	      -ffp-contract=off \
	      -Iinclude -Iuserspace -I$(BUILD)/skeleton -MMD -MP $(if $(SYSROOT),-isystem $(SYSROOT)/usr/include)
all_ldflags = $(LDFLAGS) $(sanitize) $(if $(STATIC),-static) $(if $(SYSROOT),-L$(SYSROOT)/usr/lib/aarch64-linux-gnu)
libs        = -lbpf -ldw -lelf -lzstd -lz -llzma $(if $(STATIC),-lbz2) -ljansson -linih -liberty -lpthread -lm
bpf_cflags  = -O2 -g -std=gnu11 -target bpf -D__TARGET_ARCH_$(BPF_ARCH) -Wall -Wextra -Werror \
	      -Wno-unused-parameter -Wno-missing-declarations -Iinclude -Ivmlinux -Ibpf

# One BPF object and skeleton per concern: each loads, and fails, alone.
bpf_sources := $(wildcard bpf/*.bpf.c)
bpf_objects := $(bpf_sources:bpf/%.bpf.c=$(BUILD)/bpf/%.bpf.o)
skeletons   := $(bpf_sources:bpf/%.bpf.c=$(BUILD)/skeleton/%.skel.h)

lib_sources  := $(wildcard userspace/*/*.c)
lib_objects  := $(lib_sources:%.c=$(BUILD)/%.o)
tool_sources := $(wildcard tools/*.c)
tool_objects := $(tool_sources:%.c=$(BUILD)/%.o)
unit_sources := $(wildcard tests/unit/*/*.c tests/unit/*.c)
unit_objects := $(unit_sources:%.c=$(BUILD)/%.o)

.PHONY: all
all: $(BUILD)/frameperf

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h vmlinux/*.h include/frameperf/*.h)
	@mkdir -p $(@D)
	$(CLANG) $(bpf_cflags) -c $< -o $@

$(BUILD)/skeleton/%.skel.h: $(BUILD)/bpf/%.bpf.o
	@mkdir -p $(@D)
	$(BPFTOOL) gen skeleton $< name $*_bpf > $@.tmp && mv $@.tmp $@

$(BUILD)/%.o: %.c | $(skeletons)
	@mkdir -p $(@D)
	$(CC) $(all_cflags) -c $< -o $@

# The page of `report --html`. Without Node, or when npm cannot fetch what the page is made of, the file is empty and
# everything else works.
page_sources := $(wildcard userspace/output/page/*.* userspace/output/page/src/*)
$(BUILD)/page/index.html: $(page_sources)
	@mkdir -p $(@D)
	@sh userspace/output/page/build.sh $(abspath $@) || touch -d @0 $@
$(BUILD)/userspace/output/html_page.o: $(BUILD)/page/index.html
$(BUILD)/userspace/output/html_page.o: all_cflags += -DFPERF_PAGE_FILE='"$(abspath $(BUILD)/page/index.html)"'

$(BUILD)/libframeperf.a: $(lib_objects)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/frameperf: $(tool_objects) $(BUILD)/libframeperf.a
	$(CC) $(all_ldflags) $^ $(libs) -o $@

$(BUILD)/unit-tests: $(unit_objects) $(BUILD)/libframeperf.a
	$(CC) $(all_ldflags) $^ $(libs) -lcriterion -o $@

# Of every object, also those of single test and benchmark programs.
-include $(wildcard $(BUILD)/*/*.d $(BUILD)/*/*/*.d $(BUILD)/*/*/*/*.d)

.PHONY: unit
unit: $(BUILD)/unit-tests ## unit tests (Criterion); UNIT="--filter session/*" narrows
	$(BUILD)/unit-tests -j2 $(UNIT)

# Small programs that the live tests record.
target_sources := $(wildcard tests/live/targets/*.c)
targets        := $(patsubst tests/live/targets/%.c,$(BUILD)/targets/%,$(filter-out %/plugin.c,$(target_sources))) $(BUILD)/targets/plugin.so
$(BUILD)/targets/%: tests/live/targets/%.c tests/live/targets/spin.h
	@mkdir -p $(@D)
	$(CC) -std=gnu17 -D_GNU_SOURCE -O2 -g -fno-omit-frame-pointer $(filter-out -Wmissing-prototypes,$(warnings)) -pthread $< -ldl -o $@
$(BUILD)/targets/plugin.so: tests/live/targets/plugin.c tests/live/targets/spin.h
	@mkdir -p $(@D)
	$(CC) -std=gnu17 -O2 -g -fomit-frame-pointer -fPIC -shared $(filter-out -Wmissing-prototypes,$(warnings)) $< -o $@

# A program built like a game that injects known faults, as games are built: without frame pointers and with.
workload_sources := $(wildcard tests/workloads/game*.c)
workloads        := $(BUILD)/workloads/game-fp $(BUILD)/workloads/game-nofp $(BUILD)/workloads/stall
workload_flags    = -std=gnu17 -D_GNU_SOURCE -O2 -g -fno-optimize-sibling-calls -rdynamic -pthread \
		    $(filter-out -Wmissing-prototypes,$(warnings))
$(BUILD)/workloads/game-fp: $(workload_sources) tests/workloads/game.h
	@mkdir -p $(@D)
	$(CC) $(workload_flags) -fno-omit-frame-pointer $(workload_sources) -o $@
$(BUILD)/workloads/game-nofp: $(workload_sources) tests/workloads/game.h
	@mkdir -p $(@D)
	$(CC) $(workload_flags) -fomit-frame-pointer $(workload_sources) -o $@

# What makes runs of the workload, or of a game that nobody rebuilds, slower in known ways.
slowers := $(BUILD)/workloads/hog $(BUILD)/workloads/slower.so
$(BUILD)/workloads/hog: tests/workloads/hog.c
	@mkdir -p $(@D)
	$(CC) -std=gnu17 -D_GNU_SOURCE -O2 $(warnings) $< -o $@
$(BUILD)/workloads/slower.so: tests/workloads/slower.c
	@mkdir -p $(@D)
	$(CC) -std=gnu17 -D_GNU_SOURCE -O2 -g -fPIC -shared $(filter-out -Wmissing-prototypes,$(warnings)) $< -ldl -pthread -o $@

# One fault at a known moment, for what lies in wait.
$(BUILD)/workloads/stall: tests/workloads/stall.c
	@mkdir -p $(@D)
	$(CC) $(workload_flags) -fomit-frame-pointer $< -o $@

# Programs of the live tests that use our own library.
live_programs := $(patsubst tests/live/%.c,$(BUILD)/live/%,$(wildcard tests/live/*.c))
$(BUILD)/live/%: $(BUILD)/tests/live/%.o $(BUILD)/libframeperf.a
	@mkdir -p $(@D)
	$(CC) $(all_ldflags) $^ $(libs) -o $@

.PHONY: live
live: $(BUILD)/frameperf $(live_programs) $(targets) $(workloads) ## live tests: real BPF on this machine; LIVE=PATTERN narrows
	BUILD=$(BUILD) tests/live/run.sh '$(LIVE)'

# Static recorders, for devices without the libraries.
.PHONY: static arm64
static: ## build-static/frameperf, which needs no libraries on the machine that records
	+$(MAKE) STATIC=1 BUILD=build-static all
arm64: ## build-arm64/frameperf, static, cross-built for arm64
	+$(MAKE) ARCH=arm64 STATIC=1 BUILD=build-arm64 all

# Everything under test has ASan and UBSan in its user space.
test_build := build-asan
.PHONY: deps test test-programs
deps: ## installs the Debian packages that building and testing need, where missing
	sh tests/deps.sh
test-programs: $(BUILD)/frameperf $(BUILD)/unit-tests $(BUILD)/make_session $(BUILD)/make_game $(live_programs) $(targets) $(workloads)
test: ## all tests: unit, command line, page, live (as root)
	sh tests/deps.sh
	+$(MAKE) -j2 SANITIZE=1 BUILD=$(test_build) test-programs
	BUILD=$(test_build) tests/run.sh

# libFuzzer harnesses, each run for FUZZ seconds from what is in tests/fuzz/corpus/NAME, if anything.
FUZZ    ?= 60
fuzzers := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/*.c))
$(BUILD)/fuzz/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/libframeperf.a
	@mkdir -p $(@D)
	$(CC) $(all_ldflags) -fsanitize=fuzzer $^ $(libs) -o $@
.PHONY: fuzz fuzz-programs
fuzz-programs: $(fuzzers)
fuzz: ## builds the fuzzers with clang and runs each for FUZZ seconds (0: only builds)
	+$(MAKE) -j2 SANITIZE=1 BUILD=build-fuzz CC="$(CLANG)" CFLAGS="-O1 -g -fsanitize=fuzzer-no-link" fuzz-programs
	sh tests/fuzz/run.sh build-fuzz/fuzz $(FUZZ)

# Command line tests: session files of known content come from make_session.
$(BUILD)/make_session: $(BUILD)/tests/cli/make_session.o $(BUILD)/tests/cli/rich_session.o $(BUILD)/libframeperf.a
	$(CC) $(all_ldflags) $^ $(libs) -o $@

.PHONY: cli
cli: $(BUILD)/frameperf $(BUILD)/make_session ## tests of the command line; CLI=PATTERN narrows
	BUILD=$(BUILD) tests/cli/run.sh '$(CLI)'

# Sessions of any length for the tests of the page.
$(BUILD)/make_game: $(BUILD)/tests/page/make_game.o $(BUILD)/libframeperf.a
	$(CC) $(all_ldflags) $^ $(libs) -o $@

# What a newcomer tries first: a small game that does wrong things on purpose, and the reasons for its slow frames.
.PHONY: demo
demo: ## records a small game for some seconds and says why its slow frames were slow (as root)
	sh tests/deps.sh demo
	+$(MAKE) --no-print-directory -s -j2 all $(BUILD)/workloads/game-nofp
	$(BUILD)/frameperf record -o $(BUILD)/demo.fperf --as-root --frame $(BUILD)/workloads/game-nofp:game_present \
		-- $(BUILD)/workloads/game-nofp --seconds 12 --faults 24 --truth $(BUILD)/demo.truth
	@echo
	@$(BUILD)/frameperf report $(BUILD)/demo.fperf
	@echo; echo "The game's own log of what it did wrong: $(BUILD)/demo.truth"

.PHONY: page page-check page-test page-bench screenshots
page: ## builds the page of `report --html` (needs Node), and fails when it cannot
	@mkdir -p $(BUILD)/page
	sh userspace/output/page/build.sh $(abspath $(BUILD)/page/index.html)
page-check: ## types, lint and unit tests of the page
	sh userspace/output/page/build.sh --check

page-test: $(BUILD)/frameperf $(BUILD)/make_session $(BUILD)/make_game ## the page in headless Chromium; PAGE=PATTERN narrows
	BUILD=$(BUILD) tests/page/run.sh '$(PAGE)'
page-bench: $(BUILD)/frameperf $(BUILD)/make_session $(BUILD)/make_game ## size of pages and time until they can be used, of 10 s to an hour
	PAGE_SECONDS="10 600 3600" BUILD=$(BUILD) tests/page/run.sh 'soon ready'

screenshots: all $(BUILD)/workloads/game-nofp ## makes the pictures of the README from the demo and from a real game (as root)
	sh tests/deps.sh
	sh userspace/output/page/build.sh --check >/dev/null
	$(BUILD)/frameperf record -q -o $(BUILD)/demo.fperf --as-root --frame $(BUILD)/workloads/game-nofp:game_present \
		-- $(BUILD)/workloads/game-nofp --seconds 12 --faults 24 --truth $(BUILD)/demo.truth
	tests/games/play neverball 10 -- $(abspath $(BUILD))/frameperf record -q -o $(abspath $(BUILD))/neverball.fperf -- >/dev/null 2>&1 || [ $$? = 124 ]
	for name in demo neverball; do $(BUILD)/frameperf report -q $(BUILD)/$$name.fperf --html $(BUILD)/$$name.html || exit 1; done
	mkdir -p docs/images
	node tests/page/screenshots.mjs $(BUILD)/demo.html $(BUILD)/neverball.html docs/images

# A program of known depth, without frame pointers.
$(BUILD)/bench/depth: tests/bench/depth.c
	@mkdir -p $(@D)
	$(CC) -std=gnu17 -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls $(filter-out -Wmissing-prototypes,$(warnings)) $< -o $@

# For example: make bench BENCH=frame-times GAME=neverball RUNS=5
BENCH ?= cost depth size replay frame-times
GAME  ?= neverball,minetest,dsda-doom
RUNS  ?= 5
.PHONY: bench
bench: all $(BUILD)/bench/depth ## what recording costs beside perf, as tables (as root, on an idle machine); BENCH=cost GAME=neverball RUNS=5 narrow
	tests/bench/run.py --build $(abspath $(BUILD)) --games $(GAME) --runs $(RUNS) $(BENCH)

.PHONY: bench-stacks
bench-stacks: all ## how many stacks reach the thread's start, beside perf in the same run of each game (as root)
	tests/bench/stacks.py --build $(abspath $(BUILD))

# Runs of known faults, and whether the comparison and the explanation find them. RUNS: how many of each.
RUNS ?= 20
.PHONY: explain-power diff-power
explain-power: all $(workloads) $(slowers) $(BUILD)/live/step_freq ## how often report --explain finds what was injected (as root)
	tests/bench/explain.py --build $(abspath $(BUILD)) --runs $(RUNS)
diff-power: all $(workloads) $(slowers) $(BUILD)/bench/power ## how often diff finds injected regressions, and raises false alarms (as root)
	tests/bench/power.sh $(abspath $(BUILD)) $(or $(POOL),$(BUILD)/pool) $(RUNS) $(PRIORITY)

SOAK ?= 3600
.PHONY: soak
soak: all ## a flight recorder over minetest for SOAK seconds: memory, BPF maps, cost (as root)
	tests/bench/soak.py --build $(BUILD) --seconds $(SOAK)

.PHONY: man install
man: $(BUILD)/frameperf ## one man page per command, into $(BUILD)/man
	@mkdir -p $(BUILD)/man
	$(BUILD)/frameperf help --man >$(BUILD)/man/frameperf.1
	for command in $$($(BUILD)/frameperf help --names); do \
		$(BUILD)/frameperf help --man $$command >$(BUILD)/man/frameperf-$$command.1 || exit 1; done
install: all man ## into $(DESTDIR)$(PREFIX)
	install -D -m 755 $(BUILD)/frameperf $(DESTDIR)$(PREFIX)/bin/frameperf
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(BUILD)/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	sed 's|@bindir@|$(PREFIX)/bin|' docs/systemd/frameperf-arm.service >$(BUILD)/frameperf-arm.service
	install -D -m 644 $(BUILD)/frameperf-arm.service $(DESTDIR)$(PREFIX)/lib/systemd/system/frameperf-arm.service
	install -D -m 644 docs/android/frameperf-arm.rc $(DESTDIR)$(PREFIX)/share/frameperf/frameperf-arm.rc

$(BUILD)/bench/power: $(BUILD)/tests/bench/power.o $(BUILD)/libframeperf.a
	@mkdir -p $(@D)
	$(CC) $(all_ldflags) $^ $(libs) -o $@
$(BUILD)/bench/session_size: $(BUILD)/tests/bench/session_size.o $(BUILD)/libframeperf.a
	@mkdir -p $(@D)
	$(CC) $(all_ldflags) $^ $(libs) -o $@
.PHONY: session-size
session-size: $(BUILD)/bench/session_size ## size of a made-up session, and the cost of writing and reading it
	$(BUILD)/bench/session_size $(BUILD)/session_size.fperf

$(BUILD)/bench/sampling_modes: $(BUILD)/tests/bench/sampling_modes.o
	@mkdir -p $(@D)
	$(CC) $(all_ldflags) $^ $(libs) -o $@
.PHONY: sampling-modes
sampling-modes: $(BUILD)/bench/sampling_modes ## one event per CPU against one per thread (as root)
	$(BUILD)/bench/sampling_modes

$(BUILD)/bench/stack_table: $(BUILD)/tests/bench/stack_table.o $(BUILD)/libframeperf.a
	@mkdir -p $(@D)
	$(CC) $(all_ldflags) $^ $(libs) -o $@
.PHONY: stack-table
stack-table: $(BUILD)/bench/stack_table ## cost of interning a stack of 20 stack frames
	$(BUILD)/bench/stack_table

formatted := $(wildcard include/frameperf/*.h userspace/*/*.[ch] tools/*.[ch] bpf/*.[ch] vmlinux/*.h \
	       tests/unit/*.[ch] tests/unit/*/*.[ch] tests/workloads/*.[ch] tests/live/*.[ch] tests/live/targets/*.[ch] tests/fuzz/*.[ch] \
	       tests/bench/*.[ch] tests/cli/*.[ch] tests/page/*.[ch])

.PHONY: format check-format check-layers
format: ## clang-format everything in place
	clang-format -i $(formatted)
check-format: ## fails when something is not formatted
	clang-format --dry-run -Werror $(formatted)
check-layers: ## proves from the includes that dependencies point one way
	sh tests/check-layers.sh

.PHONY: clean help
clean: ## removes what was built
	rm -rf $(BUILD)
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

.DELETE_ON_ERROR:
.SECONDARY:
