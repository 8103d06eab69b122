# vRead for Xen: builds, tests, benches, demos, packages. `make help` lists the targets.
#
# C is built per VARIANT into build/VARIANT/: release (installed and measured), asan (Address- and
# UndefinedBehaviorSanitizer, for tests), tsan (ThreadSanitizer), fuzz (tests/fuzz/fuzz.mk).

VARIANT ?= release
B := build/$(VARIANT)
VENV := build/venv
PY := $(VENV)/bin/python
PYTEST := $(VENV)/bin/pytest
# Python must keep what it compiles, also if the user's environment forbids it. Otherwise each process
# of a test run compiles all test modules anew, which takes seconds.
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache
unexport PYTHONDONTWRITEBYTECODE

# V=1 shows complete commands.
ifeq ($(V),)
say = @printf '  %-5s %s\n' $(1) $@;
else
say =
endif

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.PRECIOUS: $(B)/obj/%.o

##@ Start here
.PHONY: help
help: ## This list
	@awk 'BEGIN { FS = ":.*## " } /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	      /^[a-z][a-z-]*:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: programs module ## The main job on an emulated Xen host, with a table at the end
	@$(PY) -m tools.demo

.PHONY: demo-kvm
demo-kvm: programs module ## The main job in guests of a stock QEMU, without Xen
	@$(PY) -m tools.demo.kvm

.PHONY: demo-remote
demo-remote: programs module ## Reading from another host: two emulated Xen hosts, RDMA and TCP
	@$(PY) -m tools.demo.remote

# Prints how long a build took; pytest prints the times of tests (--times).
timed = @tools/setup/timed.sh $(1) $(MAKE) --no-print-directory $(2)
# Keeps the order of groups of tests/conftest.py, longest first, instead of most tests first.
RUN_TESTS = $(PYTEST) --dist loadgroup --no-loadscope-reorder

.PHONY: test
test: builds ## What CI runs: natively all, on emulated Xen each kind of thing once; ends with "N passed"
	@$(RUN_TESTS) -n $(TEST_PROCESSES) -m 'not slow' --times 20 tests

.PHONY: test-all
test-all: builds ## All tests, also those of minutes to a quarter of an hour; two to three hours
	@VREAD_XEN_VARIANT=asan $(RUN_TESTS) -n $(ALL_PROCESSES) --times 30 tests

# Three processes begin with tests on emulated hosts, one host each; the fourth runs native tests.
TEST_PROCESSES ?= 4
# In make test-all more tests have pairs of hosts. With three processes five hosts shared two
# processors, and HDFS on a new host, which starts in 10 minutes alone, took 27.
ALL_PROCESSES ?= 2
N ?= 5
LOAD ?= 2
TESTS ?= tests
.PHONY: test-steady
test-steady: builds ## `make test` N times (5) beside LOAD busy processes (2), in other orders; lists what differed
	@$(PY) -m tests.runner.steady --runs $(N) --load $(LOAD) $(if $(SEED),--seed $(SEED)) \
		$(if $(RESUME),--resume) -- \
		--dist loadgroup --no-loadscope-reorder -n $(TEST_PROCESSES) -m 'not slow' $(TESTS)

# How long a soak takes, without its start and its end: 90s, 30m, 4h.
SOAK ?= 30m
SOAK_VARIANT ?= asan
.PHONY: soak
soak: all ## HDFS over vRead for SOAK (30m), while at random everything ends, hangs or changes (SEED=)
	@$(MAKE) --no-print-directory all VARIANT=$(SOAK_VARIANT)
	@$(PY) -m tests.soak --for $(SOAK) --variant $(SOAK_VARIANT) $(if $(SEED),--seed $(SEED))

.PHONY: check
check: ## The fast inner loop: build, format, lint, native tests (no Xen, no Hadoop)
	@$(MAKE) --no-print-directory all lint
	@$(MAKE) --no-print-directory all VARIANT=asan
	@$(MAKE) --no-print-directory fuzz-build
	@$(RUN_TESTS) -q -n $(TEST_PROCESSES) -m 'not (thorough or slow or xen or hadoop or appliance or fuzz)' tests

