# dueq: start with `make run` or `make test`; `make help` lists all targets.

BUILD      ?= build
CC         ?= cc
OBJCOPY    ?= objcopy
PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR     ?= $(PREFIX)/share/man
BASHDIR    ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR     ?= $(PREFIX)/share/zsh/site-functions
FISHDIR    ?= $(PREFIX)/share/fish/vendor_completions.d
PORT       ?= 6379
DIR        ?= ./data
VERSION    := $(shell cat VERSION)

OPTIMISE   ?= -O2
CFLAGS     ?= $(OPTIMISE) -g
WARNINGS   := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
              -Wformat=2 -Wundef -Wvla -Wwrite-strings -Wpointer-arith
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE -I. -DDUEQ_VERSION='"$(VERSION)"' -pthread $(WARNINGS) $(CPPFLAGS) $(CFLAGS)
ifdef DEVELOPER
ALL_CFLAGS += -Werror
endif
ifdef SANITIZE
BUILD      := build/sanitize
ALL_CFLAGS += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -O1
ALL_LDFLAGS += -fsanitize=address,undefined
endif
ifdef SANITIZE_THREADS
BUILD      := build/threads
# It knows no fences, and gcc warns of them.
ALL_CFLAGS += -fsanitize=thread -fno-omit-frame-pointer -O1 $(if $(findstring clang,$(CC)),,-Wno-tsan)
ALL_LDFLAGS += -fsanitize=thread
endif
# NULL plus 0 is told, and ends nothing: it is what an empty slice may be.
ifdef FUZZ
BUILD      := build/fuzz
CC         := clang
ALL_CFLAGS += -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fsanitize-recover=pointer-overflow -O1
FUZZ_LINK  := -fsanitize=fuzzer,address,undefined
endif
ALL_LDFLAGS += $(LDFLAGS) -pthread

# Link-time optimisation of the program: 5 to 7 % fewer instructions, and a link of 20 s. So not with
# DEVELOPER=1 and SANITIZE=1, unless `LTO=yes`; `LTO=no`: never. A compiler that cannot do it, or makes no
# objects that link without it too, builds without.
LTO       ?= $(if $(DEVELOPER)$(SANITIZE)$(SANITIZE_THREADS)$(FUZZ),no,yes)
LTO_WANTED = -flto=auto -ffat-lto-objects
LTO_FLAGS  = $(eval LTO_FLAGS := $(if $(filter no,$(LTO)),,$(shell echo 'int main(void) { return 0; }' | \
             $(CC) -Werror $(LTO_WANTED) -x c -o /dev/null - 2>/dev/null && echo $(LTO_WANTED))))$(LTO_FLAGS)
# All but the program: from the machine code of the same objects.
LINK       = $(CC) $(ALL_LDFLAGS) -fno-lto

STORAGE_LIBS  := -llmdb
PROTOCOL_LIBS := -lhiredis -lm
SERVER_LIBS   := -levent_core -lmd -ljansson -lm
# `make TLS=no`: no OpenSSL, for devices. tls-port is refused then.
TLS           ?= yes
ifneq ($(TLS),no)
SERVER_LIBS   += -lssl -lcrypto
endif
# `make SANDBOX=no`: no libseccomp. The option `sandbox` is refused then.
SANDBOX       ?= yes
ifneq ($(SANDBOX),no)
SERVER_LIBS   += -lseccomp
endif
# `make ARGON2=no`: no libargon2. Users cannot have passwords of argon2id then.
ARGON2        ?= yes
ifneq ($(ARGON2),no)
SERVER_LIBS   += -largon2
endif
# `make CURL=no`: no libcurl, which `dueq forward` opens for http://.
CURL          ?= yes
# `make MOSQUITTO=no`: no libmosquitto, which it opens for mqtt://.
MOSQUITTO     ?= yes
# `make TERMINAL=no`: no shared libraries are opened, so `dueq cli` is without libedit and `dueq top` without ncurses.
TERMINAL      ?= yes
OFFLINE_LIBS  := -ljansson
CLIENT_LIBS   := -lhiredis -lcmocka -lm -lssl -lcrypto

