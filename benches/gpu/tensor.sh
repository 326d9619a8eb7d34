#!/usr/bin/env bash
# bf16 products by tensor cores beside cuBLAS. Two parts, since the machine with the GPU need not
# have Rust, nor this one a GPU:
#
#   benches/gpu/tensor.sh export FOLDER [ARCH [SIZE...]]    binaries of each variant for each size (NVRTC, no GPU)
#   benches/gpu/tensor.sh measure FOLDER [OPTION...]        times them beside cuBLAS (a GPU, torch); options of tensor.py
#   benches/gpu/tensor.sh check                             each variant on the emulator, small sizes, against the reference
#
# LOOPWRIGHT is the command; by default `cargo run --release`. VARIANTS are lines of `PIPELINE
# NAME=INTEGER...`.
set -euo pipefail
cd "$(dirname "$0")/../.."

loopwright() {
    if [ -n "${LOOPWRIGHT:-}" ]; then "$LOOPWRIGHT" "$@"; else cargo run --quiet --release --bin loopwright -- "$@"; fi
}
kernel=examples/kernels/matmul_bf16.lw
variants=${VARIANTS:-"
examples/pipelines/matmul_bf16/mma.pipe
examples/pipelines/matmul_bf16/mma_async.pipe
examples/pipelines/matmul_bf16/mma_swizzled.pipe
examples/pipelines/matmul_bf16/mma_raster.pipe
benches/gpu/tensor/ring_whole.pipe bm=128 bn=128 wm=64 wn=64 bk=64 stages=3 group=8
benches/gpu/tensor/ring_stored.pipe bm=128 bn=128 wm=64 wn=64 bk=32 stages=4 swizzle=2 group=8
benches/gpu/tensor/ring_stored.pipe bm=256 bn=128 wm=64 wn=64 bk=64 stages=3 swizzle=3 group=8
benches/gpu/tensor/ring_across_flat.pipe bm=256 bn=128 wm=64 wn=64 bk=64 stages=3 swizzle=3 group=8
"}

# each COMMAND: COMMAND NAME PIPELINE [-p NAME=INTEGER]... for each variant
each() {
    local pipeline parameters name
    while read -r pipeline parameters; do
        [ -n "$pipeline" ] || continue
        name=$(basename "$pipeline" .pipe)
        local -a given=()
        for p in $parameters; do
            given+=(-p "$p")
            name+=_${p#*=}
        done
        "$@" "$name" "$pipeline" "${given[@]}"
    done <<<"$variants"
}

export_one() {
    local to=$folder/$size/$1
    loopwright export "$kernel" "$2" "${@:3}" --set m="$m" --set n="$n" --set l="$l" --arch "$arch" -o "$to" >/dev/null
}

check_one() {
    local sizes="131 133 40"
    case $1 in
    ring_whole*) sizes="256 256 64" ;;
    ring_stored* | ring_ahead* | ring_across*) sizes="2048 256 64" ;;
    esac
    read -r m n l <<<"$sizes"
    printf '%s, %s x %s x %s: ' "$1" "$m" "$n" "$l"
    loopwright run "$kernel" "$2" "${@:3}" --set m="$m" --set n="$n" --set l="$l" --random a --random b --device emulator --verify | tail -1
}

case "${1:-}" in
export)
    folder=$2 arch=${3:-sm_90a}
    sizes=("${@:4}")
    [ ${#sizes[@]} -gt 0 ] || sizes=(4096 8192)
    for size in "${sizes[@]}"; do
        IFS=x read -r m n l <<<"$size"
        n=${n:-$m} l=${l:-$m}
        each export_one
    done
    ;;
measure)
    python3 benches/gpu/tensor.py "${@:2}"
    ;;
check)
    each check_one
    ;;
*)
    sed -n '2,8s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
