#!/usr/bin/env bash
# Products by tensor cores and a contraction beside cuBLAS, a convolution beside cuDNN. Two parts,
# since the machine with the GPU need not have Rust, nor this one a GPU:
#
#   benches/gpu/tensor.sh export FOLDER [ARCH [SIZE...]]
#       binaries of each variant for each size (NVRTC, no GPU)
#   benches/gpu/tensor.sh measure FOLDER [OPTION...]
#       times them beside cuBLAS and cuDNN (a GPU, torch); options of tensor.py
#   benches/gpu/tensor.sh both [OPTION...]                  both, by way of a temporary folder
#   benches/gpu/tensor.sh check
#       each variant on the emulator, small sizes, against the reference
#
# LOOPWRIGHT is the command; by default it is built. TYPES are some of bf16, f16, tf32,
# tf32_rounded_first, tf32_truncated, s8, f64, convolution and contraction; by default all. VARIANTS
# are lines of `TYPE PIPELINE NAME=INTEGER...`; those of f16 are the pipelines of bf16 with the atom
# of the type. A variant whose assumptions a size does not meet is left out for that size, which is
# said.
set -euo pipefail
. "$(dirname "$0")/loopwright.sh"
here=benches/gpu/tensor
types=${TYPES:-bf16 f16 tf32 tf32_rounded_first tf32_truncated s8 f64 convolution contraction}
variants=${VARIANTS:-"
bf16 examples/pipelines/matmul_bf16/mma.pipe
bf16 examples/pipelines/matmul_bf16/mma_async.pipe
bf16 examples/pipelines/matmul_bf16/mma_swizzled.pipe
bf16 examples/pipelines/matmul_bf16/mma_raster.pipe
bf16 $here/ring_whole.pipe bm=128 bn=128 wm=64 wn=64 bk=64 stages=3 group=8
bf16 $here/ring_stored.pipe bm=128 bn=128 wm=64 wn=64 bk=32 stages=4 swizzle=2 group=8
bf16 $here/ring_stored.pipe bm=256 bn=128 wm=64 wn=64 bk=64 stages=3 swizzle=3 group=8
bf16 $here/ring_across_flat.pipe bm=256 bn=128 wm=64 wn=64 bk=64 stages=3 swizzle=3 group=8 a=4 b=2
f16 $here/ring_stored.pipe bm=256 bn=128 wm=64 wn=64 bk=64 stages=3 swizzle=3 group=8
f16 $here/ring_across_flat.pipe bm=256 bn=128 wm=64 wn=64 bk=64 stages=3 swizzle=3 group=8 a=4 b=2
tf32 $here/ring_tf32.pipe bm=128 bn=128 wm=64 wn=64 bk=32 stages=3 group=8
tf32 $here/ring_across_tf32.pipe bm=128 bn=128 wm=64 wn=64 bk=32 stages=3 group=8
tf32 $here/ring_across_tf32.pipe bm=256 bn=128 wm=64 wn=64 bk=32 stages=3 group=4
tf32_rounded_first $here/ring_rounded_first.pipe bm=128 bn=128 wm=64 wn=64 bk=32 stages=3 group=8
tf32_rounded_first $here/ring_rounded_first.pipe bm=256 bn=128 wm=64 wn=64 bk=32 stages=4 group=4
tf32_truncated $here/ring_across_tf32_truncated.pipe bm=128 bn=128 wm=64 wn=64 bk=32 stages=3 group=8
tf32_truncated $here/ring_across_tf32_truncated.pipe bm=256 bn=128 wm=64 wn=64 bk=32 stages=4 group=4
s8 $here/ring_s8.pipe bm=128 bn=128 wm=64 wn=64 bk=128 stages=3 group=8
s8 $here/ring_across_s8.pipe bm=128 bn=128 wm=64 wn=64 bk=128 stages=3 group=8
s8 $here/ring_across_s8.pipe bm=256 bn=128 wm=64 wn=64 bk=128 stages=3 group=4
f64 $here/ring_f64.pipe bm=128 bn=128 wm=64 wn=32 bk=16 stages=3 group=8
f64 $here/ring_f64_16.pipe bm=128 bn=128 wm=32 wn=64 bk=16 stages=4 group=8
f64 $here/ring_f64_16.pipe bm=64 bn=128 wm=32 wn=32 bk=16 stages=3 group=16
f64 $here/ring_f64_16.pipe bm=64 bn=64 wm=32 wn=32 bk=16 stages=4 group=8
convolution $here/conv_ring.pipe height=128 channels=256 bm=128 bn=128 wm=64 wn=64 bk=64 stages=3 swizzle=3
contraction $here/contraction_ring.pipe length=256 bm=256 bn=128 wm=64 wn=64 bk=64 stages=3 swizzle=3 group=8
"}

# What is written on the way: exports of `both`, and pipelines of f16.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

kernel_of() {
    case $1 in
    bf16) echo examples/kernels/matmul_bf16.lw ;;
    *) echo "$here/$1.lw" ;;
    esac
}

