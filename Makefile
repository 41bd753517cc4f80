# Everything a person does often is one word. `make help` lists the words.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

# One place for what is built, whatever the caller's environment says: the recipes below look for programs there.
export CARGO_TARGET_DIR := $(CURDIR)/target
# Tests that this machine cannot run append a line here, `not run: NAME: REASON`, and pass.
export QUELL_NOT_RUN := $(CURDIR)/target/not-run
# How long each test took.
export QUELL_TIMES := $(CURDIR)/target/test-times
# What failed, in its own words.
export QUELL_FAILED := $(CURDIR)/target/failed
# Many tests wait for real time; those that judge it have the machine for themselves.
export RUST_TEST_THREADS ?= 4
# The kernels of the virtual world that tests and measurements use.
export QUELL_KERNELS ?= $(CURDIR)/target/kernels
export PATH := $(CURDIR)/target/tools/bin:$(PATH)

# Leaves the system as it is: no package and no toolchain is installed, and what is missing is named.
ifdef NO_INSTALL
export NO_INSTALL
export RUSTUP_AUTO_INSTALL := 0
endif

# The features that scripts/setup found this machine able to build; read when a recipe runs, after setup.
FLAGS = $$(cat target/setup/cargo-flags)
# The program as users get it. The same without the first word is a few percent slower, and nothing else.
RELEASE = CARGO_ENCODED_RUSTFLAGS="$$(scripts/profile flags)" cargo build --release --locked --package quell $(FLAGS)
SHELL_SCRIPTS := .ci/run .ci/skips .ci/unjudged $(wildcard examples/cluster/*.sh) $(addprefix scripts/,advisories cluster debian-archive fuzz kernel \
    linux-source live-repeat no-std portable profile property-tests python quick setup test-program unprivileged wasm wasm-library web)

.PHONY: help setup build kernel demo test test-all quick property-test unjudged live-repeat check docs-check bless bench validate validate-grid validate-controls validate-recovery validate-applications validate-sim parity fuzz book tarball wheel sdist python-test browser-test wasm page wasm-test cluster-test clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

setup: ## Install or name what is missing on this machine
	@scripts/setup

build: ## Build target/release/quell
	@scripts/setup build
	@scripts/web page
	$(RELEASE)

kernel: setup ## Build a kernel for the virtual world into target/kernels: 3 to 10 minutes, once
	$(RELEASE)
	@scripts/kernel

demo: build ## Run the headline experiment
	target/release/quell demo

# Every test, with what its harness is to be told; then what was left out, and what took longest. Published experiments that run anew do so
# in the optimised program: the tests, which are not optimised, find their results in the store and judge them.
define run-tests
	@cp target/setup/not-run "$$QUELL_NOT_RUN"; : >"$$QUELL_TIMES"; : >"$$QUELL_FAILED"; \
	scripts/web page; \
	echo "cargo build --release --locked --package quell $(FLAGS)"; \
	$(RELEASE); export QUELL_RELEASE="$(CURDIR)/target/release/quell"; \
	$(if $(1),export QUELL_REPRODUCE_STORE="$(CURDIR)/target/reproduce"; )\
	echo "cargo test --workspace --locked --no-fail-fast $(FLAGS)$(1)"; \
	status=0; cargo test --config "target.'cfg(unix)'.runner='$(CURDIR)/scripts/test-program'" --workspace --locked --no-fail-fast $(FLAGS)$(1) || status=$$?; \
	timed() { local began=$$SECONDS code=0; "$$@" || code=$$?; printf '%s %s, all of it\n' "$$((SECONDS - began))" "$$1 $$2" >>"$$QUELL_TIMES"; [ "$$code" = 0 ] || echo "failed: $$1 $$2, exit code $$code" >>"$$QUELL_FAILED"; return $$code; }; \
	QUELL="$$QUELL_RELEASE" timed scripts/web $(if $(1),test,named) || status=$$?; \
	QUELL="$$QUELL_RELEASE" timed scripts/python $(if $(1),test,quick) >target/python.log 2>&1 & \
	trap "kill $$! || true" INT TERM; \
	QUELL="$$QUELL_RELEASE" QUELL_SECONDS=30 timed scripts/web wasm$(if $(1),,-named) || status=$$?; \
	wait $$! || status=$$?; cat target/python.log; \
	QUELL="$$QUELL_RELEASE" timed scripts/cluster quick || status=$$?; \
	grep -hE '^(FAILED|ERROR) ' target/python.log >>"$$QUELL_FAILED" || true; \
	echo; \
	if [ -s "$$QUELL_NOT_RUN" ]; then sort -u "$$QUELL_NOT_RUN"; else echo "every test ran"; fi; \
	echo; echo "the ten slowest tests, in seconds"; \
	grep -v ', all of it$$' "$$QUELL_TIMES" | sort -rg | awk 'NR <= 10'; \
	echo; echo "the ten slowest programs"; \
	grep ', all of it$$' "$$QUELL_TIMES" | sort -rg | awk 'NR <= 10'; \
	if [ -s "$$QUELL_FAILED" ]; then echo; echo "what failed"; cat "$$QUELL_FAILED"; fi; \
	exit $$status
endef

test: setup ## Run the tests, and name those that this machine cannot run or that take long
	$(call run-tests)

test-all: setup ## Run every test, also those that take long
	$(call run-tests, -- --include-ignored)

property-test: ## Run the property tests with the seed of the day, or with SEED=
	@scripts/property-tests $(SEED)

unjudged: ## Run again, alone, what `make test` listed as not judged
	@QUELL_RELEASE="$(CURDIR)/target/release/quell" .ci/unjudged "$$QUELL_NOT_RUN"

N ?= 20
BUSY ?= 0
live-repeat: setup ## Run the tests in real time N (20) times, beside BUSY (0) busy processes, and count the failures
	@scripts/live-repeat "$(N)" "$(BUSY)"

check: ## Check format, lints, documentation, licences, advisories, scripts
	@scripts/setup check
	for script in $(SHELL_SCRIPTS); do bash -n "$$script"; done
	cargo fmt --all --check
	@# cargo fmt does not find the modules that a macro declares.
	rustfmt --check --edition 2024 $$(git ls-files 'crates/aqm/src/disciplines/*.rs' 'crates/tcp/src/cc/*.rs' 'crates/app/src/kinds/*.rs' 'crates/results/src/plot/kinds/*.rs')
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo deny --locked check -A license-exception-not-encountered licenses bans sources
	cargo deny --locked --manifest-path fuzz/Cargo.toml --config deny.toml check licenses bans sources
	scripts/advisories
	scripts/no-std quell-units
	scripts/no-std quell-aqm
	scripts/portable
	cargo clippy --workspace --all-targets --locked $(FLAGS) -- -D warnings
	cargo clippy --manifest-path fuzz/Cargo.toml --locked -- -D warnings
	@# Documentation is for developers: private items are documented, so links to them resolve.
	RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" cargo doc --workspace --no-deps --document-private-items --locked $(FLAGS)

quick: ## Check and test the crates in which something differs from HEAD, or from SINCE=COMMIT
	@scripts/quick $(SINCE)

docs-check: build ## Compare README and docs with what their commands print
	QUELL_RELEASE="$(CURDIR)/target/release/quell" QUELL_DOCS_CHECK=1 cargo test --locked --package quell $(FLAGS) --test all docs::

# The tests that generate files write them instead of comparing; what that changed is read as any other change. Published experiments are not
# among them: docs/guides/reproducing.md has their command.
bless: build ## Write anew what tests generate: reference pages, transcripts, cards, pictures, the C header, types of Python
	QUELL_BLESS=1 cargo test --locked --package quell-aqm-c --test all header::
	QUELL_BLESS=1 cargo test --locked --package quell-results --lib palette::
	QUELL_BLESS=1 cargo test --locked --package quell-testing --test all house::
	QUELL_BLESS=1 cargo test --locked --package quell-lab $(FLAGS) --test all -- docs:: files::
	QUELL_BLESS=1 cargo test --locked --package quell-experiment $(FLAGS) --test all -- suites:: cards:: --include-ignored
	QUELL_BLESS=1 QUELL_RELEASE="$(CURDIR)/target/release/quell" QUELL_DOCS_CHECK=1 \
	    cargo test --locked --package quell $(FLAGS) --test all -- characterize:: pictures:: docs::
	QUELL_BLESS=1 QUELL="$(CURDIR)/target/release/quell" scripts/python quick

# What each benchmark may take once it is built.
BENCH_MINUTES ?= 15
bench: ## Measure speed, count instructions, compare with ns-3, tbf and the program of OLD=COMMIT: each within BENCH_MINUTES (15)
	@scripts/setup bench
	@if [ -n "$(OLD)" ]; then \
	    [ -e "target/old/$(OLD)" ] || git worktree add --force --detach "target/old/$(OLD)" "$(OLD)"; \
	    (cd "target/old/$(OLD)" && CARGO_TARGET_DIR=target cargo build --release --locked --package quell); \
	fi
	@[ -z "$(OLD)" ] || export QUELL_BENCH_BESIDE="$(OLD)=$(CURDIR)/target/old/$(OLD)/target/release/quell"; \
	status=0; for source in crates/*/benches/*.rs; do \
	    [ -e "$$source" ] || continue; \
	    name=$$(basename "$$source" .rs); \
	    if [[ "$$name" = instructions* ]] && ! command -v valgrind >/dev/null; then \
	        echo "not run: $$name: valgrind is missing"; continue; \
	    fi; \
	    echo "cargo bench --workspace --locked --bench $$name $(FLAGS)"; \
	    cargo bench --workspace --locked --no-run --bench "$$name" $(FLAGS) || { status=$$?; continue; }; \
	    timeout "$(BENCH_MINUTES)m" cargo bench --workspace --locked --bench "$$name" $(FLAGS) & \
	    trap "kill $$! || true" INT TERM; code=0; wait $$! || code=$$?; \
	    if [ "$$code" = 124 ]; then echo "not finished: $$name: took more than $(BENCH_MINUTES) minutes"; fi; \
	    if [ "$$code" != 0 ]; then status=$$code; fi; \
	done; exit $$status

# Writes comparisons with Linux into docs/evidence/validation.md and the files beside it.
RECORD = cargo run --release --locked --package quell $(FLAGS) -- reproduce --record docs/evidence/validation.md $(VALIDATE)

validate: setup ## Record TCP of Linux in virtual time and live, at the points of three worlds, in hours; resumes where it was stopped
	$(RECORD) validation/worlds --world virtual
	$(RECORD) validation/worlds --world live

validate-grid: setup ## Record TCP of Linux in virtual time at more kinds of queues, in a night; resumes where it was stopped
	$(RECORD) validation/grid --world virtual

validate-applications: setup ## Record applications over Linux in virtual time, in half an hour; resumes where it was stopped
	$(RECORD) validation/applications --world virtual

validate-controls: setup ## Record the newer controls in virtual time, in half an hour; resumes where it was stopped
	$(RECORD) validation/controls --world virtual

validate-recovery: setup ## Record loss recovery on paths that reorder in virtual time, in half an hour; resumes where it was stopped
	$(RECORD) validation/recovery --world virtual

validate-sim: setup ## Simulate the points of the comparisons anew, beside what is recorded of Linux, in minutes
	$(RECORD) validation/grid validation/worlds validation/controls validation/applications

parity: setup ## Compare quell's queues with the kernel's own in virtual time, in about an hour; resumes where it was stopped
	$(RECORD) validation/parity --world virtual

fuzz: setup ## Fuzz each parser for FUZZ_SECONDS (60)
	@scripts/fuzz

book: build ## Write what a release has beside the program: the book of published experiments and the whole reference, into target/book
	mkdir -p target/book
	target/release/quell reproduce all --store target/reproduce --report target/book/published.html --tables target/book/published
	target/release/quell man target/book/reference --reference

# Whoever unpacks it owns the kernel, or root does: quell starts no other. The kernel is under GPL-2.0; kernel.json names its source.
tarball: build kernel ## Pack the program and its kernels for machines without root, network or compiler: target/tarball/quell.tar.gz
	rm -rf target/tarball
	mkdir -p target/tarball/quell
	cp -R "$$QUELL_KERNELS" target/tarball/quell/kernels
	cp target/release/quell LICENSE-* target/tarball/quell/
	tar -C target/tarball --sort=name --owner=0 --group=0 --numeric-owner -czf target/tarball/quell.tar.gz quell

wheel: ## Build the Python package with the program into target/wheels
	@scripts/setup build
	@scripts/python wheel

python-test: build ## Run every test of the Python package: types, wheel, notebooks too
	@: >"$$QUELL_NOT_RUN"; status=0; QUELL="$(CURDIR)/target/release/quell" scripts/python test || status=$$?; \
	echo; if [ -s "$$QUELL_NOT_RUN" ]; then sort -u "$$QUELL_NOT_RUN"; else echo "every test ran"; fi; \
	exit $$status

browser-test: build ## Test reports and pictures in a real browser
	@QUELL="$(CURDIR)/target/release/quell" scripts/web test

wasm: setup ## Compile quell for a browser: target/wasm/quell.wasm
	@scripts/wasm

page: wasm ## Make the page with the simulator in it: target/page
	@PAGE=required scripts/web page

wasm-test: wasm build ## Hold it against what it gives natively, in Node: every scenario of the repository to its end; the page in a browser
	@scripts/web wasm

sdist: ## Write the source package of the Python package into target/sdist
	@scripts/python sdist

cluster-test: build ## Run examples/cluster on Slurm, dask and ssh of this machine, in three minutes
	@: >"$$QUELL_NOT_RUN"; status=0; QUELL="$(CURDIR)/target/release/quell" scripts/cluster test || status=$$?; \
	echo; if [ -s "$$QUELL_NOT_RUN" ]; then sort -u "$$QUELL_NOT_RUN"; else echo "every test ran"; fi; \
	exit $$status

clean: ## Remove everything built
	cargo clean
