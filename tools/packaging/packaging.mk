# What makes dueq ready to be installed: included by the Makefile. Scripts and files: this folder.

# Files below DESTDIR, at the paths where they are used later.
INSTALLED_HEADERS := $(addprefix $(DESTDIR)$(INCLUDEDIR)/dueq/,$(LIBDUEQ_HEADERS))
INSTALLED_LIBRARIES := $(addprefix $(DESTDIR)$(LIBDIR)/,libdueq.a $(LIBDUEQ_SHARED) \
                       $(LIBDUEQ_SONAME) libdueq.so pkgconfig/dueq.pc)
INSTALLED_PROGRAM := $(DESTDIR)$(BINDIR)/dueq $(DESTDIR)$(MANDIR)/man1/dueq.1 \
                     $(DESTDIR)$(MANDIR)/man5/dueq.conf.5 $(DESTDIR)$(BASHDIR)/dueq

.PHONY: install uninstall
install: all ## install server, man pages, completion and libdueq under PREFIX, below DESTDIR (then ldconfig)
	install -D -m 755 $(BUILD)/dueq $(DESTDIR)$(BINDIR)/dueq
	install -D -m 644 server/dueq.1 $(DESTDIR)$(MANDIR)/man1/dueq.1
	install -D -m 644 tools/packaging/dueq.conf.5 $(DESTDIR)$(MANDIR)/man5/dueq.conf.5
	install -D -m 644 tools/packaging/dueq.bash $(DESTDIR)$(BASHDIR)/dueq
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

# Objects of its own, for size: -Os, no tables for a debugger, and what is not called is left out, which
# is most of what the libraries bring. static-pie: no shared library, and still a random address.
STATIC_CFLAGS  := -Os -flto=auto -ffat-lto-objects -fPIE -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables
STATIC_LDFLAGS := -static-pie -s -Wl,--gc-sections,-z,relro,-z,now,-z,pack-relative-relocs -Wl,--no-eh-frame-hdr,-T,tools/packaging/static.ld

ifdef STATIC
$(PROTOCOL_OBJECTS) $(STORAGE_OBJECTS) $(SERVER_OBJECTS) $(BENCH_OBJECTS) $(OFFLINE_OBJECTS): tools/packaging/packaging.mk
endif

.PHONY: static
static: ## one program without shared libraries and TLS: build/static/dueq
	@$(MAKE) --no-print-directory STATIC=1 TLS=no SANDBOX=no BUILD=$(BUILD)/static CFLAGS='$(STATIC_CFLAGS)' \
	    LDFLAGS='$(STATIC_LDFLAGS)' $(BUILD)/static/dueq

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
check-static: static ## the static program starts, keeps a job, and is small
	@BUILD='$(BUILD)' tools/run-tests tests/packaging/static
check-deb: deb ## packages installed, started, upgraded and purged in a fresh Debian (root, network)
	@BUILD='$(BUILD)' tools/run-tests tests/packaging/deb
