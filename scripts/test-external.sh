#!/usr/bin/env bash
# Builds and runs tests/external-crate and tests/text-only, which use loopwright as its users do:
# each by itself, so that it gets the features that it asks for.
set -euo pipefail
cd "$(dirname "$0")/.."
INSTA_UPDATE="${INSTA_UPDATE:-no}" cargo test --quiet -p external-crate

# Who only generates text gets no runtime, and nothing that looks for a driver.
printed=$(cargo run --quiet -p text-only)
case "$printed" in
    *'y[i] = 2.0f * x[i];'*) ;;
    *) printf 'text-only printed something else:\n%s\n' "$printed" && exit 1 ;;
esac
tree=$(cargo tree -p text-only --edges normal --prefix none)
if grep -E '^(cudarc|loopwright-(cuda|runtime|emulator|tuner)|clap) ' <<<"$tree"; then
    echo "text-only depends on these, which generating text does not need" && exit 1
fi
