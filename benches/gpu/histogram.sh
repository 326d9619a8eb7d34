#!/usr/bin/env bash
# Histograms of 256 bins beside CUB's. Two parts, since the machine with the GPU need not have Rust,
# nor this one a GPU:
#
#   benches/gpu/histogram.sh export FOLDER [ARCH]       binaries for 2^28 keys (NVRTC, no GPU)
#   benches/gpu/histogram.sh measure FOLDER [OPTION...]
#       times them beside CUB (a GPU, nvcc, torch); options of histogram.py
#   benches/gpu/histogram.sh check
#       both on the emulator, few keys, against the reference
#
# LOOPWRIGHT is the command; by default it is built.
set -euo pipefail
. "$(dirname "$0")/loopwright.sh"
here=benches/gpu/histogram
declare -A chunk=([i32]=65536 [u8]=262144)

case "${1:-}" in
export)
    folder=$2 arch=${3:-sm_90a}
    for type in i32 u8; do
        loopwright export $here/$type.lw $here/$type.pipe -p chunk=${chunk[$type]} --set n=$((1 << 28)) --arch "$arch" \
            -o "$folder/$type"
    done
    ;;
measure)
    python3 benches/gpu/histogram.py "${@:2}"
    ;;
check)
    for type in i32 u8; do
        printf '%s: ' $type
        loopwright run $here/$type.lw $here/$type.pipe -p chunk=${chunk[$type]} --set n=$((1 << 19)) --random keys \
            --zeros counts --device emulator --verify | tail -1
    done
    ;;
*)
    usage
    exit 2
    ;;
esac