.PHONY: builds
builds: # What the tests run
	$(call timed,"release and module",all module)
	$(call timed,lint,lint)
	$(call timed,sanitized,all VARIANT=asan)
	$(call timed,"fuzz targets",fuzz-build)

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

.PHONY: bench-peer
bench-peer: all ## One vreadd reading from another over loopback; writes build/bench/peer.json
	@$(PY) -m tools.bench peer

.PHONY: bench-remote
bench-remote: all module ## Reading from another emulated host; writes build/bench/remote.json
	@$(PY) -m tools.bench remote

.PHONY: bench-apps
bench-apps: all ## Spark, HBase, MapReduce, Parquet, ORC, Flink, pyarrow, PostgreSQL by stock and vRead; writes build/bench/apps.json
	@$(PY) -m tools.bench apps

.PHONY: bench-scheduler
bench-scheduler: all module ## Small reads beside a busy guest, by scheduler; writes build/bench/scheduler.json
	@$(PY) -m tools.bench scheduler

.PHONY: bench-scale
bench-scale: all ## Cost of reads and memory with many readers, datanodes, peers; writes build/bench/scale.json
	@$(PY) -m tools.bench scale

.PHONY: bench-lab
TARGET ?= kvm
bench-lab: all module ## vread-bench on TARGET=xen, xen-pair, kvm (emulated), bare or disks; writes build/bench/TARGET.json
	@$(PY) -m tools.lab_bench $(TARGET)

