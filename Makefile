# SPDX-License-Identifier: GPL-2.0-only
#
# The driver. It fetches the base, lays the series over it in build/git, and
# hands over to the base's own Makefile there. Each target is a line or two
# here and a script in scripts/.
#
# Targets (`make help` prints this):
#   all                   build (what make does if you name none)
#   demo                  build, and clone with the base and with this
#   install, uninstall    with prefix=DIR; stripped but with NO_STRIP=1
#   tarball, test-tarball one archive that runs wherever it is unpacked
#   deb, test-deb         Debian packages, built and tried in chroots
#   test                  our tests, and those of the base that the series touches
#   test-upstream         the base's whole suite
#   differential sanitize test-aarch64 test-sandbox test-install check-style
#   coverage faults mutate soak    further tests
#   platforms             built and tested for other processors, C libraries, compilers
#   bench, bench-...      benchmarks, see BENCH_ARGS; perf: those of the base
#   series, export        mails from the steps; steps from commits in build/git
#   deps                  install the packages for all of that but deb, as root
#   clean                 remove what was built
#
# Variables (of those that are 1 here, 0 and no are the same as nothing):
#   CFLAGS='-O2 -g'       for our build and for the baseline alike
#   JOBS=N                jobs at a time (default: the number of cores, and one
#                         more for tests)
#   BASE=2.47.3           which of the bases in base/ (default: the first of
#                         base/list, or the next if no source has it)
#   GIT_TARBALL=/path     the base, if it is not to be downloaded
#   BASE_ANY=1            take a later 2.55.z if the mirror has nothing else
#   BUILD=/path           build there instead of in build/, or build-2.47.3/ for
#                         that base
#   CACHE=/path           keep downloads and inputs there instead of in .cache/
#   NO_LIBDEFLATE=1       build without libdeflate
#   FORCE=1               set aside what is not exported in build/git
#   TMPDIR=/path          where tests and the demo write (default: a tmpfs)
#   REPO= WORKERS= ROUNDS=    for make demo
#   DIST='bookworm trixie'    for make deb, test-deb and test-tarball: of which Debian
#                         (test-tarball: or Ubuntu, as jammy)
#   NODOC=1               for make deb: only git, without manual pages
#   REPO=/path            for make test-deb: what to clone there
#   T='t1*' UPSTREAM_MODES='2 default'    for make test-upstream
#   TOOLS='address thread valgrind' QUICK=1    for make sanitize
#   CASES=200 SEED=N      for make differential
#   SCENARIO='clone reset' FAULTS_ARGS=    for make faults (see contrib/faults/)
#   PART=writer HOURS=2   for make mutate, and for make soak
#   PLATFORMS='musl i386' for make platforms (see scripts/on-platform)
#   TOPIC=name CHANGED=REV    for make series: that topic (all: all steps as one),
#                         or only those that differ from a commit of this repository
#   COMPILE=1 TEST=1      for make series: compile each commit, run the tests that
#                         it adds or changes
#   API=1                 for make export: keep what was changed in files of ours
#                         for this base, in its ours.patch
#   BENCH_ARGS=...        for make bench, bench-auto, bench-network, bench-clone,
#                         bench-filters, bench-donors, bench-partial,
#                         bench-status, bench-workspace, bench-refs
#   T='p208*' PERF_REPEAT=N PERF_REPO=/path    for make perf
# Anything else on the command line (SANITIZE=address, DEVELOPER=1, ...) goes
# through to the base's Makefile.

# One argument for the shell.
quoted = '$(subst ','\'',$1)'

# One word, or make takes it for several paths.
one_path = $(if $(filter-out 1,$(words $2)),$(error $1='$2': one path without spaces is wanted))

# Tests wait about as much as they compute.
export TEST_JOBS := $(or $(JOBS),$(shell echo $$(($$(nproc 2>/dev/null || echo 2) + 1))))
override JOBS := $(or $(JOBS),$(shell nproc 2>/dev/null || echo 2))
$(call one_path,the current folder,$(CURDIR))

