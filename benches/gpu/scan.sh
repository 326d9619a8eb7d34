#!/usr/bin/env bash
# Prefix sums of 2^28 numbers beside CUB's DeviceScan and torch.cumsum:
#
#   benches/gpu/scan.sh measure [OPTION...]
#       one table (a GPU, torch, nvcc, NVRTC); options of scan.py
#   benches/gpu/scan.sh check
#       our pipelines on the emulator, few numbers, against the reference
#
# LOOPWRIGHT is the command; by default it is built.
set -euo pipefail
. "$(dirname "$0")/loopwright.sh"
set_loopwright

case "${1:-}" in
measure)
    python3 benches/gpu/scan.py "${@:2}"
    ;;
check)
    for kernel in {i32,f32}_{inclusive,exclusive}; do
        # What is declared is quadratic in the length.
        for shape in "64 4 3 136" "128 8 5 72"; do
            read -r tile own c l <<<"$shape"
            printf '%s, tiles of %s, %s x %s: ' $kernel "$tile" "$c" "$l"
            "$LOOPWRIGHT" run benches/gpu/scan/$kernel.lw benches/gpu/scan/three.pipe -p tile="$tile" -p own="$own" --set c="$c" --set l="$l" \
                --random x --device emulator --verify | tail -1
        done
        for shape in "256 8 1056" "1024 32 2592"; do
            read -r tile own n <<<"$shape"
            printf '%s, look-back, tiles of %s, %s: ' $kernel "$tile" "$n"
            "$LOOPWRIGHT" run benches/gpu/scan/one_$kernel.lw benches/gpu/scan/look_back.pipe -p tile="$tile" -p own="$own" --set n="$n" \
                --random x --device emulator --verify | tail -1
        done
    done
    ;;
*)
    usage
    exit 2
    ;;
esac
