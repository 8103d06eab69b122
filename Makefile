# vRead for Xen: every entry point. `make help` lists them.
#
# C is built per variant into build/<variant>/: release (what is installed and
# measured), asan (Address- and UndefinedBehaviorSanitizer; what tests run).

VARIANT ?= release
B := build/$(VARIANT)
VENV := build/venv
PY := $(VENV)/bin/python
PYTEST := $(VENV)/bin/pytest

# V=1 shows commands whole.
ifeq ($(V),)
say = @printf '  %-5s %s\n' $(1) $@;
else
say =
endif

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

##@ Start here
.PHONY: help
help: ## This list
	@awk 'BEGIN { FS = ":.*## " } /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	      /^[a-z][a-z-]*:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: all module ## The main job on an emulated Xen host, with a table at the end
	@$(PY) -m tools.demo

.PHONY: test
test: ## All tests but the slow ones; ends with "N passed"
	@$(MAKE) --no-print-directory all module lint
	@$(MAKE) --no-print-directory all VARIANT=asan
	@$(MAKE) --no-print-directory fuzz-build
	@$(PYTEST) -n 2 --dist loadgroup -m 'not slow' tests

.PHONY: check
check: ## The fast inner loop: build, format, lint, native tests (no Xen, no Hadoop)
	@$(MAKE) --no-print-directory all lint
	@$(MAKE) --no-print-directory all VARIANT=asan
	@$(MAKE) --no-print-directory fuzz-build
	@$(PYTEST) -q -n 2 --dist loadgroup -m 'not slow and not xen and not hadoop and not appliance and not fuzz' tests

.PHONY: test-slow
test-slow: all module ## Tests of minutes to a quarter of an hour (libguestfs inside an emulated dom0)
	@$(PYTEST) -m slow tests

.PHONY: lab
lab: all module ## A shell in dom0 of an emulated Xen host
	@$(PY) -m tools.lab shell

##@ Benchmarks
.PHONY: bench
bench: all ## Native benches; writes build/bench/native.json
	@$(PY) -m tools.bench native

.PHONY: bench-image
bench-image: all ## Benches of disk images, cold and live; writes build/bench/image.json
	@$(PY) -m tools.bench image

.PHONY: bench-freshness
bench-freshness: all ## How soon after PUBLISH a block is read; writes build/bench/freshness.json
	@$(PY) -m tools.bench freshness

.PHONY: bench-xen
bench-xen: all module ## Benches on an emulated Xen host; writes build/bench/xen.json
	@$(PY) -m tools.bench xen

##@ Pieces
# ---- setup -----------------------------------------------------------------
SETUP := build/.setup
.PHONY: setup
setup: $(SETUP) ## Installs Debian packages (packages.txt) and the Python tools of tests
$(SETUP): packages.txt tests/requirements.txt tools/setup/install-packages.sh
	@mkdir -p build
	@tools/setup/install-packages.sh packages.txt
	@[ -x $(PY) ] || /usr/bin/python3 -m venv $(VENV)
	@$(VENV)/bin/pip install -q --disable-pip-version-check -r tests/requirements.txt
	@touch $@

# ---- C ---------------------------------------------------------------------
PKGS := xenstore xengnttab xenevtchn xentoolcore ext2fs com_err blkid uuid libisal inih jansson libsystemd zlib libzstd liburing libseccomp
CC ?= gcc
PREFIX ?= /usr
LIBEXECDIR ?= $(PREFIX)/libexec/vread
# Names cut by snprintf are meant to be: buffers are sized for what can be valid.
WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wno-format-truncation
SAN_asan := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1
SAN_release := -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong
CFLAGS = -std=gnu17 -g $(WARN) $(SAN_$(VARIANT)) -D_GNU_SOURCE -fPIC -pthread -MMD -MP
CPPFLAGS = -Ixenstore-schema -Ibuild/generated -Ilinux-frontend/uapi -Ihdfs-native/libvread -Ixen-backend -DVREAD_LIBEXECDIR='"$(LIBEXECDIR)"'
LDFLAGS = -pthread $(filter -fsanitize=%,$(SAN_$(VARIANT)))
# What is not needed is not loaded: vreadd itself has no library that reads guests' file systems.
LIBS = -Wl,--as-needed $(shell pkg-config --libs $(PKGS))

GENERATED := build/generated/vread-nodes.h build/generated/vread-nodes.c

BACKEND_SRC := $(sort $(shell find xen-backend/base xen-backend/port xen-backend/ring xen-backend/policy \
	xen-backend/block xen-backend/disk xen-backend/fs xen-backend/layout xen-backend/control \
	xen-backend/parser -name '*.c' ! -path xen-backend/parser/main.c))
