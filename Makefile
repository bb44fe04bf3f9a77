# Two commands are enough: `make run` and `make test`.
.DEFAULT_GOAL := help
.PHONY: help run test lint audit dist bench deep fuzz accuracy generate

# How long each target is fuzzed by `make fuzz` and `make deep`.
FUZZ_SECONDS ?= 3600

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## the server with the rules of examples/rules, and a curl line that shows a refusal after a few tries
	@cargo run --locked -p tidegate-cli -- serve --rules examples/rules

test: ## everything that must hold: format, lints, licences, tests, docs
	@tools/stages test

lint: ## format, lints and licences only
	@tools/stages lint

audit: ## the dependencies against the advisories of RustSec; needs the network (tools/audit CLONE without)
	@tools/audit

dist: ## a static release binary in an archive with licences, completions, list of parts (SBOM) and sums, started and asked once (TARGET=… for another than musl)
	@tools/dist $(TARGET)

bench: ## ours and peers in one run, as Markdown tables (about half an hour; make bench QUICK=1 for a smoke run)
	@CARGO_TARGET_DIR=target/bench cargo run --quiet --locked --release --manifest-path bench/Cargo.toml -- $(if $(QUICK),--quick)

accuracy: ## how far each algorithm strays from the exact count (docs/concepts/accuracy.md)
	@cargo run --quiet --locked --release -p tidegate-sim -- accuracy

generate: ## the types of our own gRPC service, anew from its description
	@CARGO_TARGET_DIR=target/generate cargo run --quiet --locked --manifest-path tools/generate/Cargo.toml

fuzz: ## every fuzz target for an hour, two at a time (make fuzz FUZZ_SECONDS=60 for a short look)
	@tools/fuzz all $(FUZZ_SECONDS)

deep: ## long runs: fuzzing, many more random cases and seeds, more orders of threads, an attack of 100 million keys, a smoke run of the benchmarks, Miri where it is installed
	PROPTEST_CASES=50000 cargo test --locked --release -p tidegate-core -p tidegate-wire -p tidegate-frontend
	PROPTEST_CASES=50000 cargo test --locked --release -p tidegate-server --lib the_short_way
	LOOM_MAX_PREEMPTIONS=3 tools/stages model
	PROPTEST_CASES=20000 cargo test --locked --release -p tidegate-store --test store differential
	TIDEGATE_SEEDS=500 cargo test --locked --release -p tidegate-store --test store conformance
	cargo test --locked --release -p tidegate-store --test store a_hundred_million -- --ignored
	PROPTEST_CASES=2000 cargo test --locked --release -p tidegate-redis --test redis differential
	CARGO_TARGET_DIR=target/bench cargo test --quiet --locked --release --manifest-path bench/Cargo.toml
	$(MAKE) bench QUICK=1
	$(MAKE) fuzz
	@if cargo +nightly miri --version >/dev/null 2>&1; then \
		PROPTEST_CASES=4 MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p tidegate-core --lib; \
	else echo "miri is not installed: rustup +nightly component add miri"; fi
