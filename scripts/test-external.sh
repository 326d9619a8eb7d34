#!/usr/bin/env bash
# Builds and runs tests/external-crate and tests/text-only: crates outside the workspace that use
# loopwright as its users do.
#
# They take the versions of the workspace's lock file, so that both test the same dependencies, and
# the workspace's target folder, so that these are built once.
set -euo pipefail
cd "$(dirname "$0")/../tests/external-crate"
cp ../../Cargo.lock Cargo.lock
CARGO_TARGET_DIR=../../target INSTA_UPDATE="${INSTA_UPDATE:-no}" cargo test --quiet

# Who only generates text gets no runtime, and nothing that looks for a driver.
cd ../text-only
cp ../../Cargo.lock Cargo.lock
printed=$(CARGO_TARGET_DIR=../../target cargo run --quiet)
case "$printed" in
    *'y[i] = 2.0f * x[i];'*) ;;
    *) printf 'text-only printed something else:\n%s\n' "$printed" && exit 1 ;;
esac
tree=$(cargo tree --edges normal --prefix none)
if grep -E '^(cudarc|loopwright-(cuda|runtime|emulator|tuner)|clap) ' <<<"$tree"; then
    echo "text-only depends on these, which generating text does not need" && exit 1
fi
