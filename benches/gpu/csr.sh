#!/usr/bin/env bash
# Sparse matrices by rows times a vector beside cuSPARSE, sums of the same segments beside it and
# CUB:
#
#   benches/gpu/csr.sh measure [OPTION...]  one table (a GPU, torch, nvcc, NVRTC); options of csr.py
#   benches/gpu/csr.sh check
#       our products on the emulator, few rows, against the reference
#
# LOOPWRIGHT is the command; by default it is built.
set -euo pipefail
. "$(dirname "$0")/loopwright.sh"
set_loopwright

case "${1:-}" in
measure)
    python3 benches/gpu/csr.py "${@:2}"
    ;;
check)
    here=benches/gpu/csr
    for form in warp_per_row thread_per_row "flat -p threads=128 -p items=16 -p tiles=16" "flat -p threads=128 -p items=8 -p tiles=16" \
        "flat -p threads=256 -p items=16 -p tiles=8"; do
        read -ra parts <<<"$form"
        printf '%s: ' "$form"
        "$LOOPWRIGHT" run $here/csr.lw "$here/${parts[0]}.pipe" "${parts[@]:1}" --set nnz=20000 --set rows=1500 --set n=700 \
            --random values --random columns --random offsets --random x --device emulator --verify | tail -1
    done
    ;;
*)
    usage
    exit 2
    ;;
esac