# Results of this project's own runs of vread-bench.
RESULTS := $(sort $(wildcard docs/results/*.json))
.PHONY: report
report: $(SETUP) ## The report of docs/results/ beside the paper's figures, in build/report/
	@$(PY) -m tools.vread_bench report --out build/report $(RESULTS)

##@ Pieces
# ---- setup -----------------------------------------------------------------
# debian/rules sets NO_SETUP=1: dpkg checks the build dependencies of a package.
SETUP := $(if $(NO_SETUP),,build/.setup)
.PHONY: setup
setup: build/.setup ## Installs Debian packages (packages.txt) and the Python tools of tests
build/.setup: packages.txt tests/requirements.txt tools/setup/install-packages.sh
	@mkdir -p build
	@tools/setup/install-packages.sh packages.txt
	@[ -x $(PY) ] || /usr/bin/python3 -m venv $(VENV)
	@$(VENV)/bin/pip install -q --disable-pip-version-check -r tests/requirements.txt
	@touch $@

# ---- C ---------------------------------------------------------------------
PKGS := xenstore xengnttab xenevtchn xentoolcore ext2fs com_err blkid uuid libisal inih jansson libsystemd zlib libzstd liburing libseccomp openssl librdmacm libibverbs
CC ?= gcc
PREFIX ?= /usr
LIBEXECDIR ?= $(PREFIX)/libexec/vread
# -Wno-format-truncation: snprintf() may cut names, because buffers have room for all valid ones.
# -Wno-error=deprecated-declarations: a newer Debian's library may deprecate a call while Debian 12's
# does not have its successor yet.
WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wno-format-truncation \
	-Wno-error=deprecated-declarations
SAN_asan := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1
# -ffile-prefix-map: a library's build id does not depend on the folder of the build.
SAN_release := -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong -ffile-prefix-map=$(CURDIR)=.
# tests/protocol/test_peer_races.py builds and runs vreadd and peerctl of the variant tsan.
SAN_tsan := -fsanitize=thread -fno-omit-frame-pointer -O1 -Wno-tsan
LDSEC_release := -Wl,-z,relro,-z,now
# EXTRA_CFLAGS, EXTRA_LDFLAGS: flags added by a packager (debian/rules).
CFLAGS = -std=gnu17 -g $(WARN) $(SAN_$(VARIANT)) -D_GNU_SOURCE -fPIC -pthread -MMD -MP $(EXTRA_CFLAGS)
CPPFLAGS = -Ixenstore-schema -Ibuild/generated -Ilinux-frontend/uapi -Ihdfs-native/libvread -Ixen-backend -Itools -DVREAD_LIBEXECDIR='"$(LIBEXECDIR)"'
LDFLAGS = -pthread $(filter -fsanitize=%,$(SAN_$(VARIANT))) $(LDSEC_$(VARIANT)) $(EXTRA_LDFLAGS)
# --as-needed: vreadd loads no library that parses guests' file systems, because it calls none.
LIBS = -Wl,--as-needed $(shell pkg-config --libs $(PKGS))
# A guest's command needs none of the backend's libraries.
VREAD_LIBS = -Wl,--as-needed $(shell pkg-config --libs xenstore jansson expat)

GENERATED := build/generated/vread-nodes.h build/generated/vread-nodes.c

# vreadd and the confined vread-parser share only COMMON_SRC: neither is linked with the other's own
# code. No code in COMMON_SRC interprets data that a guest wrote.
sources = $(sort $(shell find $(addprefix xen-backend/,$(1)) -name '*.c'))
COMMON_SRC := $(call sources,base disk keys layout parser-protocol)
PARSER_SRC := $(filter-out xen-backend/parser/main.c,$(call sources,parser))
BACKEND_SRC := $(call sources,port ring policy read control datanode peer)
LIBVREAD_SRC := $(sort $(wildcard hdfs-native/libvread/*.c))
JNI_SRC := $(sort $(wildcard hdfs-native/jni/*.c))
CLI_SRC := $(sort $(wildcard tools/cli/*.c tools/cli/doctor/*.c))
VREAD_SRC := $(sort $(wildcard tools/vread/*.c tools/vread/doctor/*.c))
XL_VREAD_SRC := $(sort $(shell find tools/xl-vread -name '*.c'))
KEY_AGENT_SRC := $(filter-out xen-backend/key-agent/main.c,$(call sources,key-agent))
PROVISION_SRC := $(sort $(wildcard xen-backend/provision/*.c))
UNIT_SRC := $(sort $(wildcard tests/unit/*.c))
obj = $(patsubst %.c,$(B)/obj/%.o,$(1))
COMMON_OBJ := $(call obj,$(COMMON_SRC))
PARSER_OBJ := $(call obj,$(PARSER_SRC))
BACKEND_OBJ := $(call obj,$(BACKEND_SRC) $(wildcard xenstore-schema/*.c) build/generated/vread-nodes.c)
KEY_AGENT_OBJ := $(call obj,$(KEY_AGENT_SRC))
LIBVREAD_OBJ := $(call obj,$(LIBVREAD_SRC))
JNI_OBJ := $(call obj,$(JNI_SRC))
UNIT_BIN := $(patsubst tests/unit/%.c,$(B)/unit/%,$(UNIT_SRC))
FAKEXEN_SRC := $(sort $(wildcard tests/unit/fakexen/*.c))

.PHONY: all
all: $(SETUP) ## Daemon, provisioner, library, CLI and unit tests of one VARIANT
	@$(MAKE) --no-print-directory -j$$(nproc) binaries
# The programs that `make install` installs.
PROGRAMS := $(addprefix $(B)/,vreadd vread-parser vread-opener vread-key-agent vread-ivshmem vread-provision libvread.so.1 vread xl-vread libvread_jni.so)
PROGRAMS += $(if $(filter release,$(VARIANT)),build/java/vread-hdfs.jar build/java/vread-bench.jar)
.PHONY: programs
programs: $(SETUP)
	@$(MAKE) --no-print-directory -j$$(nproc) $(PROGRAMS)
.PHONY: binaries
binaries: $(PROGRAMS) $(UNIT_BIN)
binaries: $(B)/imagebench $(B)/vreadbench $(B)/blockstream $(B)/tlsstream
binaries: $(B)/blockctl $(B)/imagectl $(B)/torture
binaries: $(B)/dirctl
binaries: $(B)/peerctl
binaries: $(B)/torture-owner $(B)/torture-reader $(B)/rdma-pair $(B)/page-granter
binaries: $(B)/steady-reader
binaries: $(B)/rdma-pair-failing
binaries: $(if $(filter asan,$(VARIANT)),$(addprefix $(B)/,vreadd-failing vread-failing))

$(GENERATED) &: xenstore-schema/vread.schema.json xenstore-schema/generate.py
	@mkdir -p build/generated
	/usr/bin/python3 xenstore-schema/generate.py xenstore-schema/vread.schema.json build/generated

$(B)/obj/%.o: %.c | $(GENERATED)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(B)/libcommon.a: $(COMMON_OBJ)
$(B)/libparser.a: $(PARSER_OBJ)
$(B)/libbackend.a: $(BACKEND_OBJ)
$(B)/libkeyagent.a: $(KEY_AGENT_OBJ)
$(B)/libvread.a: $(LIBVREAD_OBJ)
$(B)/lib%.a:
	$(call say,AR)rm -f $@ && ar rcs $@ $^
$(B)/libvread.so.1: $(LIBVREAD_OBJ) hdfs-native/libvread/libvread.map
	$(call say,LINK)$(CC) -shared -Wl,-soname,libvread.so.1 -Wl,--version-script,hdfs-native/libvread/libvread.map \
		-Wl,-z,defs $(LDFLAGS) -o $@ $(LIBVREAD_OBJ)
# $(call program,NAME,SOURCES,OUR LIBRARIES,OTHERS): the rule that links a program.
define program
$(B)/$(1): $(call obj,$(2)) $(addprefix $(B)/,$(3))
	$$(call say,LINK)$$(CC) $$(LDFLAGS) -o $$@ $$^ $(4)
endef
comma := ,
BACKEND := libbackend.a libcommon.a
PARSER := libparser.a libcommon.a
KEY_AGENT := libkeyagent.a libcommon.a
TORTURE_CONTENT := tests/image/torture_content.c
TORTURE_COUNTS := tests/image/torture_counts.c
TORTURE_OWNER := $(TORTURE_CONTENT) tests/image/torture_owner.c
RDMA_PAIR := $(addprefix tests/xen/,rdma_pair.c rdma_pair_ask.c rdma_pair_answer.c)
libs_with = $(LIBS) $(shell pkg-config --libs $(1))
$(eval $(call program,vreadd,xen-backend/vreadd.c,$(BACKEND),$$(LIBS)))
$(eval $(call program,vread-parser,xen-backend/parser/main.c,$(PARSER),$$(LIBS)))
# Small links: the first process has a right of its own, the second has keys.
$(eval $(call program,vread-opener,$(sort $(wildcard xen-backend/opener/*.c)),libcommon.a,-Wl$$(comma)--as-needed $$(shell pkg-config --libs libseccomp xenstore)))
$(eval $(call program,vread-key-agent,xen-backend/key-agent/main.c,$(KEY_AGENT),-Wl$$(comma)--as-needed $$(shell pkg-config --libs libseccomp libcrypto)))
$(eval $(call program,vread-ivshmem,$(sort $(wildcard xen-backend/ivshmem-server/*.c)),$(BACKEND),$$(LIBS)))
$(eval $(call program,vread-provision,$(PROVISION_SRC),$(PARSER),$$(call libs_with,libguestfs)))
$(eval $(call program,vread,$(VREAD_SRC) $(CLI_SRC),libvread.a,$$(VREAD_LIBS)))
$(eval $(call program,xl-vread,$(XL_VREAD_SRC) $(CLI_SRC),$(BACKEND),$$(call libs_with,xlutil)))
$(eval $(call program,imagebench,tools/bench/imagebench.c,$(BACKEND),$$(LIBS)))
$(eval $(call program,blockstream,tools/bench/blockstream.c))
$(eval $(call program,tlsstream,tools/bench/tlsstream.c,,-Wl$$(comma)--as-needed $$(shell pkg-config --libs openssl)))
$(eval $(call program,vreadbench,tools/bench/vreadbench.c,libvread.a))
$(eval $(call program,blockctl,tests/image/blockctl.c,$(BACKEND),$$(LIBS)))
$(eval $(call program,imagectl,tests/image/imagectl.c,libcommon.a,$$(LIBS)))
$(eval $(call program,dirctl,tests/image/dirctl.c,$(PARSER),$$(LIBS)))
$(eval $(call program,peerctl,tests/protocol/peerctl.c,$(BACKEND),$$(LIBS)))
# Programs whose calls can be made to fail, and the lists of these calls.
FAILING := tests/support/failing.c
FAILING_CALLS := tests/protocol/failing_calls.c
FAILING_VERBS := tests/xen/failing_verbs.c
wraps = $(shell sed -nE 's/^CALL.[^,]+, ([a-z0-9_]+),.*/-Wl,--wrap=\1/p; \
	s/^.* [*]?__wrap_([a-z_]+).*;$$/-Wl,--wrap=\1/p' $(1))
$(eval $(call program,vreadd-failing,xen-backend/vreadd.c $(FAILING) $(FAILING_CALLS),$(BACKEND),$$(call wraps,$(FAILING_CALLS)) $$(LIBS)))
$(eval $(call program,vread-failing,$(VREAD_SRC) $(CLI_SRC) $(FAILING) $(FAILING_CALLS),libvread.a,$$(call wraps,$(FAILING_CALLS)) $$(LIBS) $$(VREAD_LIBS)))
$(eval $(call program,torture,tests/image/torture.c $(TORTURE_OWNER) $(TORTURE_COUNTS),$(BACKEND),$$(LIBS)))
$(eval $(call program,torture-owner,tests/xen/torture_owner_main.c $(TORTURE_OWNER),$(BACKEND),$$(LIBS)))
$(eval $(call program,torture-reader,tests/xen/torture_reader.c $(TORTURE_CONTENT) $(TORTURE_COUNTS),libvread.a))
$(eval $(call program,rdma-pair,$(RDMA_PAIR),$(BACKEND),$$(LIBS)))
$(eval $(call program,rdma-pair-failing,$(RDMA_PAIR) $(FAILING) $(FAILING_VERBS),$(BACKEND),$$(call wraps,$(FAILING_VERBS)) $$(LIBS)))
$(eval $(call program,steady-reader,tests/guest/steady_reader.c,libvread.a))
$(eval $(call program,page-granter,tests/xen/page_granter.c,,$$(LIBS)))
$(B)/unit/%: $(B)/obj/tests/unit/%.o $(addprefix $(B)/,libbackend.a libkeyagent.a $(PARSER) libvread.a)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS) -lcmocka
# Fakes for tests: the linker takes a symbol from an object before it looks in a library.
$(B)/unit/test_port_xen $(B)/unit/test_xen_disks: $(call obj,$(FAKEXEN_SRC))
$(B)/unit/test_ring_dispatch $(B)/unit/test_ring_remote: $(call obj,tests/unit/fakepeers/fakepeers.c)

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)

