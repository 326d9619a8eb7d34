# make demo    the main example, from declaring a kernel to checked results; ARGS="--input FILE.npy
#              --segment-length N" for your own data
# make test    everything that is checked: formatting, lints, documentation, tests
# make values  a million values of random expressions, by all evaluators and by the printed text;
#              SEED=N repeats a run
# make bench   the benchmarks
# make mutants a sample of faults, one at a time, which the tests have to notice; MUTANTS=K/N for
#              the K-th of N samples
# make sweep   kernels of the examples through random pipelines, each verdict against runs by brute
#              force; ARGS="COUNT FROM SECONDS FOLDER"
# make auto-cost  what `auto` finds beside the pipelines written by hand: estimated times on an
#              H200; AUTO_KERNEL=NAME for one
# make machine-code  instructions in the inner loops of the examples' products, registers and
#              spills; ARGS="ARCH KERNEL/PIPELINE..."; without, also the fastest product of each
#              type: resident warps, bytes under way, bank conflicts, and the rate that is possible
# make wheel  the Python package: dist/loopwright-*.whl
# make book   the book, with the reference of all steps: target/book/index.html
# make setup   installs what is missing (the others do it first)

CARGO ?= cargo
ARGS ?=
MUTANTS ?= 0/100
SEED ?= $(shell date +%s)

.PHONY: demo test values bench sweep mutants auto-cost machine-code wheel book built-book setup lint doc package external python

demo: setup
	$(CARGO) run --release --example demo -- $(ARGS)

# The checks before the tests go on side by side where cargo's lock allows it: packages are
# downloaded and tools built while clippy works on one crate after the other.
test: setup
	@$(MAKE) --no-print-directory -j2 lint doc package external python built-book
	INSTA_UPDATE=no $(CARGO) test --workspace --no-fail-fast

# 700 kernels of 20 statements, 40 positions each, over two sets of arguments.
values: setup
	LOOPWRIGHT_CASES=700 LOOPWRIGHT_SEED=$(SEED) $(CARGO) test --release -p loopwright-suites --test testing_values -- --nocapture

bench: setup
	$(CARGO) bench $(ARGS)

# What is changed is listed in .cargo/mutants.toml; each place has the tests that are supposed to
# notice. A sample is the same every time. Sources are changed in place, and put back.
mutate = $(CARGO) mutants --in-place --sharding round-robin --shard $(MUTANTS) --output target/mutants
mutants: export INSTA_UPDATE = no
mutants: setup
	@$(CARGO) mutants --version || { echo "install it: cargo install cargo-mutants --locked"; exit 1; }
	@mkdir -p target/mutants/poly target/mutants/legality target/mutants/runtime target/mutants/emulator \
		target/mutants/program target/mutants/cuda-target
	@missed=0; \
	$(mutate)/poly -p loopwright-poly --test-package loopwright-poly,loopwright-suites || missed=1; \
	$(mutate)/legality -p loopwright-legality \
		--test-package loopwright-legality,loopwright-realize,loopwright-transforms,loopwright-suites || missed=1; \
	$(mutate)/runtime -p loopwright-runtime || missed=1; \
	$(mutate)/emulator -p loopwright-emulator --test-package loopwright-emulator,loopwright-suites || missed=1; \
	$(mutate)/program -p loopwright-program --test-package loopwright-program,loopwright-suites,loopwright || missed=1; \
	$(mutate)/cuda-target -p loopwright-cuda-target \
		--test-package loopwright-cuda-target,loopwright-suites,loopwright-text-check,loopwright || missed=1; \
	exit $$missed

sweep: setup
	$(CARGO) run -p loopwright-testing --example sweep -- $(if $(ARGS),$(ARGS),200 0 540)

auto-cost: setup
	$(CARGO) test --test auto_cost -- --ignored --nocapture

machine-code: setup
	@scripts/machine_code.py $(ARGS)
	$(if $(ARGS),,@scripts/product_bounds.py)

wheel: setup
	@scripts/wheel.sh --release --out dist

book: setup
	@scripts/book.sh

# Left out, with a word, where mdBook cannot be installed.
built-book: setup
	@scripts/book.sh --if-possible

setup:
	@scripts/setup.sh

# Nothing is linked by these two, so that isl is left to what comes next: under clippy its build
# script is another one, and would compile isl once more.
without_isl = --config "target.$$(rustc -vV | sed -n 's/^host: //p').isl.rustc-link-lib=['isl']"

lint: setup
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets $(without_isl) -- -D warnings

doc: setup
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet $(without_isl)

# That a registry would take the crates. They are not built from there, which takes long. The second
# line is how `release.yml` publishes them, up to the upload.
package: setup
	$(CARGO) package --workspace --no-verify --allow-dirty --quiet
	$(CARGO) publish --workspace --exclude loopwright-filetest --dry-run --no-verify --allow-dirty --quiet

# Crates that use this one as a dependency, each with the features that it asks for.
external: setup
	@if [ -x scripts/test-external.sh ]; then scripts/test-external.sh; fi

# The wheel, not optimised, in an empty environment.
python: setup
	@scripts/test-python.sh
