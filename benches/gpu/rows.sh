#!/usr/bin/env bash
# Softmax, layer norm and log-sum-exp of rows beside torch, torch.compile and fused Triton kernels:
#
#   benches/gpu/rows.sh measure [OPTION...]
#       one table (a GPU, torch, Triton, NVRTC); options of rows.py
#   benches/gpu/rows.sh check
#       our pipelines on the emulator, few rows, against the reference
#
# LOOPWRIGHT is the command; by default it is built.
set -euo pipefail
. "$(dirname "$0")/loopwright.sh"
set_loopwright

# run NAME KERNEL ROWS LENGTH [OPTION...]: one check.
run() {
    printf '%s, rows of %s: ' "$1" "$4"
    "$LOOPWRIGHT" run "$2" "${@:5}" --set m="$3" --set n="$4" --random x --device emulator --verify 2>/dev/null | tail -1
}

case "${1:-}" in
measure)
    python3 benches/gpu/rows.py "${@:2}"
    ;;
check)
    here=benches/gpu/rows
    for length in 1024 4096 16384; do
        for kernel in softmax layer_norm; do
            given=()
            [ $kernel = softmax ] || given=(--random gain --random bias --set eps=0.00001)
            for pipeline in row_$length any_length; do
                run "$kernel/$pipeline" examples/kernels/$kernel.lw 2 $length examples/pipelines/$kernel/$pipeline.pipe "${given[@]}"
            done
            run "$kernel/auto" examples/kernels/$kernel.lw 2 $length $here/whole_vectors.pipe --auto "${given[@]}"
        done
        run log_sum_exp/block_vec4 examples/kernels/log_sum_exp.lw 2 $length examples/pipelines/log_sum_exp/block_vec4.pipe
        run log_sum_exp/auto examples/kernels/log_sum_exp.lw 2 $length $here/whole_vectors.pipe --auto
        for shape in "1024 512" "1024 1024" "2048 1024" "2048 512"; do
            read -r tile step <<<"$shape"
            [ "$tile" -gt $length ] || run "one_exp, $tile, $step" $here/one_exp.lw 2 $length $here/fold.pipe -p tile="$tile" -p step="$step"
        done
        for threads in 128 256 512; do
            [ $((4 * threads)) -gt $length ] || run "sweeps, $threads" $here/sweeps.lw 2 $length $here/sweeps.pipe -p n=$length -p threads=$threads
        done
    done
    ;;
*)
    usage
    exit 2
    ;;
esac