sources  = $(sort $(wildcard $(1)))
objects  = $(patsubst %.c,$(BUILD)/%.o,$(call sources,$(1)))
programs = $(patsubst %.c,$(BUILD)/%,$(call sources,$(1)))

PROTOCOL_OBJECTS := $(call objects,protocol/*.c)
# FLOW=no: topics have no events, no rates and no latencies, as in libdueq-small. For tests/bench/flow.
FLOW_PARTS       := store_events queue/ring_read queue/core/rings queue/core/rates queue/core/latencies
FLOW_NONE        := queue/core/rings_none queue/core/rates_none queue/core/latencies_none
flow_objects      = $(patsubst %,$(BUILD)/storage/%.o,$(1))
# The others are of libdueq-small.
STORAGE_OBJECTS  := $(filter-out %_none.o %_small.o,$(call objects,storage/*.c storage/*/*.c storage/*/*/*.c))
ifeq ($(FLOW),no)
STORAGE_OBJECTS  := $(filter-out $(call flow_objects,$(FLOW_PARTS)),$(STORAGE_OBJECTS)) $(call flow_objects,$(FLOW_NONE))
endif
SERVER_OBJECTS   := $(filter-out $(BUILD)/server/main.o $(BUILD)/server/net/tls$(if $(filter no,$(TLS)),,_none).o \
                    $(BUILD)/server/process/sandbox$(if $(filter no,$(SANDBOX)),,_none).o \
                    $(BUILD)/server/acl/acl_argon$(if $(filter no,$(ARGON2)),,_none).o,$(call objects,server/*.c server/*/*.c server/*/*/*.c))