# each COMMAND: COMMAND TYPE NAME PIPELINE [-p NAME=INTEGER]... for each variant of the types that
# are asked for
each() {
    local type pipeline parameters name
    while read -r type pipeline parameters; do
        [[ " $types " == *" ${type:-none} "* ]] || continue
        name=$(basename "$pipeline" .pipe)
        if [ "$type" = f16 ]; then
            sed 's/_bf16/_f16/' "$pipeline" >"$work/$name.pipe"
            pipeline=$work/$name.pipe
        fi
        local -a given=()
        for p in $parameters; do
            given+=(-p "$p")
            name+=_${p#*=}
        done
        "$@" "$type" "$name" "$pipeline" "${given[@]}"
    done <<<"$variants"
}

# export_to FOLDER NAME SIZE [ARGUMENT...]: one export; a pipeline whose assumptions the size does
# not meet is left out
export_to() {
    local said
    if ! said=$(loopwright export "${@:4}" --arch "$arch" -o "$1" 2>&1); then
        rm -rf "$1"
        case $said in
        *error\[assumption\]*) echo "$3: without $2" ;;
        *)
            echo "$said" >&2
            exit 1
            ;;
        esac
    fi
}

# product TYPE NAME PIPELINE M N L [OPTION...]: one export of a product
product() {
    local size=$4x$5x$6
    [ "$4$4" != "$5$6" ] || size=$4
    export_to "$folder/$1/$size/$2" "$2" "$1, $size" "$(kernel_of "$1")" "$3" "${@:7}" --set m="$4" --set n="$5" --set l="$6"
}

export_one() {
    if [ "$1" = contraction ]; then
        export_to "$folder/$1/16x4096x4096x256/$2" "$2" "$1" "$(kernel_of "$1")" "$3" "${@:4}" \
            --set t=16 --set m=4096 --set n=4096 --set l=256
    elif [ "$1" = convolution ]; then
        export_to "$folder/$1/16x128x128x256x256/$2" "$2" "$1" "$(kernel_of "$1")" "$3" "${@:4}" \
            --set q=16 --set h=128 --set w=128 --set n=256 --set l=256
    else
        for size in "${sizes[@]}"; do
            local m n l
            IFS=x read -r m n l <<<"$size"
            product "$1" "$2" "$3" "$m" "${n:-$m}" "${l:-$m}" "${@:4}"
        done
    fi
}

export_all() {
    folder=$1 arch=${2:-sm_90a}
    sizes=("${@:3}")
    [ ${#sizes[@]} -gt 0 ] || sizes=(4096 8192)
    each export_one
    if [[ " $types " == *" convolution "* ]]; then
        # What the tile of the convolution reaches as a product of the same size.
        product bf16 ring_whole $here/ring_whole.pipe 262144 256 2304 -p bm=128 -p bn=128 -p wm=64 -p wn=64 -p bk=64 -p stages=3 -p group=8
    fi
}

check_one() {
    local m n l
    local sizes="131 133 40"
    case $2 in
    conv* | contraction*) sizes="" ;;
    ring_tf32* | ring_across_tf32* | ring_rounded_first*) sizes="1024 128 32" ;;
    ring_s8* | ring_across_s8*) sizes="1024 128 128" ;;
    ring_f64*) sizes="1024 128 32" ;;
    ring_whole*) sizes="256 256 64" ;;
    ring_stored* | ring_ahead* | ring_across*) sizes="2048 256 64" ;;
    esac
    local -a run=(run "$(kernel_of "$1")" "$3" "${@:4}" --device emulator --verify)
    if [ "$1" = contraction ]; then
        printf '%s, 2 x 2048 x 256 x 64: ' "$2"
        loopwright "${run[@]/#length=*/length=64}" --set t=2 --set m=2048 --set n=256 --set l=64 \
            --random a --random b | tail -1
    elif [ -z "$sizes" ]; then
        printf '%s, 1 x 2 x 128 x 128 x 64: ' "$2"
        run=("${run[@]/#height=*/height=2}")
        run=("${run[@]/#channels=*/channels=64}")
        loopwright "${run[@]}" --set q=1 --set h=2 --set w=128 --set n=128 --set l=64 \
            --random x --random f | tail -1
    else
        read -r m n l <<<"$sizes"
        printf '%s, %s x %s x %s: ' "$2" "$m" "$n" "$l"
        loopwright "${run[@]}" --set m="$m" --set n="$n" --set l="$l" --random a --random b | tail -1
    fi
}

case "${1:-}" in
export)
    export_all "${@:2}"
    ;;
measure)
    python3 benches/gpu/tensor.py "${@:2}"
    ;;
both)
    export_all "$work/exports"
    python3 benches/gpu/tensor.py "$work/exports" "${@:2}"
    ;;
check)
    each check_one
    ;;
*)
    usage
    exit 2
    ;;
esac
