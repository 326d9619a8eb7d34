# make demo    the main example, from declaring a kernel to checked results; ARGS="--input FILE.npy --segment-length N" for your own data
# make test    everything that is checked: formatting, lints, documentation, tests
# make bench   the benchmarks
# make setup   installs what is missing (the others do it first)

CARGO ?= cargo
ARGS ?=

.PHONY: demo test bench setup lint doc external

demo: setup
	$(CARGO) run --release --example demo -- $(ARGS)

test: setup lint doc external
	INSTA_UPDATE=no $(CARGO) test --workspace --no-fail-fast

bench: setup
	$(CARGO) bench $(ARGS)

setup:
	@scripts/setup.sh

lint: setup
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

doc: setup
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet

# A crate of its own, outside the workspace, that uses this one as a dependency.
external: setup
	@if [ -x scripts/test-external.sh ]; then scripts/test-external.sh; fi
