# What a person types. Everything is done by CMake's presets (CMakePresets.json) and by scripts/.
#   make          builds the programs (release) into build/release/bin
#   make run      trains Fashion-MNIST with four workers and a server on this machine; ARGS="…" are passed on
#   make test     builds and runs all tests (release)
#   make check    formatting, thread-safety analysis, clang-tidy, and the unit tests under the sanitizers
#   make format   formats the sources in place
#   make bench    measures Weft against PyTorch and the rest (docs/benchmarks.md); PART=accuracy measures one part
#   make bench-quick  the same on a few points, in under ten minutes
#   make clean    removes build/
# Missing Debian packages are installed first (scripts/packages.txt).

JOBS ?= $(shell nproc)
ARGS ?=
PART ?=
WEFT = build/release/bin/weft

.DEFAULT_GOAL := all
.PHONY: all run test bench bench-quick check format clean install

install:
	@scripts/install-packages build data

build/release/build.ninja: | install
	cmake --preset release

all: install build/release/build.ninja
	@cmake --build --preset release --parallel $(JOBS) --target programs

run: all
	@$(WEFT) run examples/fashion-mnist.yaml $(ARGS)

test: install build/release/build.ninja
	@scripts/install-packages testbed test
	cmake --build --preset release --parallel $(JOBS)
	@scripts/run-tests build/release

bench: all
	@scripts/install-packages bench testbed
	@tests/bench/bench.py $(PART) $(ARGS)

bench-quick: all
	@scripts/install-packages bench testbed
	@tests/bench/bench.py $(PART) --quick $(ARGS)

check: install
	@scripts/install-packages check
	@scripts/check

format:
	@scripts/install-packages check
	scripts/sources | xargs clang-format-16 -i

clean:
	rm -rf build