LIBVREAD_SRC := $(sort $(wildcard hdfs-native/libvread/*.c))
JNI_SRC := $(sort $(wildcard hdfs-native/jni/*.c))
CLI_SRC := $(sort $(wildcard tools/vread/*.c))
PROVISION_SRC := $(sort $(wildcard xen-backend/provision/*.c))
UNIT_SRC := $(sort $(wildcard tests/unit/*.c))
obj = $(patsubst %.c,$(B)/obj/%.o,$(1))
BACKEND_OBJ := $(call obj,$(BACKEND_SRC) xenstore-schema/check.c build/generated/vread-nodes.c)
LIBVREAD_OBJ := $(call obj,$(LIBVREAD_SRC))
JNI_OBJ := $(call obj,$(JNI_SRC))
UNIT_BIN := $(patsubst tests/unit/%.c,$(B)/unit/%,$(UNIT_SRC))
FAKEXEN_SRC := $(sort $(wildcard tests/unit/fakexen/*.c))

.PHONY: all
all: $(SETUP) ## Daemon, provisioner, library, CLI and unit tests of one VARIANT
	@$(MAKE) --no-print-directory -j$$(nproc) binaries
.PHONY: binaries
binaries: $(B)/vreadd $(B)/vread-parser $(B)/vread-provision $(B)/libvread.so.1 $(B)/vread $(UNIT_BIN)
binaries: $(B)/imagebench $(B)/vreadbench $(B)/blockstream $(B)/blockctl $(B)/imagectl $(B)/torture
binaries: $(B)/torture-owner $(B)/torture-reader $(B)/libvread_jni.so
ifeq ($(VARIANT),release)
binaries: build/java/vread-hdfs.jar
endif

$(GENERATED) &: xenstore-schema/vread.schema.json xenstore-schema/generate.py
	@mkdir -p build/generated
	/usr/bin/python3 xenstore-schema/generate.py xenstore-schema/vread.schema.json build/generated

$(B)/obj/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(B)/libbackend.a: $(BACKEND_OBJ)
	$(call say,AR)rm -f $@ && ar rcs $@ $^
$(B)/libvread.a: $(LIBVREAD_OBJ)
	$(call say,AR)rm -f $@ && ar rcs $@ $^
$(B)/libvread.so.1: $(LIBVREAD_OBJ) hdfs-native/libvread/libvread.map
	$(call say,LINK)$(CC) -shared -Wl,-soname,libvread.so.1 -Wl,--version-script,hdfs-native/libvread/libvread.map \
		-Wl,-z,defs $(LDFLAGS) -o $@ $(LIBVREAD_OBJ)
$(B)/vreadd: $(call obj,xen-backend/vreadd.c) $(B)/libbackend.a
	$(call say,LINK)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
$(B)/vread-parser: $(call obj,xen-backend/parser/main.c) $(B)/libbackend.a
	$(call say,LINK)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
$(B)/vread-provision: $(call obj,$(PROVISION_SRC)) $(B)/libbackend.a
	$(call say,LINK)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) $(shell pkg-config --libs libguestfs)
$(B)/vread: $(call obj,$(CLI_SRC)) $(B)/libvread.a $(B)/libbackend.a
	$(call say,LINK)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
$(B)/imagebench: $(call obj,tools/bench/imagebench.c)
	$(call say,LINK)$(CC) $(LDFLAGS) -o $@ $^
$(B)/blockstream: $(call obj,tools/bench/blockstream.c)
	$(call say,LINK)$(CC) $(LDFLAGS) -o $@ $^
$(B)/vreadbench: $(call obj,tools/bench/vreadbench.c) $(B)/libvread.a
	$(call say,LINK)$(CC) $(LDFLAGS) -o $@ $^
$(B)/blockctl: $(call obj,tests/image/blockctl.c) $(B)/libbackend.a
	$(call say,LINK)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
$(B)/imagectl: $(call obj,tests/image/imagectl.c) $(B)/libbackend.a
	$(call say,LINK)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
TORTURE_OBJ := $(call obj,tests/image/torture_content.c tests/image/torture_owner.c)
$(B)/torture: $(call obj,tests/image/torture.c) $(TORTURE_OBJ) $(B)/libbackend.a
	$(call say,LINK)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
$(B)/torture-owner: $(call obj,tests/xen/torture_owner_main.c) $(TORTURE_OBJ) $(B)/libbackend.a
	$(call say,LINK)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
$(B)/torture-reader: $(call obj,tests/xen/torture_reader.c) $(call obj,tests/image/torture_content.c) $(B)/libvread.a
	$(call say,LINK)$(CC) $(LDFLAGS) -o $@ $^
$(B)/unit/%: $(B)/obj/tests/unit/%.o $(B)/libbackend.a $(B)/libvread.a
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) -lcmocka
# What a program defines itself is not taken from a library.
$(B)/unit/test_port_xen $(B)/unit/test_xen_disks: $(call obj,$(FAKEXEN_SRC))

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)

# ---- fuzzing -------------------------------------------------------------------
include tests/fuzz/fuzz.mk

# ---- Hadoop plug-ins -----------------------------------------------------------
# javac writes the headers the JNI part is compiled with; the jar carries the release library.
JAVA_IN := hdfs-native/java/pom.xml $(sort $(shell find hdfs-native/java/src/main -type f))
JAVA_HOME ?= $(patsubst %/bin/javac,%,$(realpath $(shell command -v javac)))
build/java/compiled: $(JAVA_IN) hdfs-native/java/build.sh | $(SETUP)
	$(call say,MVN)hdfs-native/java/build.sh -DskipTests package
	@touch $@
build/java/vread-hdfs.jar: build/java/compiled $(B)/libvread_jni.so
	$(call say,JAR)hdfs-native/java/pack.sh $@ $(B)/libvread_jni.so
$(JNI_OBJ): CPPFLAGS += -Ibuild/java/include -I$(JAVA_HOME)/include -I$(JAVA_HOME)/include/linux
$(JNI_OBJ): build/java/compiled
$(B)/libvread_jni.so: $(JNI_OBJ) $(B)/libvread.a hdfs-native/jni/jni.map
	$(call say,LINK)$(CC) -shared -Wl,-soname,libvread_jni.so -Wl,--version-script,hdfs-native/jni/jni.map \
		-Wl,-z,defs $(LDFLAGS) -o $@ $(JNI_OBJ) $(B)/libvread.a

# ---- kernel module -----------------------------------------------------------
KVER ?= $(shell ls /lib/modules 2>/dev/null | grep -- '^6\.1\..*-amd64$$' | sort -V | tail -n 1)
KDIR ?= /lib/modules/$(KVER)/build
.PHONY: module
module: $(SETUP) ## xen-vreadfront.ko for the newest Debian kernel installed (KVER=, KDIR=)
	@linux-frontend/build.sh "$(KVER)" "$(KDIR)" build/module

# ---- installing --------------------------------------------------------------
LIBDIR ?= $(PREFIX)/lib/$(shell $(CC) -print-multiarch)
MANDIR := $(PREFIX)/share/man
VERSION := $(shell sed -n 's/^\#define VREAD_VERSION "\(.*\)"/\1/p' xen-backend/base/version.h)
.PHONY: install
install: all ## Installs under DESTDIR/PREFIX (/usr): dom0's programs, libvread, module source for DKMS
	install -D -t $(DESTDIR)$(PREFIX)/sbin $(B)/vreadd $(B)/vread-provision
	install -D -t $(DESTDIR)$(LIBEXECDIR) $(B)/vread-parser
	install -D -t $(DESTDIR)$(PREFIX)/bin $(B)/vread
	install -D -m 644 -t $(DESTDIR)$(LIBDIR) $(B)/libvread.so.1
	ln -sf libvread.so.1 $(DESTDIR)$(LIBDIR)/libvread.so
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/include hdfs-native/libvread/vread.h
	install -D -m 644 -t $(DESTDIR)$(LIBDIR) $(B)/libvread_jni.so
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/vread build/java/vread-hdfs.jar
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' \
		hdfs-native/libvread/vread.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/vread.pc
	[ -e $(DESTDIR)/etc/vread/vread.conf ] || \
		install -D -m 644 -t $(DESTDIR)/etc/vread xen-backend/control/vread.conf
	install -D -m 644 -t $(DESTDIR)/lib/systemd/system xen-backend/control/vreadd.service
	install -D -m 644 -t $(DESTDIR)$(MANDIR)/man1 tools/vread/vread.1
	install -D -m 644 -t $(DESTDIR)$(MANDIR)/man3 hdfs-native/libvread/libvread.3
	install -D -m 644 -t $(DESTDIR)$(MANDIR)/man5 xen-backend/control/vread.conf.5
	install -D -m 644 -t $(DESTDIR)$(MANDIR)/man8 xen-backend/vreadd.8 xen-backend/provision/vread-provision.8
	linux-frontend/build.sh --sources $(DESTDIR)/usr/src/vread-$(VERSION)
	install -D -m 644 -t $(DESTDIR)/lib/udev/rules.d linux-frontend/60-vread.rules

# ---- style -------------------------------------------------------------------
C_FILES = $(shell git ls-files '*.c' '*.h')
.PHONY: format
format: $(SETUP) ## Formats C and Python in place
	clang-format -i $(C_FILES)
	$(VENV)/bin/ruff format -q tools tests xenstore-schema
.PHONY: lint
lint: $(SETUP) ## Formatters in check mode, ruff, shellcheck, mandoc, sparse on the module
	@clang-format --dry-run -Werror $(C_FILES)
	@$(VENV)/bin/ruff format -q --check tools tests xenstore-schema
	@$(VENV)/bin/ruff check -q tools tests xenstore-schema
	@git ls-files -z | xargs -0 grep -lE -m1 '^#! ?/(usr/)?bin/(env )?(ba)?sh' -- | xargs -r shellcheck
	@git ls-files -z '*.[1-8]' | xargs -0 -r mandoc -T lint -W warning >&2
	@echo "lint: ok"

.PHONY: clean
clean: ## Removes everything built but the caches of downloads
	rm -rf build/release build/asan build/fuzz/obj build/fuzz/bin build/generated build/module build/java
.PHONY: distclean
distclean: ## Removes build/ whole
	rm -rf build
