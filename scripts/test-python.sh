#!/usr/bin/env bash
# Builds the wheel of the Python package, installs it into an empty environment, and runs the
# package's tests there. Before that, the tests of what draws and lists the benchmarks.
#
# The wheel of this script is not optimised (--profile dev), and lies in target/wheels: `make wheel`
# makes the one to be used.
set -euo pipefail
cd "$(dirname "$0")/.."
python3 -m unittest discover --start-directory benches/gpu --quiet
scripts/wheel.sh --profile dev --out target/wheels
# An absolute path: the folder is removed from within it.
environment=$(mktemp -d "$PWD/target/wheel-test.XXXXXX")
trap 'rm -rf "$environment"' EXIT
"$(cat .build/python/interpreter)" -m venv "$environment"
"$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-index \
    --find-links .build/python/packages target/wheels/loopwright-*.whl
# Away from the sources: what is imported is what was installed.
cp -r crates/python/tests "$environment/tests"
cp README.md "$environment/tests/README.md"
cp crates/python/README.md "$environment/tests/README-python.md"
cp book/src/first/python.md "$environment/tests/book-python.md"
export LOOPWRIGHT_STAND_IN_SOURCE=$PWD/crates/driver-stand-in/src/stand_in.c
cd "$environment"
bin/python -m unittest discover --start-directory tests --quiet
