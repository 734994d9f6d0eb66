# dueq: `make run` and `make test` are all a newcomer needs; `make help` lists the rest.

BUILD      ?= build
CC         ?= cc
PREFIX     ?= /usr/local
PORT       ?= 6379
DIR        ?= ./data
VERSION    := $(shell cat VERSION)

OPTIMISE   ?= -O2
CFLAGS     ?= $(OPTIMISE) -g
WARNINGS   := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
              -Wformat=2 -Wundef -Wvla -Wwrite-strings -Wpointer-arith
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE -I. -DDUEQ_VERSION='"$(VERSION)"' -pthread $(WARNINGS) $(CFLAGS)
ifdef DEVELOPER
ALL_CFLAGS += -Werror
endif
ifdef SANITIZE
BUILD      := build/sanitize
ALL_CFLAGS += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -O1
ALL_LDFLAGS += -fsanitize=address,undefined
endif
ALL_LDFLAGS += $(LDFLAGS) -pthread

STORAGE_LIBS  := -llmdb -lxxhash
PROTOCOL_LIBS := -lhiredis -lm
SERVER_LIBS   := -levent_core -lm
CLIENT_LIBS   := -lhiredis -lcmocka -lm

sources  = $(sort $(wildcard $(1)))
objects  = $(patsubst %.c,$(BUILD)/%.o,$(call sources,$(1)))
programs = $(patsubst %.c,$(BUILD)/%,$(call sources,$(1)))

PROTOCOL_OBJECTS := $(call objects,protocol/*.c)
STORAGE_OBJECTS  := $(call objects,storage/*.c storage/*/*.c)
SERVER_OBJECTS   := $(filter-out $(BUILD)/server/main.o,$(call objects,server/*.c server/*/*.c))
BENCH_OBJECTS    := $(call objects,tools/bench/*.c)
SUPPORT_OBJECTS  := $(call objects,tests/support/*.c)
PRELOADS         := $(patsubst %.c,$(BUILD)/%.so,$(call sources,tests/fault/preload/*.c))

UNIT_PROTOCOL := $(call programs,tests/unit/protocol/test_*.c)
UNIT_STORAGE  := $(call programs,tests/unit/storage/test_*.c)
UNIT_SERVER   := $(call programs,tests/unit/server/test_*.c)
MODEL         := $(call programs,tests/model/test_*.c)
INTEGRATION   := $(call programs,tests/integration/test_*.c)
FAULT         := $(call programs,tests/fault/test_*.c)
TESTS         := $(UNIT_PROTOCOL) $(UNIT_STORAGE) $(UNIT_SERVER) $(MODEL) $(INTEGRATION) $(FAULT)
CODE          := $(call sources,protocol/*.[ch] storage/*.[ch] storage/*/*.[ch] server/*.[ch] \
                 server/*/*.[ch] tools/*/*.[ch] tests/*/*.[ch] tests/*/*/*.[ch])

.DEFAULT_GOAL := all

.PHONY: all
all: $(BUILD)/dueq ## build the server (build/dueq) and the libraries

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
$(BUILD)/libserver.a: $(SERVER_OBJECTS) $(BENCH_OBJECTS)
	@rm -f $@ && ar rcs $@ $^
$(BUILD)/libsupport.a: $(SUPPORT_OBJECTS)
	@rm -f $@ && ar rcs $@ $^

SERVER_ARCHIVES := $(BUILD)/libserver.a $(BUILD)/libstorage.a $(BUILD)/libprotocol.a
SERVER_LINK     := $(SERVER_LIBS) $(STORAGE_LIBS) $(PROTOCOL_LIBS)

$(BUILD)/dueq: $(BUILD)/server/main.o $(SERVER_ARCHIVES)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(SERVER_LINK)

# Each test links only the layer it tests: a call across layers does not link.
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

.PHONY: check check-unit check-model check-integration check-fault check-sanitize
check: check-unit check-model check-integration ## unit, model and integration tests
check-unit: $(UNIT_PROTOCOL) $(UNIT_STORAGE) $(UNIT_SERVER) ## unit tests, by layer
	@tools/run-tests $^
check-model: $(MODEL) ## random tests against plain in-memory models (SEED=, STEPS=)
	@tools/run-tests $^
check-integration: $(INTEGRATION) ## the real server with real clients
	@DUEQ_BINARY=$(BUILD)/dueq tools/run-tests $(INTEGRATION)
check-fault: $(FAULT) $(PRELOADS) ## kill -9, power cuts, full disks, failing syncs (ROUNDS=)
	@DUEQ_BINARY=$(BUILD)/dueq tools/run-tests $(FAULT)
check-sanitize: ## unit, model and integration tests under ASan and UBSan
	@$(MAKE) --no-print-directory SANITIZE=1 check

.PHONY: fuzz
fuzz: ## fuzz the request reader and the journal for FUZZ_SECONDS each (clang, libFuzzer)
	@tests/fuzz/run

.PHONY: bench
bench: $(BUILD)/dueq ## side by side with Redis and beanstalkd; prints ratios
	@tests/bench/compare $(BUILD)/dueq

.PHONY: lint lint-layers lint-tidy format format-check
lint: lint-layers lint-tidy ## include rules between the layers, clang-tidy, cppcheck
lint-layers:
	@tools/lint-layers
lint-tidy:
	@tools/lint-code $(filter %.c,$(CODE))
format: ## rewrite the code with clang-format
	clang-format -i $(CODE)
format-check: ## fail when clang-format would change something
	clang-format --dry-run -Werror $(CODE)

.PHONY: install
install: all ## install the binary and the man page under PREFIX
	install -D -m 755 $(BUILD)/dueq $(DESTDIR)$(PREFIX)/bin/dueq
	install -D -m 644 server/dueq.1 $(DESTDIR)$(PREFIX)/share/man/man1/dueq.1

.PHONY: clean
clean: ## remove build/
	rm -rf build

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' Makefile

# Keep objects of tests; include dependencies.
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
