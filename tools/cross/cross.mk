# Builds for another architecture: included by the Makefile. ARCH is Debian's name of it.
#   armhf, arm64, riscv64    for devices
#   i386, s390x              for the tests: 32 bits at full speed, and the other byte order
# Libraries and headers come from Debian's packages (sysroot), into build/cross/ARCH; this machine's own
# packages are not touched. The suites: riscv64 is in Debian since 13, and 32-bit ARM has a time of
# 64 bits since then; the others run on Debian 12 and later. CROSS_SUITE=forky takes another one.

ARCH ?= armhf

CROSS_TARGET_armhf   := arm-linux-gnueabihf
CROSS_TARGET_arm64   := aarch64-linux-gnu
CROSS_TARGET_riscv64 := riscv64-linux-gnu
CROSS_TARGET_s390x   := s390x-linux-gnu
CROSS_TARGET_i386    := i686-linux-gnu
CROSS_SUITE_armhf    := trixie
CROSS_SUITE_riscv64  := trixie
# libevent's functions take times as the program has them, so the program has them as libevent was built.
CROSS_CPPFLAGS_armhf := -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64
CROSS_CPPFLAGS_i386  := -D_FILE_OFFSET_BITS=64

CROSS         := $(BUILD)/cross/$(ARCH)
# Its cmocka has other names for some assertions, and says so.
ifeq ($(CROSS_SUITE),forky)
CROSS_CPPFLAGS_$(ARCH) += -Wno-deprecated-declarations
endif
CROSS_TARGET  := $(CROSS_TARGET_$(ARCH))
CROSS_SUITE   := $(or $(CROSS_SUITE_$(ARCH)),bookworm)
CROSS_SYSROOT := $(abspath $(CROSS))/sysroot
CROSS_LIBS    := $(CROSS_SYSROOT)/usr/lib/$(patsubst i686%,i386%,$(CROSS_TARGET))
CROSS_MUSL    := $(subst -gnu,-musl,$(CROSS_TARGET))
CROSS_MAKE     = $(MAKE) --no-print-directory BUILD=$(CROSS) AR=$(CROSS_TARGET)-ar LD=$(CROSS_TARGET)-ld \
    OBJCOPY=$(CROSS_TARGET)-objcopy CPPFLAGS='$(CPPFLAGS) $(CROSS_CPPFLAGS_$(ARCH))' \
    CC='$(filter ccache,$(CC)) $(CROSS_TARGET)-gcc --sysroot=$(CROSS_SYSROOT) -B$(CROSS_LIBS)' \
    LDFLAGS='$(LDFLAGS) -L$(CROSS_LIBS)'

.PHONY: cross cross-static cross-small cross-tools check-cross
cross: cross-tools ## server and libdueq for ARCH=armhf, arm64 or riscv64, in build/cross/ARCH
	+@$(CROSS_MAKE) all
cross-static: cross-tools ## the program of `make static` for ARCH: build/cross/ARCH/static/dueq
	@tools/bootstrap static
	@tools/cross/musl $(CROSS_TARGET) $(CROSS_MUSL) $(CROSS)
	+@$(CROSS_MAKE) static MUSL_CC=$(abspath $(CROSS))/musl-gcc MUSL_DIR=$(CROSS_SYSROOT)/usr/lib/$(CROSS_MUSL) \
	    MUSL_HEADERS=$(CROSS_SYSROOT)/usr/include
cross-small: cross-tools ## libdueq-small for ARCH: build/cross/ARCH/small
	+@$(CROSS_MAKE) libdueq-small
cross-tools:
	$(if $(CROSS_TARGET),,$(error ARCH is one of armhf arm64 riscv64 s390x i386))
	@tools/bootstrap cross $(CROSS_TARGET)
	@tools/cross/sysroot $(ARCH) $(CROSS_SUITE) $(CROSS)/sysroot
	$(if $(filter arm64 riscv64 s390x,$(ARCH)),@$(CROSS_TARGET)-gcc --sysroot=$(CROSS_SYSROOT) -B$(CROSS_LIBS) -L$(CROSS_LIBS) -D_GNU_SOURCE \
	    -fPIC -shared -o $(CROSS)/emulator.so tools/cross/emulator.c)
	@tools/cross/runner $(ARCH) $(CROSS)

# The programs of the integration tests are this machine's: only the server is of ARCH.
CROSS_EMULATED := $(if $(filter-out i386,$(ARCH)),DUEQ_EMULATED=yes)
# A suite that fails does not keep the next one from running. CROSS_CHECKS names some of them.
CROSS_CHECKS ?= unit model integration
check-cross: $(INTEGRATION) cross ## unit, model and integration tests of a build for ARCH, under qemu (SEED=, STEPS=, CROSS_CHECKS=)
	+@export STEPS=$${STEPS:-50} TEST_SECONDS=$${TEST_SECONDS:-1800}; failed=; \
	for suite in $(CROSS_CHECKS); do \
	    echo "$(ARCH), $$suite tests"; \
	    case $$suite in \
	    integration) $(CROSS_EMULATED) DUEQ_BINARY=$(abspath $(CROSS))/run-dueq tools/run-tests $(INTEGRATION) ;; \
	    *) RUNNER=$(CROSS)/run $(CROSS_MAKE) check-$$suite ;; \
	    esac || failed="$$failed $$suite"; \
	done; \
	[ -z "$$failed" ] || { echo "$(ARCH), failed:$$failed"; exit 1; }
