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
ALL_LDFLAGS += $(LDFLAGS) -pthread

STORAGE_LIBS  := -llmdb
PROTOCOL_LIBS := -lhiredis -lm
SERVER_LIBS   := -levent_extra -levent_core -lmd -lm
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
OFFLINE_LIBS  := -ljansson
CLIENT_LIBS   := -lhiredis -lcmocka -lm -lssl -lcrypto

sources  = $(sort $(wildcard $(1)))
objects  = $(patsubst %.c,$(BUILD)/%.o,$(call sources,$(1)))
programs = $(patsubst %.c,$(BUILD)/%,$(call sources,$(1)))

PROTOCOL_OBJECTS := $(call objects,protocol/*.c)
STORAGE_OBJECTS  := $(call objects,storage/*.c storage/*/*.c storage/*/*/*.c)
SERVER_OBJECTS   := $(filter-out $(BUILD)/server/main.o $(BUILD)/server/net/tls$(if $(filter no,$(TLS)),,_none).o \
                    $(BUILD)/server/process/sandbox$(if $(filter no,$(SANDBOX)),,_none).o,$(call objects,server/*.c server/*/*.c server/*/*/*.c))
BENCH_OBJECTS    := $(call objects,tools/bench/*.c)
OFFLINE_OBJECTS  := $(call objects,tools/offline/*.c)
SUPPORT_OBJECTS  := $(call objects,tests/support/*.c tests/support/*/*.c)
PRELOADS         := $(patsubst %.c,$(BUILD)/%.so,$(call sources,tests/fault/preload/*.c))

UNIT_PROTOCOL := $(call programs,tests/unit/protocol/test_*.c)
UNIT_STORAGE  := $(call programs,tests/unit/storage/test_*.c)
UNIT_SERVER   := $(filter-out $(if $(filter no,$(SANDBOX)),%/test_sandbox),$(call programs,tests/unit/server/test_*.c))
MODEL         := $(call programs,tests/model/test_*.c)
INTEGRATION   := $(filter-out $(if $(filter no,$(TLS)),%/test_tls),$(call programs,tests/integration/test_*.c))
FAULT         := $(call programs,tests/fault/test_*.c)
TESTS         := $(UNIT_PROTOCOL) $(UNIT_STORAGE) $(UNIT_SERVER) $(MODEL) $(INTEGRATION) $(FAULT)
EMBED         := tests/embed/run
DOCS          := tests/docs/run
CODE          := $(call sources,protocol/*.[ch] storage/*.[ch] storage/*/*.[ch] \
                 storage/*/*/*.[ch] server/*.[ch] server/*/*.[ch] server/*/*/*.[ch] tools/*/*.[ch] tests/*/*.[ch] tests/*/*/*.[ch])

.DEFAULT_GOAL := all

.PHONY: all
all: $(BUILD)/dueq libdueq ## build the server (build/dueq) and libdueq, static and shared

.PHONY: run
run: bootstrap ## install what is missing, build, start on 127.0.0.1:$(PORT) with data in $(DIR)
	@$(MAKE) --no-print-directory all
	@tools/run-server $(BUILD)/dueq "$(PORT)" "$(DIR)"

.PHONY: test
test: bootstrap ## install what is missing, build and run every test
	@$(MAKE) --no-print-directory check check-fault

.PHONY: bootstrap
bootstrap: ## install the Debian packages that the build and the tests need
	@tools/bootstrap

$(BUILD)/%.o: %.c Makefile VERSION
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/libprotocol.a: $(PROTOCOL_OBJECTS)
	@rm -f $@ && ar rcs $@ $^
$(BUILD)/libstorage.a: $(STORAGE_OBJECTS)
	@rm -f $@ && ar rcs $@ $^
$(BUILD)/libserver.a: $(SERVER_OBJECTS)
	@rm -f $@ && ar rcs $@ $^
$(BUILD)/libbench.a: $(BENCH_OBJECTS)
	@rm -f $@ && ar rcs $@ $^
$(BUILD)/liboffline.a: $(OFFLINE_OBJECTS)
	@rm -f $@ && ar rcs $@ $^
$(BUILD)/libsupport.a: $(SUPPORT_OBJECTS)
	@rm -f $@ && ar rcs $@ $^

SERVER_ARCHIVES := $(BUILD)/libserver.a $(BUILD)/libstorage.a $(BUILD)/libprotocol.a
SERVER_LINK     := $(SERVER_LIBS) $(STORAGE_LIBS) $(PROTOCOL_LIBS)

$(BUILD)/dueq: $(BUILD)/server/main.o $(BUILD)/libbench.a $(BUILD)/liboffline.a $(SERVER_ARCHIVES)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(SERVER_LINK) $(OFFLINE_LIBS)

# ---- libdueq: storage/ as a library. Both forms export the functions of its headers only.

SOVERSION      := $(firstword $(subst ., ,$(VERSION)))
LIBDUEQ_SHARED := libdueq.so.$(VERSION)
LIBDUEQ_SONAME := libdueq.so.$(SOVERSION)
LIBDUEQ_HEADERS := dueq.h types.h options.h stats.h slice.h status.h
PIC_OBJECTS    := $(patsubst $(BUILD)/%,$(BUILD)/pic/%,$(STORAGE_OBJECTS))
# The symbols of the sanitizers are resolved when the program starts.
LIBDUEQ_LDFLAGS := $(if $(SANITIZE),,-Wl,-z,defs)

.PHONY: libdueq
libdueq: $(BUILD)/libdueq.a $(BUILD)/$(LIBDUEQ_SHARED)

$(BUILD)/pic/%.o: %.c Makefile VERSION
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -fPIC -MMD -MP -c -o $@ $<
$(BUILD)/libdueq.a: $(PIC_OBJECTS)
	@$(LD) -r -o $(BUILD)/libdueq.o $^
	@$(OBJCOPY) --wildcard --keep-global-symbol='dueq_*' $(BUILD)/libdueq.o
	@rm -f $@ && ar rcs $@ $(BUILD)/libdueq.o
$(BUILD)/$(LIBDUEQ_SHARED): $(PIC_OBJECTS) storage/libdueq.map
	$(CC) $(ALL_LDFLAGS) -shared -Wl,-soname,$(LIBDUEQ_SONAME) $(LIBDUEQ_LDFLAGS) \
	    -Wl,--version-script=storage/libdueq.map -o $@ $(PIC_OBJECTS) $(STORAGE_LIBS)

# Each unit test links only the layer that it tests: a call across layers does not link.
$(UNIT_PROTOCOL): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libsupport.a $(BUILD)/libprotocol.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PROTOCOL_LIBS) -lcmocka
$(UNIT_STORAGE) $(MODEL): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libsupport.a $(BUILD)/libstorage.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(STORAGE_LIBS) -lcmocka -lm
$(UNIT_SERVER): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libsupport.a $(SERVER_ARCHIVES)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(SERVER_LINK) -lcmocka
$(INTEGRATION) $(FAULT): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libsupport.a $(BUILD)/dueq $(PRELOADS)
	$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o %.a,$^) $(CLIENT_LIBS)