# ---- fuzzing -------------------------------------------------------------------
include tests/fuzz/fuzz.mk

# ---- Hadoop plug-ins -----------------------------------------------------------
# javac writes the headers that the JNI part includes; the jar contains the release library.
JAVA_IN := hdfs-native/java/pom.xml $(sort $(shell find hdfs-native/java/src/main -type f))
JAVA_HOME ?= $(patsubst %/bin/javac,%,$(realpath $(shell command -v javac)))
build/java/compiled: $(JAVA_IN) hdfs-native/java/build.sh | $(SETUP)
	$(call say,MVN)hdfs-native/java/build.sh -DskipTests package
	@touch $@
build/java/vread-hdfs.jar: build/java/compiled $(B)/libvread_jni.so xen-backend/base/version.h $(addprefix hdfs-native/java/,pack.sh release.pom.xml)
	$(call say,JAR)hdfs-native/java/pack.sh $@ $(B)/libvread_jni.so $(VERSION)
.PHONY: maven-repo
maven-repo: $(SETUP) ## The release of vread-hdfs as a Maven repository, in build/maven-repo/
	@$(MAKE) --no-print-directory VARIANT=release build/java/vread-hdfs.jar
	@hdfs-native/java/maven-repo.sh build/maven-repo build/java/vread-hdfs.jar $(VERSION)
