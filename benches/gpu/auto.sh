#!/usr/bin/env bash
# Pipelines that `auto` finds, beside those that were written by hand, and beside torch and Triton
# where there is an obvious peer. On the machine with the GPU:
#
#   benches/gpu/auto.sh measure [OPTION...]  times them, kernel by kernel; options of auto.py
#   benches/gpu/auto.sh check                both at small sizes, on the GPU, against the reference
#
# LOOPWRIGHT is the command; by default it is built.
set -euo pipefail
. "$(dirname "$0")/loopwright.sh"
set_loopwright

case "${1:-}" in
measure)
    python3 benches/gpu/auto.py "${@:2}"
    ;;
check)
    python3 benches/gpu/auto.py --check "${@:2}"
    ;;
*)
    usage
    exit 2
    ;;
esac
