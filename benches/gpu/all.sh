#!/usr/bin/env bash
# Every workload beside its strongest peers, in one process and one table:
#
#   benches/gpu/all.sh measure [OPTION...]
#       a GPU, torch, nvcc with CUB, Triton, NVRTC; options of all.py, such as --json FILE
#   benches/gpu/all.sh dry-run              lists the cases; needs nothing but Python
#   benches/gpu/all.sh export
#       writes all binaries (NVRTC, no GPU), which shows what could not be launched
#   benches/gpu/all.sh check
#       attention on the emulator, few rows, against the reference
#
# What is missing is left out, and the end of the table says so. LOOPWRIGHT is the command, with the
# example `segmented_reduce` in the folder `examples` beside it; by default both are built.
set -euo pipefail
. "$(dirname "$0")/loopwright.sh"

case "${1:-}" in
measure)
    if [ -z "${LOOPWRIGHT:-}" ]; then
        cargo build --quiet --release --bin loopwright --example segmented_reduce
    fi
    set_loopwright
    python3 benches/gpu/all.py "${@:2}"
    ;;
dry-run)
    python3 benches/gpu/all.py --dry-run "${@:2}"
    ;;
export)
    set_loopwright
    python3 benches/gpu/all.py --export "${@:2}"
    ;;
check)
    for sizes in "1 130 136 72" "2 3 1032 16"; do
        read -r h n m d <<<"$sizes"
        printf 'attention/mma, %s heads, %s x %s x %s: ' "$h" "$n" "$m" "$d"
        loopwright run examples/kernels/attention.lw examples/pipelines/attention/mma.pipe --set h="$h" --set n="$n" --set m="$m" --set d="$d" \
            --set scale=0.125 --random q --random k --random v --device emulator --verify | tail -1
    done
    ;;
*)
    usage
    exit 2
    ;;
esac
