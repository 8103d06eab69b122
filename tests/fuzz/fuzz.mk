# Fuzzing: `make fuzz`, and the fuzz tests of `make test` and `make check`; see docs/testing.md.

SAN_fuzz := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
FUZZ_SHARED := $(filter-out tests/fuzz/fuzz_%.c,$(sort $(wildcard tests/fuzz/*.c)))
FUZZ_BIN := $(FUZZ_TARGETS:%=build/fuzz/bin/%)

# libFuzzer is part of clang.
ifeq ($(VARIANT),fuzz)
CC := clang
WARN += -Wno-unknown-warning-option
build/fuzz/bin/%: build/fuzz/obj/tests/fuzz/fuzz_%.o $(call obj,$(FUZZ_SHARED)) $(addprefix build/fuzz/,libbackend.a libkeyagent.a $(PARSER))
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LIBS)
.SECONDARY: $(call obj,$(FUZZ_SHARED) $(wildcard tests/fuzz/fuzz_*.c))
.PHONY: fuzz-binaries
fuzz-binaries: $(FUZZ_BIN)
endif

.PHONY: fuzz-build
fuzz-build: $(SETUP) build/fuzz/bases/.made ## Fuzz targets and the images they change
	@$(MAKE) --no-print-directory -j$$(nproc) VARIANT=fuzz fuzz-binaries

build/fuzz/bases/.made: tests/fuzz/bases.py tests/fuzz/xfs_base.py tests/support/hdfs_dir.py tools/images/lvm.py | $(SETUP)
	$(call say,BASES)$(PY) -m tests.fuzz.bases
	@touch $@

SECONDS ?= 60
TARGET ?=
.PHONY: fuzz
fuzz: fuzz-build ## Fuzzes each parser for a minute (SECONDS=, TARGET=)
	@$(PY) -m tests.fuzz.run --seconds $(SECONDS) $(TARGET)

.PHONY: fuzz-long
fuzz-long: fuzz-build ## Half an hour each, one at a time at low priority; writes build/fuzz/summary.json
	@nice -n 19 $(PY) -m tests.fuzz.run --seconds 1800 $(TARGET)

.PHONY: fuzz-coverage
fuzz-coverage: fuzz-build ## What the corpora reach; TARGET= lists functions
	@$(PY) -m tests.fuzz.coverage $(TARGET)