$(BUILD)/tests/fault/preload/%.so: tests/fault/preload/%.c
	@mkdir -p $(@D)
	$(CC) $(filter-out -fsanitize=%,$(ALL_CFLAGS)) -fPIC -shared -o $@ $< -ldl

.PHONY: check check-unit check-model check-integration check-docs check-embed check-fault check-flips check-sandbox check-sanitize soak test-powercut
check: check-unit check-model check-integration check-docs check-embed check-packaging ## unit, model, integration, documents, embedding, packaging
check-unit: $(UNIT_PROTOCOL) $(UNIT_STORAGE) $(UNIT_SERVER) ## unit tests, by layer
	@tools/run-tests $^
check-model: $(MODEL) ## random tests against plain in-memory models (SEED=, STEPS=)
	@tools/run-tests $^
check-flips: $(BUILD)/tests/model/test_bit_flips $(BUILD)/tests/model/test_directory_flips ## thousands of flipped bits in a data directory (SEED=, STEPS=)
	@SEED=$${SEED:-$$$$} STEPS=$${STEPS:-5000} TEST_VERBOSE=1 tools/run-tests $^
soak: $(MODEL) ## the model tests with new seeds, repeated until one fails
	@while tools/run-tests $^ >$(BUILD)/soak.log; do printf .; done; cat $(BUILD)/soak.log; false
