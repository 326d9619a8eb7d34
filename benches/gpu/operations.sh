#!/usr/bin/env bash
# What `auto` finds for common operations of array libraries, beside PyTorch. Two parts, since the
# machine with the GPU need not have Rust, nor this one a GPU:
#
#   benches/gpu/operations.sh export FOLDER [NAME...]
#       finds pipelines, and writes binaries (NVRTC)
#   benches/gpu/operations.sh measure FOLDER [NAME...]
#       times them beside torch (a GPU, torch)
#
# NAMEs are parts of names of operations. LOOPWRIGHT is the command; by default it is
# built; ARCH is the architecture, by default sm_90a.
set -euo pipefail
. "$(dirname "$0")/loopwright.sh"

case "${1:-}" in
export)
    set_loopwright
    python3 benches/gpu/operations.py export "${@:2}"
    ;;
measure)
    python3 benches/gpu/operations.py measure "${@:2}"
    ;;
*)
    usage
    exit 2
    ;;
esac
