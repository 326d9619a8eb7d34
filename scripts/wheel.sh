#!/usr/bin/env bash
# Builds the wheel of the Python package with maturin: `scripts/wheel.sh [--profile dev] --out
# FOLDER`.
#
# maturin and the packages that the wheel's tests need come from their own packages, once, into
# .build/python. Options are maturin's.
set -euo pipefail
cd "$(dirname "$0")/.."
build=.build/python
# The tests' environment gets NumPy from a file: an empty environment needs no network then.
wanted='maturin==1.* numpy'
if [ "$(cat "$build/.complete" 2>/dev/null || true)" != "$wanted" ]; then
    rm -rf "$build" && mkdir -p "$build"
    python3 -c 'import sys; print(sys.executable)' >"$build/interpreter"
    pip() { "$build/tools/bin/python" -m pip "$@" --quiet --disable-pip-version-check --no-input --retries 2; }
    if ! { python3 -m venv "$build/tools" && pip install 'maturin==1.*' && pip download --dest "$build/packages" numpy; }; then
        echo "wheel: the Python package is built with maturin, which could not be installed: it needs Python 3.9 or" \
            "later with venv (python3-venv on Debian) and pip, and their packages" >&2
        exit 1
    fi
    printf '%s\n' "$wanted" >"$build/.complete"
fi
# An older wheel would be taken for the new one.
folder=
for option; do
    if [ "${previous:-}" = --out ]; then folder=$option; fi
    previous=$option
done
if [ -n "$folder" ]; then rm -f "$folder"/loopwright-*.whl; fi
"$build/tools/bin/maturin" build --manifest-path crates/python/Cargo.toml "$@"