test-powercut: $(BUILD)/tests/model/test_power_cut ## 10,000 power cuts and kills (SEED=, STEPS=), then each sync removed in turn
	@STEPS=$${STEPS:-10000} tools/run-tests $<
	@tests/powercut/run
check-integration: $(INTEGRATION) ## the real server with real clients
	@DUEQ_BINARY=$(BUILD)/dueq tools/run-tests $(INTEGRATION)
check-docs: $(BUILD)/dueq ## every example in README.md and docs/commands.md, with redis-cli
	@DUEQ_BINARY=$(BUILD)/dueq tools/run-tests $(DOCS)
check-embed: all ## libdueq installed, found by pkg-config, linked both ways
	@MAKE='$(MAKE)' BUILD='$(BUILD)' CC='$(CC)' CFLAGS='$(filter -fsanitize%,$(ALL_CFLAGS))' \
	    tools/run-tests $(EMBED)
check-fault: $(FAULT) $(PRELOADS) ## kill -9, power cuts, full disks, failing syncs (ROUNDS=)
	@DUEQ_BINARY=$(BUILD)/dueq tools/run-tests $(FAULT)
check-sandbox: $(INTEGRATION) $(FAULT) $(PRELOADS) ## integration and fault tests, each server with `sandbox yes`
	@DUEQ_SANDBOX=yes DUEQ_BINARY=$(BUILD)/dueq tools/run-tests \
	    $(INTEGRATION) $(filter-out %/test_stepped_clock,$(FAULT)) # its own library makes other calls
check-sanitize: ## unit, model and integration tests under ASan and UBSan
	@$(MAKE) --no-print-directory SANITIZE=1 check

$(BUILD)/tests/fixtures/make_format: $(BUILD)/tests/fixtures/make_format.o \
                                     $(BUILD)/libsupport.a $(BUILD)/libstorage.a
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(STORAGE_LIBS) -lcmocka -lm
.PHONY: fixture
fixture: $(BUILD)/tests/fixtures/make_format ## store a data directory of a new format for the tests
	@tests/fixtures/store $(abspath $<)

.PHONY: check-differential test-compat
check-differential: $(BUILD)/dueq ## every reply against a real redis-server 7.0 (SEED=, STEPS=)
	@tests/differential/run $(BUILD)/dueq
test-compat: $(BUILD)/dueq $(BUILD)/tests/fault/preload/preload_faulty_disk.so ## client libraries and published queues, on dueq and on redis-server
	@tests/compat/run $(BUILD)/dueq

.PHONY: check-monitoring
check-monitoring: $(BUILD)/dueq ## metrics, alert rules and dashboard, with a real Prometheus
	@tools/bootstrap monitoring
	@DUEQ_BINARY=$(BUILD)/dueq tools/run-tests tests/monitoring/run

.PHONY: fuzz
fuzz: ## fuzz the request reader and the journal for FUZZ_SECONDS each (clang, libFuzzer)
	@tests/fuzz/run

.PHONY: bench
bench: $(BUILD)/dueq ## side by side with Redis and beanstalkd; prints ratios
	@tests/bench/compare $(BUILD)/dueq

.PHONY: lint lint-layers lint-docs lint-tests lint-tidy check-commits format format-check
lint: lint-layers lint-docs lint-tests lint-tidy ## includes, documents, forgotten tests, clang-tidy, cppcheck
lint-layers:
	@tools/lint-layers
lint-docs:
	@tools/lint-docs ARCHITECTURE.md CONTRIBUTING.md README.md docs/commands.md tests/README.md
	@tools/lint-reference docs/commands.md
lint-tests:
	@tools/lint-tests $(patsubst $(BUILD)/%,%.c,$(TESTS))
lint-tidy:
	@tools/lint-code $(filter-out tests/embed/%,$(filter %.c,$(CODE)))
check-commits: ## subjects and bodies of the commits in RANGE (origin/main..HEAD)
	@tools/check-commits $(RANGE)
format: ## rewrite the code with clang-format
	clang-format -i $(CODE)
format-check: ## fail when clang-format would change something
	clang-format --dry-run -Werror $(CODE)

include tools/packaging/packaging.mk

.PHONY: clean
clean: ## remove build/
	rm -rf build

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(filter %file %.mk,$(MAKEFILE_LIST))

# Keep objects of tests; include dependencies.
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