# The page of the dashboard, compressed, as a table in C.
PAGE             := $(call sources,$(addprefix server/page/*.,html js css svg png))
SERVER_OBJECTS   += $(BUILD)/server/page/assets.o
CLIENT_OBJECTS   := $(filter-out $(BUILD)/tools/terminal/library$(if $(filter no,$(TERMINAL)),,_none).o, \
                    $(call objects,tools/client/*.c tools/cli/*.c tools/top/*.c tools/terminal/*.c))
BENCH_OBJECTS    := $(call objects,tools/bench/*.c)
OFFLINE_OBJECTS  := $(filter-out $(BUILD)/tools/online/online_tls$(if $(filter no,$(TLS)),,_none).o \
                    $(BUILD)/tools/forward/target_http$(if $(filter no,$(CURL)),,_none).o \
                    $(BUILD)/tools/forward/target_mqtt$(if $(filter no,$(MOSQUITTO)),,_none).o, \
                    $(call objects,tools/offline/*.c tools/online/*.c tools/move/*.c tools/forward/*.c))
PROGRAM_OBJECTS  := $(BUILD)/server/main.o $(SERVER_OBJECTS) $(STORAGE_OBJECTS) $(PROTOCOL_OBJECTS) \
                    $(BENCH_OBJECTS) $(CLIENT_OBJECTS) $(OFFLINE_OBJECTS)
SUPPORT_OBJECTS  := $(call objects,tests/support/*.c tests/support/*/*.c)
PRELOADS         := $(patsubst %.c,$(BUILD)/%.so,$(call sources,tests/fault/preload/*.c))

UNIT_PROTOCOL := $(call programs,tests/unit/protocol/test_*.c)
UNIT_STORAGE  := $(call programs,tests/unit/storage/test_*.c)
UNIT_SERVER   := $(filter-out $(if $(filter no,$(SANDBOX)),%/test_sandbox),$(call programs,tests/unit/server/test_*.c))
UNIT_OFFLINE  := $(call programs,tests/unit/offline/test_*.c)
MODEL         := $(call programs,tests/model/test_*.c)
INTEGRATION   := $(filter-out $(if $(filter no,$(TLS)),%/test_tls %/test_http_tls),$(call programs,tests/integration/test_*.c))
# The longest comes first: the others run beside it.
FAULT         := $(call programs,tests/fault/test_quiet_server.c)
FAULT         += $(filter-out $(FAULT),$(call programs,tests/fault/test_*.c))
FUZZERS       := $(call programs,tests/fuzz/fuzz_*.c)
TESTS         := $(UNIT_PROTOCOL) $(UNIT_STORAGE) $(UNIT_SERVER) $(UNIT_OFFLINE) $(MODEL) $(INTEGRATION) $(FAULT)
EMBED         := tests/embed/run
DOCS          := tests/docs/run tests/docs/http
CODE          := $(call sources,protocol/*.[ch] storage/*.[ch] storage/*/*.[ch] \
                 storage/*/*/*.[ch] server/*.[ch] server/*/*.[ch] server/*/*/*.[ch] tools/*/*.[ch] tests/*/*.[ch] tests/*/*/*.[ch])

.DEFAULT_GOAL := all

.PHONY: all
all: $(BUILD)/dueq libdueq ## build the server (build/dueq; LTO=no links fast) and libdueq, static and shared

.PHONY: run
run: ## install what is missing, build, start on 127.0.0.1:$(PORT) with data in $(DIR); HTTP=9121: with the dashboard
	@tools/bootstrap build
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@tools/run-server $(BUILD)/dueq "$(PORT)" "$(DIR)" "$(HTTP)"

.PHONY: test
test: bootstrap ## install what is missing, build and run every test
	@$(MAKE) --no-print-directory -j$(JOBS) programs
	@$(MAKE) --no-print-directory check check-fault

.PHONY: programs
programs: all $(TESTS) $(PRELOADS) ## build all that the tests run
JOBS ?= $(shell nproc)
export JOBS

.PHONY: bootstrap
bootstrap: ## install the Debian packages that the build and the tests need
	@tools/bootstrap

$(BUILD)/%.o: %.c Makefile VERSION
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(PROGRAM_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/server/page/assets.o: $(BUILD)/server/page/assets.c Makefile
	$(CC) $(ALL_CFLAGS) $(PROGRAM_CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/server/page/assets.c: tools/embed-page server/page $(PAGE)
	@mkdir -p $(@D)
	tools/embed-page $(PAGE) >$@.new && mv $@.new $@

$(PROGRAM_OBJECTS): PROGRAM_CFLAGS = $(LTO_FLAGS)
ifdef STATIC # below 2 MB: what is on no hot path is made small
$(filter $(BUILD)/tools/% $(BUILD)/server/http/% $(BUILD)/server/config/% $(BUILD)/server/info/% $(BUILD)/server/process/%,$(PROGRAM_OBJECTS)): PROGRAM_CFLAGS += -Os
endif

$(BUILD)/libprotocol.a: $(PROTOCOL_OBJECTS)
	@rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/libstorage.a: $(STORAGE_OBJECTS)
	@rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/libserver.a: $(SERVER_OBJECTS)
	@rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/libbench.a: $(BENCH_OBJECTS)
	@rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/liboffline.a: $(OFFLINE_OBJECTS) $(CLIENT_OBJECTS)
	@rm -f $@ && $(AR) rcs $@ $^
$(BUILD)/libsupport.a: $(SUPPORT_OBJECTS)
	@rm -f $@ && $(AR) rcs $@ $^

SERVER_ARCHIVES := $(BUILD)/libserver.a $(BUILD)/libstorage.a $(BUILD)/libprotocol.a
SERVER_LINK     := $(SERVER_LIBS) $(STORAGE_LIBS) $(PROTOCOL_LIBS)

$(BUILD)/dueq: $(BUILD)/server/main.o $(BUILD)/libbench.a $(BUILD)/liboffline.a $(SERVER_ARCHIVES)
	$(CC) $(ALL_LDFLAGS) $(or $(LTO_FLAGS),-fno-lto) -o $@ $^ $(SERVER_LINK) $(OFFLINE_LIBS)

# ---- libdueq: storage/ as a library. Both forms export the functions of its headers only.

SOVERSION      := $(firstword $(subst ., ,$(VERSION)))
LIBDUEQ_SHARED := libdueq.so.$(VERSION)
LIBDUEQ_SONAME := libdueq.so.$(SOVERSION)
LIBDUEQ_HEADERS := dueq.h cron.h types.h options.h stats.h slice.h status.h
PIC_OBJECTS    := $(patsubst $(BUILD)/%,$(BUILD)/pic/%,$(STORAGE_OBJECTS))
# The symbols of the sanitizers are resolved when the program starts.
LIBDUEQ_LDFLAGS := $(if $(SANITIZE),,-Wl,-z,defs)

.PHONY: libdueq
libdueq: $(BUILD)/libdueq.a $(BUILD)/$(LIBDUEQ_SHARED)

$(BUILD)/pic/%.o: %.c Makefile VERSION
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -fno-lto -fPIC -MMD -MP -c -o $@ $<
$(BUILD)/libdueq.a: $(PIC_OBJECTS)
	@$(LD) -r -o $(BUILD)/libdueq.o $^
	@$(OBJCOPY) --wildcard --keep-global-symbol='dueq_*' $(BUILD)/libdueq.o
	@rm -f $@ && $(AR) rcs $@ $(BUILD)/libdueq.o
$(BUILD)/$(LIBDUEQ_SHARED): $(PIC_OBJECTS) storage/libdueq.map
	$(LINK) -shared -Wl,-soname,$(LIBDUEQ_SONAME) $(LIBDUEQ_LDFLAGS) \
	    -Wl,--version-script=storage/libdueq.map -o $@ $(PIC_OBJECTS) $(STORAGE_LIBS)

# For devices, below 200,000 bytes: without Redis' types, recurring jobs, jobs that wait for others, latencies of topics, backups and archive, assertions,
# and what only the tools of the server call.
SMALL_NONE    := storage/queue/restore_edges.o storage/keys/% storage/calendar/% storage/store_cron.o storage/queue/cron_% storage/queue/core/cron% \
                 storage/queue/record/cron_record.o storage/queue/after.o storage/queue/core/afters.o storage/queue/core/recent_claims.o \
                 storage/queue/core/latencies.o storage/queue/core/histogram.o storage/queue/core/rates.o \
                 storage/store_events.o storage/queue/ring_read.o storage/queue/core/rings.o storage/queue/record/event_record.o \
                 storage/queue/queue_salvage.o storage/recovery.o storage/salvage.o storage/kv/backup.o storage/kv/archive.o
SMALL_OBJECTS := $(patsubst $(BUILD)/%,$(BUILD)/small/%,$(filter-out $(addprefix $(BUILD)/,$(SMALL_NONE)),$(STORAGE_OBJECTS))) \
                 $(addprefix $(BUILD)/small/storage/,keys_none.o crons_none.o queue/afters_none.o queue/core/latencies_none.o queue/core/recent_claims_none.o queue/core/rates_none.o queue/core/rings_none.o kv/copies_none.o xxh3_small.o)
SMALL_CFLAGS  := -DDUEQ_SMALL -Oz -fno-plt -g0 -DNDEBUG -fPIC -flto -ffunction-sections -fdata-sections -fmerge-all-constants \
                 -fno-asynchronous-unwind-tables -fno-jump-tables -fno-move-loop-invariants -fno-partial-inlining -fno-caller-saves -Wno-unused -Wno-maybe-uninitialized
# -nostartfiles: the library has no constructors, and half a kilobyte less. -Bsymbolic-functions: no call within it goes
# through a table of addresses.
SMALL_LDFLAGS := -flto=auto -flto-partition=one -s -nostartfiles -Wl,--gc-sections,-Bsymbolic-functions,-z,noseparate-code,-z,now,-z,defs

.PHONY: libdueq-small
libdueq-small: $(BUILD)/small/$(LIBDUEQ_SHARED) ## libdueq for devices, in build/small: 198 KB, without keys and recurring jobs
$(BUILD)/small/%.o: %.c Makefile VERSION
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(SMALL_CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/small/$(LIBDUEQ_SHARED): $(SMALL_OBJECTS) storage/libdueq.map
	$(CC) $(ALL_CFLAGS) $(SMALL_CFLAGS) $(LDFLAGS) $(SMALL_LDFLAGS) -shared -Wl,-soname,$(LIBDUEQ_SONAME) \
	    -Wl,--version-script=storage/libdueq.map -o $@ $(SMALL_OBJECTS) $(STORAGE_LIBS)

# Each unit test links only the layer that it tests: a call across layers does not link.
$(UNIT_PROTOCOL): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libsupport.a $(BUILD)/libprotocol.a
	$(LINK) -o $@ $^ $(PROTOCOL_LIBS) -lcmocka
$(UNIT_STORAGE) $(MODEL): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libsupport.a $(BUILD)/libstorage.a
	$(LINK) -o $@ $^ $(STORAGE_LIBS) -lcmocka -lm
$(UNIT_SERVER): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libsupport.a $(SERVER_ARCHIVES)
	$(LINK) -o $@ $^ $(SERVER_LINK) -lcmocka
$(UNIT_OFFLINE): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libsupport.a $(BUILD)/liboffline.a $(SERVER_ARCHIVES)
	$(LINK) -o $@ $^ $(SERVER_LINK) $(OFFLINE_LIBS) -lcmocka
$(INTEGRATION) $(FAULT): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libsupport.a $(BUILD)/dueq $(PRELOADS)
	$(LINK) -o $@ $(filter %.o %.a,$^) $(CLIENT_LIBS)
$(BUILD)/tests/fault/preload/%.so: tests/fault/preload/%.c
	@mkdir -p $(@D)
	$(CC) $(filter-out -fsanitize=%,$(ALL_CFLAGS)) -fPIC -shared -o $@ $< -ldl

.PHONY: check check-unit check-model check-integration check-docs check-embed check-small check-fault check-flips check-sandbox check-sanitize check-threads check-thread-sanitize soak test-powercut test-restarts test-full-map
check: check-unit check-model check-integration check-docs check-embed check-packaging ## unit, model, integration, documents, embedding, packaging
check-unit: $(UNIT_PROTOCOL) $(UNIT_STORAGE) $(UNIT_SERVER) $(UNIT_OFFLINE) ## unit tests, by layer
	@tools/run-tests $^
check-model: $(MODEL) ## random tests against plain in-memory models (SEED=, STEPS=)
	@ATTEMPTS=1 tools/run-tests $^
check-flips: $(BUILD)/tests/model/test_bit_flips $(BUILD)/tests/model/test_directory_flips ## thousands of flipped bits in a data directory (SEED=, STEPS=)
	@SEED=$${SEED:-$$$$} STEPS=$${STEPS:-5000} TEST_VERBOSE=1 tools/run-tests $^
soak: $(MODEL) ## the model tests with new seeds, repeated until one fails
	@while tools/run-tests $^ >$(BUILD)/soak.log; do printf .; done; cat $(BUILD)/soak.log; false
# The disk of these tests is a model: real ones only make it slow (ext4 looks long for the inodes
# of thousands of small files).
RAM_TMPDIR := $(or $(TMPDIR),$(if $(wildcard /dev/shm/.),/dev/shm,/tmp))
test-powercut: $(BUILD)/tests/model/test_power_cut ## 10,000 power cuts and kills (SEED=, STEPS=), then each sync removed in turn
	@TMPDIR=$(RAM_TMPDIR) STEPS=$${STEPS:-10000} tools/run-tests $<
	@TMPDIR=$(RAM_TMPDIR) tests/powercut/run
check-integration: $(INTEGRATION) ## the real server with real clients
	@DUEQ_BINARY=$(BUILD)/dueq tools/run-tests $(INTEGRATION)
check-docs: $(BUILD)/dueq ## every example in README.md and docs/, with redis-cli, curl and dueq
	@DUEQ_BINARY=$(BUILD)/dueq tools/run-tests $(DOCS)
check-embed: all ## libdueq installed, found by pkg-config, linked both ways
	@MAKE='$(MAKE)' BUILD='$(BUILD)' CC='$(CC)' CFLAGS='$(filter -fsanitize%,$(ALL_CFLAGS))' \
	    tools/run-tests $(EMBED)
check-small: $(BUILD)/small/$(LIBDUEQ_SHARED) $(BUILD)/dueq ## libdueq-small: its size, the example with it, keys and recurring jobs refused
	@CC='$(CC)' LIBRARY=$(BUILD)/small/$(LIBDUEQ_SHARED) SONAME=$(LIBDUEQ_SONAME) DUEQ_BINARY=$(BUILD)/dueq \
	    tools/run-tests tests/embed/small
check-fault: $(FAULT) $(PRELOADS) ## kill -9, power cuts, full disks, failing syncs (ROUNDS=), one short walk of restarts
	@DUEQ_BINARY=$(BUILD)/dueq ATTEMPTS=1 tools/run-tests $(FAULT)
	@TMPDIR=$(RAM_TMPDIR) DUEQ_BINARY=$(BUILD)/dueq SEED=$${SEED:-1} tools/run-tests tests/restarts/run
test-restarts: $(BUILD)/dueq $(PRELOADS) ## a server that is restarted all the time equals one that is not (SEED=, STEPS=, WALKS=)
	@TMPDIR=$(RAM_TMPDIR) DUEQ_BINARY=$(BUILD)/dueq WALKS=$${WALKS:-20} tests/restarts/run
test-full-map: $(BUILD)/dueq ## a map that is nearly full all the time is never stuck and loses nothing (SEED=, ROUNDS=, MAPS=)
	@TMPDIR=$(RAM_TMPDIR) DUEQ_BINARY=$(BUILD)/dueq MAPS=$${MAPS:-8} tests/fullmap/run
check-sandbox: $(INTEGRATION) $(FAULT) $(PRELOADS) ## integration and fault tests, each server with `sandbox yes`
	@DUEQ_SANDBOX=yes DUEQ_BINARY=$(BUILD)/dueq tools/run-tests $(INTEGRATION) $(FAULT)
# Those with threads. Each access of memory costs ten times as much (STEPS= shortens the model's).
THREADED := $(MODEL) $(UNIT_STORAGE) $(addprefix $(BUILD)/tests/integration/,test_workers test_blocking test_restart \
            test_load test_backup_served)
# Of the addresses that it leaves to a program, a map of a TiB finds a place only where none is random.
check-threads: $(THREADED)
	@TSAN_OPTIONS='suppressions=$(CURDIR)/tests/support/threads.supp history_size=7' \
	    RUNNER="$$(setarch -R true 2>/dev/null && echo setarch -R)" \
	    DUEQ_BINARY=$(BUILD)/dueq tools/run-tests $^
check-thread-sanitize: ## model, storage and some integration tests under ThreadSanitizer
	@$(MAKE) --no-print-directory SANITIZE_THREADS=1 check-threads
check-sanitize: ## unit, model and integration tests under ASan and UBSan
	@$(MAKE) --no-print-directory -j$(JOBS) SANITIZE=1 programs
	@$(MAKE) --no-print-directory SANITIZE=1 check

$(BUILD)/tests/fixtures/make_release: $(BUILD)/tests/fixtures/make_release.o \
                                      $(BUILD)/libsupport.a $(BUILD)/liboffline.a $(SERVER_ARCHIVES)
	$(LINK) -o $@ $^ $(SERVER_LINK) $(OFFLINE_LIBS) -lcmocka
.PHONY: fixture
fixture: $(BUILD)/tests/fixtures/make_release ## store the data directory of this release for the tests
	@tests/fixtures/store $(abspath $<)

.PHONY: check-differential test-compat
check-differential: $(BUILD)/dueq ## every reply against a real redis-server 7.0 (SEED=, STEPS=)
	@tests/differential/run $(BUILD)/dueq
test-compat: $(BUILD)/dueq $(BUILD)/tests/fault/preload/preload_faulty_disk.so ## client libraries and published queues, on dueq and on redis-server
	@tests/compat/run $(BUILD)/dueq

.PHONY: test-browser
test-browser: $(BUILD)/dueq ## the dashboard in Chromium: each action, axe-core, keyboard, widths (PICTURES=folder)
	@tools/bootstrap browser
	@DUEQ_BINARY=$(BUILD)/dueq tests/browser/run

.PHONY: check-monitoring
check-monitoring: $(BUILD)/dueq ## metrics, alert rules and dashboard, with a real Prometheus
	@tools/bootstrap monitoring
	@DUEQ_BINARY=$(BUILD)/dueq tools/run-tests tests/monitoring/run

# `FUZZ=1 make build/fuzz/tests/fuzz/fuzz_request` builds one with clang's libFuzzer, ASan and UBSan.
$(FUZZERS): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libsupport.a $(BUILD)/liboffline.a $(SERVER_ARCHIVES)
	$(LINK) $(FUZZ_LINK) -o $@ $^ $(SERVER_LINK) $(OFFLINE_LIBS) -lcmocka -lxxhash
.PHONY: fuzz
fuzz: ## fuzz all that reads what others wrote, FUZZ_SECONDS each (clang; FUZZ_TARGETS=)
	@MAKE='$(MAKE)' tests/fuzz/run $(FUZZ_TARGETS)

.PHONY: bench
bench: $(BUILD)/dueq ## side by side with Redis and beanstalkd; prints ratios
	@tests/bench/compare $(BUILD)/dueq

.PHONY: lint lint-layers lint-docs lint-tests lint-tidy check-commits format format-check
lint: lint-layers lint-docs lint-tests lint-tidy ## includes, documents, forgotten tests, clang-tidy, cppcheck
lint-layers:
	@tools/lint-layers
lint-docs:
	@tools/lint-docs ARCHITECTURE.md CONTRIBUTING.md README.md $(filter-out docs/configuration.md docs/decisions.md docs/http.md,$(call sources,docs/*.md docs/howto/*.md docs/explanation/*.md)) tests/README.md
	@tools/lint-reference docs/commands.md
	@CC='$(CC)' tools/reference --check
.PHONY: reference
reference: $(BUILD)/dueq ## docs/configuration.md, the commands of dueq-protocol(7), and dueq-queue(1), from the tables
	@CC='$(CC)' tools/reference
	@tools/packaging/client-page $(BUILD)/dueq
lint-tests:
	@tools/lint-tests $(patsubst $(BUILD)/%,%.c,$(TESTS))
lint-tidy:
	@tools/lint-code $(filter-out tests/embed/% tools/examples/%,$(filter %.c,$(CODE)))
check-commits: ## subjects and bodies of the commits in RANGE (origin/main..HEAD)
	@tools/check-commits $(RANGE)
format: ## rewrite the code with clang-format
	clang-format -i $(CODE)
format-check: ## fail when clang-format would change something
	clang-format --dry-run -Werror $(CODE)

include tools/packaging/packaging.mk
include tools/cross/cross.mk

.PHONY: clean
clean: ## remove build/
	rm -rf build

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(filter %file %.mk,$(MAKEFILE_LIST))

# Keep objects of tests; include dependencies.
.SECONDARY:
-include $(shell find $(BUILD) \( -path $(BUILD)/cross -o -name sysroot \) -prune -o -name '*.d' -print 2>/dev/null)