ifneq ($(filter install uninstall,$(MAKECMDGOALS)),)
$(if $(strip $(prefix)),,$(error say where: make $(filter install uninstall,$(MAKECMDGOALS)) prefix=DIR))
$(call one_path,prefix,$(prefix))
$(if $(filter ~%,$(prefix)),$(error prefix='$(prefix)': the shell has left the ~ in it; say $$HOME))
endif

$(if $(BUILD),$(call one_path,BUILD,$(BUILD)))

# What is built is built from a base and has a folder; see scripts/base. (Make
# before 4.4 does not export to $(shell).)
ifneq ($(filter-out clean deps check-style help,$(or $(MAKECMDGOALS),all)),)
ifeq ($(strip $(BASE)),)
override BASE := $(shell CACHE=$(call quoted,$(CACHE)) \
	GIT_TARBALL=$(call quoted,$(GIT_TARBALL)) BASE_ANY=$(call quoted,$(BASE_ANY)) \
	NO_LIBDEFLATE=$(call quoted,$(NO_LIBDEFLATE)) scripts/base)
$(if $(BASE),,$(error there is no base to build on, see above))
endif
main_base := $(firstword $(shell sed '/^\#/d' base/list))
override BUILD := $(or $(BUILD),$(if $(filter $(main_base),$(BASE)),build,build-$(BASE)))
endif
override BUILD := $(if $(BUILD),$(abspath $(BUILD)))
ifneq ($(and $(BUILD),$(filter-out clean deps check-style help,$(or $(MAKECMDGOALS),all))),)
$(if $(shell BASE=$(BASE) BUILD=$(BUILD) scripts/lock $$PPID),,$(error see above))
export PCHECKOUT_LOCKS := $(PCHECKOUT_LOCKS):$(BUILD):
endif
UPSTREAM_MODES ?= 2 default

export BASE BUILD CACHE GIT_TARBALL BASE_ANY FORCE NO_LIBDEFLATE JOBS CFLAGS
export API QUICK REPO WORKERS ROUNDS UPSTREAM_MODES COMPILE TEST TOPIC CHANGED
export PERF_REPO PERF_REPEAT NODOC NO_STRIP

# make in a source tree, with all cores unless this make was told how many
submake = $(MAKE) $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS)) --no-print-directory

# The targets here wait for each other; what they start uses the cores.
.NOTPARALLEL:

.PHONY: all baseline install uninstall tarball test-tarball help
all:
	@scripts/deps --check build
	@scripts/assemble
	@scripts/config-mak $(BUILD)/git
	@+$(submake) -C $(BUILD)/git

baseline:
	@scripts/deps --check build
	@scripts/baseline
	@scripts/config-mak $(BUILD)/baseline
	@+$(submake) -C $(BUILD)/baseline

# What knows where it will be is compiled for that, and again only for another prefix.
install:
	@mkdir -p $(BUILD) && echo $(call quoted,$(abspath $(prefix))) >$(BUILD)/prefix
	@+$(submake) -f Makefile all prefix=$(call quoted,$(abspath $(prefix)))
	@scripts/install $(call quoted,$(abspath $(prefix))) $(if $(DESTDIR),$(call quoted,$(abspath $(DESTDIR))))

uninstall:
	@scripts/uninstall $(call quoted,$(if $(DESTDIR),$(abspath $(DESTDIR)))$(abspath $(prefix)))

tarball:
	@scripts/deps --check build
	@scripts/tarball

# here, and in a chroot of each of DIST
test-tarball: tarball
	@for archive in $(BUILD)/git-*.tar.xz; do \
		for suite in '' $(DIST); do \
			scripts/test-tarball "$$archive" $$suite || exit; \
		done; \
	done

.PHONY: deb test-deb
deb:
	@scripts/deps --check build deb
	@scripts/assemble
	@scripts/deb $(DIST)

test-deb:
	@scripts/test-deb $(DIST)