# The measuring client of vread-bench.
BENCH_JAVA := tools/vread_bench/java
build/java/vread-bench.jar: $(BENCH_JAVA)/pom.xml $(wildcard $(BENCH_JAVA)/src/io/vread/bench/*.java) | $(SETUP)
	$(call say,MVN)POM=$(BENCH_JAVA)/pom.xml hdfs-native/java/build.sh package
	@cp build/java/bench-target/vread-bench.jar $@
$(JNI_OBJ): CPPFLAGS += -Ibuild/java/include -I$(JAVA_HOME)/include -I$(JAVA_HOME)/include/linux
$(JNI_OBJ): build/java/compiled
$(B)/libvread_jni.so: $(JNI_OBJ) $(B)/libvread.a hdfs-native/jni/jni.map
	$(call say,LINK)$(CC) -shared -Wl,-soname,libvread_jni.so -Wl,--version-script,hdfs-native/jni/jni.map \
		-Wl,-z,defs $(LDFLAGS) -o $@ $(JNI_OBJ) $(B)/libvread.a

# ---- kernel module -----------------------------------------------------------
KVER ?= $(shell ls /lib/modules 2>/dev/null | grep -- '^6\.1\..*-amd64$$' | sort -V | tail -n 1)
KDIR ?= /lib/modules/$(KVER)/build
.PHONY: module
module: $(SETUP) ## The guest's kernel modules for the newest Debian kernel installed (KVER=, KDIR=)
	@linux-frontend/build.sh "$(KVER)" "$(KDIR)" build/module

# ---- installing --------------------------------------------------------------
LIBDIR ?= $(PREFIX)/lib/$(shell $(CC) -print-multiarch)
JNIDIR ?= $(LIBDIR)/jni
MANDIR := $(PREFIX)/share/man
COMPLETIONS := $(PREFIX)/share/bash-completion/completions
BENCH_SHARE := $(PREFIX)/share/vread-bench
VERSION := $(shell sed -n 's/^\#define VREAD_VERSION "\(.*\)"/\1/p' xen-backend/base/version.h)
MAN_PAGES = $(shell find xenstore-schema linux-frontend xen-backend hdfs-native tools -name '*.[1-8]')
LIBVREAD_CALLS = $(shell sed -n 's/^\t\(vread_.*\);/\1/p' hdfs-native/libvread/libvread.map)
.PHONY: install
install: programs ## Installs under DESTDIR/PREFIX (/usr): dom0's programs, libvread, module source for DKMS
	install -D -t $(DESTDIR)$(PREFIX)/sbin $(B)/vreadd $(B)/vread-ivshmem $(B)/vread-provision $(B)/xl-vread \
		tools/peer-certificate/vread-peer-certificate
	install -D -t $(DESTDIR)$(LIBEXECDIR) $(addprefix $(B)/,vread-parser vread-opener vread-key-agent)
	install -D -t $(DESTDIR)$(PREFIX)/bin $(B)/vread
	install -D -m 644 -t $(DESTDIR)$(LIBDIR) $(B)/libvread.so.1
	ln -sf libvread.so.1 $(DESTDIR)$(LIBDIR)/libvread.so
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/include hdfs-native/libvread/vread.h
	install -D -m 644 -t $(DESTDIR)$(JNIDIR) $(B)/libvread_jni.so
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/vread build/java/vread-hdfs.jar
	install -D -m 644 -t $(DESTDIR)$(BENCH_SHARE) build/java/vread-bench.jar
	install -D -m 644 -t $(DESTDIR)$(BENCH_SHARE)/vread_bench tools/vread_bench/*.py
	echo $(VERSION) >$(DESTDIR)$(BENCH_SHARE)/vread_bench/version
	sed 's|@PREFIX@|$(PREFIX)|' tools/vread_bench/vread-bench.in >$(DESTDIR)$(PREFIX)/bin/vread-bench
	chmod 755 $(DESTDIR)$(PREFIX)/bin/vread-bench
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' \
		hdfs-native/libvread/vread.pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/vread.pc
	[ -e $(DESTDIR)/etc/vread/vread.conf ] || \
		install -D -m 644 -t $(DESTDIR)/etc/vread xen-backend/control/vread.conf
	install -D -m 644 -t $(DESTDIR)/lib/systemd/system xen-backend/control/vreadd.service \
		xen-backend/ivshmem-server/vread-ivshmem.service \
		$(addprefix tools/xl-vread/,xl-vread.service vread-metrics.service vread-metrics.timer)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/vread/grafana tools/xl-vread/grafana/vread.json
	for page in $(MAN_PAGES); do install -D -m 644 -t $(DESTDIR)$(MANDIR)/man$${page##*.} $$page; done
	install -d $(DESTDIR)$(COMPLETIONS)
	for program in vread xl-vread vreadd vread-provision vread-peer-certificate vread-ivshmem \
		vread-bench; do \
		install -m 644 tools/cli/completion.bash $(DESTDIR)$(COMPLETIONS)/$$program; done
	for call in $(LIBVREAD_CALLS); do ln -sf libvread.3 $(DESTDIR)$(MANDIR)/man3/$$call.3; done
	linux-frontend/build.sh --sources $(DESTDIR)/usr/src/vread-$(VERSION)
	install -D -m 644 -t $(DESTDIR)/lib/udev/rules.d linux-frontend/60-vread.rules xen-backend/control/60-vread-backend.rules

# ---- packages ----------------------------------------------------------------
# Packages are built in a copy of the tree, which keeps its objects for the next time. Maven runs
# before, in the tree itself.
DEB := build/deb
.PHONY: deb
deb: $(SETUP) ## Debian packages and their bill of materials in build/deb/, checked by lintian
	@$(MAKE) --no-print-directory build/java/compiled build/java/vread-bench.jar
	@debian/make-packages.sh $(DEB)

# ---- style -------------------------------------------------------------------
C_FILES = $(shell git ls-files '*.c' '*.h')
.PHONY: format
format: $(SETUP) ## Formats C and Python in place
	clang-format -i $(C_FILES)
	$(VENV)/bin/ruff format -q tools tests xenstore-schema
.PHONY: lint
lint: $(SETUP) module ## Formatters in check mode, ruff, shellcheck, mandoc; for the module sparse, checkpatch, coccinelle
	@clang-format --dry-run -Werror $(C_FILES)
	@$(VENV)/bin/ruff format -q --check tools tests xenstore-schema
	@$(VENV)/bin/ruff check -q tools tests xenstore-schema
	@git ls-files -z | xargs -0 grep -lE -m1 '^(#! ?/(usr/)?bin/(env )?(ba)?sh|# shellcheck shell=)' -- | xargs -r shellcheck
	@git ls-files -z '*.[1-8]' | xargs -0 -r mandoc -T lint -W warning >&2
	@$(PY) -m tools.lint
	@echo "lint: ok"

.PHONY: clean
clean: ## Removes everything built but the caches of downloads
	rm -rf build/release build/asan build/fuzz/obj build/fuzz/bin build/generated build/module build/modules build/java
.PHONY: distclean
distclean: ## Removes build/ whole
	rm -rf build
