# What makes dueq ready to be installed: included by the Makefile. Scripts and files: this folder.

# Files below DESTDIR, at the paths where they are used later.
INSTALLED_HEADERS := $(addprefix $(DESTDIR)$(INCLUDEDIR)/dueq/,$(LIBDUEQ_HEADERS))
INSTALLED_LIBRARIES := $(addprefix $(DESTDIR)$(LIBDIR)/,libdueq.a $(LIBDUEQ_SHARED) \
                       $(LIBDUEQ_SONAME) libdueq.so pkgconfig/dueq.pc)
MAN_PAGES := $(wildcard docs/man/*.[157])
# dueq-push(1) and others are names of one page, which has a section for each.
PAGE_NAMES := $(filter-out $(MAN_PAGES:docs/man/%=%),$(shell sed -n 's/^\.SS \([a-z]*\)$$/dueq-\1.1/p' docs/man/dueq-queue.1))
INSTALLED_PROGRAM := $(DESTDIR)$(BINDIR)/dueq $(DESTDIR)$(BASHDIR)/dueq \
                     $(DESTDIR)$(ZSHDIR)/_dueq $(DESTDIR)$(FISHDIR)/dueq.fish \
                     $(foreach page,$(MAN_PAGES),$(DESTDIR)$(MANDIR)/man$(patsubst .%,%,$(suffix $(page)))/$(notdir $(page))) \
                     $(addprefix $(DESTDIR)$(MANDIR)/man1/,$(PAGE_NAMES))

.PHONY: install uninstall
install: all ## install server, man pages, completion and libdueq under PREFIX, below DESTDIR (then ldconfig)
	install -D -m 755 $(BUILD)/dueq $(DESTDIR)$(BINDIR)/dueq
	for page in $(MAN_PAGES); do \
	    install -D -m 644 $$page $(DESTDIR)$(MANDIR)/man$${page##*.}/$${page##*/} || exit; done
	for page in $(PAGE_NAMES); do ln -sf dueq-queue.1 $(DESTDIR)$(MANDIR)/man1/$$page || exit; done
	install -D -m 644 tools/packaging/complete.bash $(DESTDIR)$(BASHDIR)/dueq
	install -D -m 644 tools/packaging/complete.zsh $(DESTDIR)$(ZSHDIR)/_dueq
	install -D -m 644 tools/packaging/complete.fish $(DESTDIR)$(FISHDIR)/dueq.fish
	install -D -m 644 -t $(DESTDIR)$(LIBDIR) $(BUILD)/libdueq.a $(BUILD)/$(LIBDUEQ_SHARED)
	ln -sf $(LIBDUEQ_SHARED) $(DESTDIR)$(LIBDIR)/$(LIBDUEQ_SONAME)
	ln -sf $(LIBDUEQ_SONAME) $(DESTDIR)$(LIBDIR)/libdueq.so
	for header in $(LIBDUEQ_HEADERS); do \
	    install -D -m 644 storage/$$header $(DESTDIR)$(INCLUDEDIR)/dueq/$$header || exit; done
	@mkdir -p $(DESTDIR)$(LIBDIR)/pkgconfig
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' \
	    -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' storage/libdueq.pc.in \
	    > $(DESTDIR)$(LIBDIR)/pkgconfig/dueq.pc
uninstall: ## remove what install put under PREFIX
	rm -f $(INSTALLED_PROGRAM) $(INSTALLED_LIBRARIES) $(INSTALLED_HEADERS)
	-@rmdir $(DESTDIR)$(INCLUDEDIR)/dueq 2>/dev/null

# Objects of its own: with link-time optimisation, no tables for a debugger, and what is not called is left
# out, which is most of what the libraries bring. A static PIE: no shared library, and still a random address.
STATIC_CFLAGS  := -O2 -falign-functions=4 -fPIE -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables
STATIC_LDFLAGS := -s -Wl,--gc-sections,-z,relro,-z,now -Wl,--no-eh-frame-hdr,-T,tools/packaging/static.ld \
                  -Wno-stringop-overflow # of libevent, when it is inlined
STATIC_MAKE     = $(MAKE) --no-print-directory STATIC=1 LTO=yes TLS=no SANDBOX=no ARGON2=no CURL=no MOSQUITTO=no TERMINAL=no BUILD=$(BUILD)/static

# musl-gcc links no static PIE by itself. Threads get the stack that the program asks for: musl's 128 KB are less
# than paths and records take.
MUSL_CC      ?= musl-gcc
MUSL_DIR     ?= /usr/lib/$(shell uname -m)-linux-musl
MUSL_HEADERS ?= /usr/include# the kernel's, and jansson's, of the machine that the program is for
MUSL_LDFLAGS := -L$(BUILD)/static-libraries/lib -static -nostartfiles $(addprefix $(MUSL_DIR)/,rcrt1.o crti.o crtn.o) \
                -Wl,-pie,--no-dynamic-linker,-z,text,-z,stack-size=1048576

ifdef STATIC
$(PROTOCOL_OBJECTS) $(STORAGE_OBJECTS) $(SERVER_OBJECTS) $(BENCH_OBJECTS) $(OFFLINE_OBJECTS): tools/packaging/packaging.mk
endif

.PHONY: static static-glibc
static: $(BUILD)/static-libraries/lib/libevent.a ## one program without shared libraries, TLS and argon2id, with musl: build/static/dueq
	+@$(STATIC_MAKE) CC='$(MUSL_CC)' CFLAGS='$(STATIC_CFLAGS)' LDFLAGS='$(STATIC_LDFLAGS) $(MUSL_LDFLAGS)' \
	    CPPFLAGS='-isystem $(BUILD)/static-libraries/include -idirafter $(BUILD)/static-libraries/kernel' \
	    $(BUILD)/static/dueq
$(BUILD)/static-libraries/lib/libevent.a: tools/packaging/static-libraries
	@tools/bootstrap static
	@HEADERS=$(MUSL_HEADERS) tools/packaging/static-libraries $(BUILD)/static-libraries '$(MUSL_CC)' '$(STATIC_CFLAGS) -flto=auto -ffat-lto-objects'
static-glibc: ## the same with glibc and Debian's archives of the libraries, which is twice as large: build/static-glibc/dueq
	+@$(STATIC_MAKE)-glibc CFLAGS='$(STATIC_CFLAGS) -Os' $(BUILD)/static-glibc/dueq \
	    LDFLAGS='$(STATIC_LDFLAGS) -static-pie -Wl,-z,pack-relative-relocs'

.PHONY: dist deb
dist: ## the last commit as build/dueq-VERSION.tar.gz: the same bytes each time
	@tools/packaging/dist $(BUILD)
deb: ## Debian packages of the last commit in build/deb, checked with lintian
	@tools/bootstrap packages
	@tools/packaging/build-deb $(BUILD)

# Not in `make check`: root, a download of some 100 MB, and minutes.
.PHONY: check-packaging check-static check-deb
check-packaging: $(BUILD)/dueq ## manual, completion, `make dist`, scripts of init systems
	@MAKE='$(MAKE)' BUILD='$(BUILD)' tools/run-tests tests/packaging/run
check-static: static $(BUILD)/tests/integration/test_edge ## the static program starts, keeps a job, and is small, its memory too
	@BUILD='$(BUILD)' tools/run-tests tests/packaging/static
	@DUEQ_BINARY=$(BUILD)/static/dueq tools/run-tests $(BUILD)/tests/integration/test_edge
check-deb: deb ## packages installed, started, upgraded and purged in a fresh Debian (root, network)
	@BUILD='$(BUILD)' tools/run-tests tests/packaging/deb