help:
	@sed -n '3,/^$$/{ s/^# \{0,1\}//; p; }' Makefile

.PHONY: demo-check demo bench bench-auto bench-network bench-clone bench-filters
.PHONY: bench-donors bench-partial bench-status bench-workspace bench-refs perf
demo: demo-check all baseline
	@scripts/demo

demo-check:
	@scripts/demo --check

# The benchmark runner's own options: make bench BENCH_ARGS='--help'
bench: all baseline
	@scripts/deps --check build bench
	@scripts/bench checkout $(BENCH_ARGS)

bench-clone bench-donors bench-filters bench-partial bench-status bench-workspace: bench-%: all baseline
	@scripts/deps --check build bench
	@scripts/bench $* $(BENCH_ARGS)

bench-auto: all baseline
	@scripts/deps --check build bench
	@contrib/parallel-checkout/bench-auto --baseline $(BUILD)/baseline --ours $(BUILD)/git $(BENCH_ARGS)

bench-network: all baseline
	@scripts/deps --check build bench
	@contrib/parallel-checkout/bench-network --baseline $(BUILD)/baseline --ours $(BUILD)/git $(BENCH_ARGS)

bench-refs: all baseline
	@scripts/deps --check build bench
	@contrib/bulk-refs/bench --baseline $(BUILD)/baseline --ours $(BUILD)/git $(BENCH_ARGS)

# upstream's t/perf framework on our scripts; see scripts/perf
perf: all baseline
	@scripts/deps --check build bench
	@scripts/perf $(call quoted,$(T))

.PHONY: test test-upstream test-aarch64 test-sandbox test-install differential sanitize check-style
.PHONY: platforms coverage faults mutate soak
test: all
	@scripts/deps --check build test
	@scripts/test-own

test-upstream: all
	@scripts/deps --check build test
	@scripts/test-upstream $(call quoted,$(T))

# sha1-screen as an AArch64 program under qemu; see scripts/test-aarch64
test-aarch64: all
	@scripts/test-aarch64

# all of it for other platforms, in a chroot that has their compilers
platforms:
	@scripts/deps --check build deb
	@scripts/assemble
	@scripts/platforms $(PLATFORMS)

# what make install and uninstall do, in a folder on the side
test-install: all
	@scripts/test-install

# clones where little is allowed; see scripts/test-sandbox
test-sandbox: all
	@scripts/test-sandbox

# random cases, compared with the baseline; see scripts/differential
differential: all baseline
	@scripts/deps --check build test
	@scripts/differential $(call quoted,$(or $(CASES),200)) $(if $(SEED),$(call quoted,$(SEED)))
	@contrib/status/random-test --git $(BUILD)/git --base $(BUILD)/baseline \
		--cases $(call quoted,$(or $(CASES),200)) $(if $(SEED),--seed $(call quoted,$(SEED)))

# our tests under the sanitizers and valgrind; see scripts/sanitize
sanitize: all
	@scripts/sanitize $(TOOLS)

# which lines of our files the tests run; see scripts/coverage
coverage:
	@scripts/deps --check build test
	@scripts/coverage

# each call of a command fails once; each line is broken once; hours of use
faults: all baseline
	@contrib/faults/faults --ours $(BUILD)/git --baseline $(BUILD)/baseline \
		$(FAULTS_ARGS) $(SCENARIO)

mutate: all
	@contrib/faults/mutate --build $(BUILD)/git $(MUTATE_ARGS) $(PART)

soak: all
	@contrib/faults/soak --git $(BUILD)/git --hours $(call quoted,$(or $(HOURS),2))

check-style:
	@scripts/deps --check test
	@scripts/check-style

.PHONY: series-check series export deps clean
series: series-check all
	@scripts/series

series-check:
	@scripts/series --check

export:
	@scripts/export

deps:
	@scripts/deps

# The cache with the base's tarball stays; build/git may hold commits that are
# not exported, so it has to be free of them.
clean:
	@scripts/clean
