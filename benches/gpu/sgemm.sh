#!/usr/bin/env bash
# f32 products beside cuBLAS. Two parts, since the machine with the GPU need not have Rust, nor this
# one a GPU:
#
#   benches/gpu/sgemm.sh export FOLDER [ARCH [SIZE...]]
#       binaries of each pipeline for each size (NVRTC, no GPU)
#   benches/gpu/sgemm.sh measure FOLDER [OPTION...]
#       times them beside cuBLAS (a GPU, torch); options of sgemm.py
#   benches/gpu/sgemm.sh check
#       each pipeline on the emulator, small sizes, against the reference
#
# LOOPWRIGHT is the command; by default it is built. PIPELINES are the files; by default
# the example and benches/gpu/sgemm. A pipeline whose assumptions a size does not meet is left out
# for that size, which is said.
set -euo pipefail
. "$(dirname "$0")/loopwright.sh"
kernel=examples/kernels/matmul.lw
read -ra pipelines <<<"${PIPELINES:-$(echo examples/pipelines/matmul/register_tile.pipe benches/gpu/sgemm/*.pipe)}"

case "${1:-}" in
export)
    folder=$2 arch=${3:-sm_90a}
    sizes=("${@:4}")
    [ ${#sizes[@]} -gt 0 ] || sizes=(2048 4096 8192 4095x4097x4099)
    for size in "${sizes[@]}"; do
        IFS=x read -r m n l <<<"$size"
        n=${n:-$m} l=${l:-$m}
        for pipeline in "${pipelines[@]}"; do
            to=$folder/$size/$(basename "$pipeline" .pipe)
            if ! said=$(loopwright export "$kernel" "$pipeline" --set m="$m" --set n="$n" --set l="$l" --arch "$arch" -o "$to" 2>&1); then
                rm -rf "$to"
                case $said in
                *assumption*) echo "$size: without $(basename "$pipeline")" ;;
                *) echo "$said" >&2; exit 1 ;;
                esac
            fi
        done
    done
    ;;
measure)
    python3 benches/gpu/sgemm.py "${@:2}"
    ;;
check)
    for pipeline in "${pipelines[@]}"; do
        sizes="256 256 64"
        grep -q "mod 128\|mod 256" "$pipeline" || sizes="132 260 36"
        grep -q "assume" "$pipeline" || sizes="131 133 35"
        read -r m n l <<<"$sizes"
        printf '%s, %s x %s x %s: ' "$(basename "$pipeline")" "$m" "$n" "$l"
        loopwright run "$kernel" "$pipeline" --set m="$m" --set n="$n" --set l="$l" --random a --random b --device emulator --verify | tail -1
    done
    ;;
*)
    usage
    exit 2
    ;;
esac
