#!/usr/bin/env bash
# Builds and runs tests/external-crate: a crate outside the workspace that uses loopwright as its
# users do.
#
# It takes the versions of the workspace's lock file, so that both test the same dependencies, and
# the workspace's target folder, so that they are built once.
set -euo pipefail
cd "$(dirname "$0")/../tests/external-crate"
cp ../../Cargo.lock Cargo.lock
CARGO_TARGET_DIR=../../target INSTA_UPDATE="${INSTA_UPDATE:-no}" cargo test --quiet
