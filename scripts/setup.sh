#!/usr/bin/env bash
# Installs what building and running loopwright needs and this machine lacks. Running it again is
# quick and changes nothing.
#
#   1. A C compiler, which builds isl, a C++ compiler, which tests use, and make. Required.
#   2. NVRTC, the compiler of CUDA C, with its headers: from an installed CUDA toolkit, or else from
#      its Python packages, unpacked into .build/nvrtc. Optional: without it, kernels are printed
#      and emulated, but not compiled for a GPU.
#   3. cuobjdump and nvdisasm, which show machine code. Optional.
#
# Exit status 0 means that the project can be built; what is left out is said in so many words.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*"; }

# -------------------------------------------------------------------------------------- build tools

run_as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then run_as_root=(sudo -n); else run_as_root=(none); fi
fi

apt_updated=no
# apt_install PACKAGE...: installs packages where apt-get and the rights for it exist; status 1
# where they do not.
apt_install() {
    command -v apt-get >/dev/null 2>&1 || return 1
    [ "${run_as_root[0]:-}" != none ] || return 1
    if [ "$apt_updated" = no ]; then
        say "apt-get update"
        "${run_as_root[@]}" apt-get update -qq || say "apt-get update failed; trying with the package lists at hand"
        apt_updated=yes
    fi
    say "apt-get install $*"
    "${run_as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

if ! command -v cargo >/dev/null 2>&1; then
    say "cargo is missing: install Rust from https://rustup.rs and run this again"
    exit 1
fi

# missing_packages prints the packages whose command is not there.
missing_packages() {
    local pair
    for pair in cc:gcc g++:g++ make:make; do
        command -v "${pair%%:*}" >/dev/null 2>&1 || echo "${pair##*:}"
    done
}

mapfile -t missing < <(missing_packages)
if [ "${#missing[@]}" -gt 0 ]; then
    apt_install "${missing[@]}" || true
    mapfile -t missing < <(missing_packages)
    if [ "${#missing[@]}" -gt 0 ]; then
        say "these are needed to build and could not be installed: ${missing[*]}"
        say "install them with your system's package manager (as root on Debian or Ubuntu: apt-get install ${missing[*]}) and run this again"
        exit 1
    fi
fi
say "build tools: present"

# -------------------------------------------------------------------------------------------- NVRTC

# The versions of the Python packages. A change here makes the next run replace .build/nvrtc.
nvrtc_packages=('nvidia-cuda-nvrtc==13.0.*' 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-crt==13.0.*')
disassembler_packages=('nvidia-cuda-cuobjdump>=13.2' 'nvidia-cuda-nvdisasm>=13.2')
folder=.build/nvrtc

# installed_nvrtc prints where an installed NVRTC is: the places that the library itself looks at.
installed_nvrtc() {
    local place file
    if [ -n "${LOOPWRIGHT_NVRTC:-}" ]; then
        echo "$LOOPWRIGHT_NVRTC (LOOPWRIGHT_NVRTC)"
        return 0
    fi
    local -a places=()
    IFS=: read -r -a places <<<"${LD_LIBRARY_PATH:-}"
    for place in "${CUDA_HOME:-}" "${CUDA_PATH:-}" "${CUDA_ROOT:-}" /usr/local/cuda /usr/local/cuda-1[23]* /opt/cuda; do
        [ -z "$place" ] || places+=("$place/lib64" "$place/lib")
    done
    for place in "${places[@]}"; do
        [ -n "$place" ] || continue
        for file in "$place"/libnvrtc.so.1[123]; do
            if [ -e "$file" ]; then
                echo "$file"
                return 0
            fi
        done
    done
    file=$({ ldconfig -p 2>/dev/null || /sbin/ldconfig -p 2>/dev/null || true; } | sed -n 's/.*libnvrtc\.so\.1[123] .*=> //p' | head -n 1)
    [ -n "$file" ] || return 1
    echo "$file"
}

# pip_install PACKAGE...: unpacks Python packages into $target, which has to be empty: pip would not
# merge into the folder that they share.
pip_install() {
    rm -rf "$target" && mkdir -p "$target"
    python3 -m pip install --quiet --disable-pip-version-check --no-input --retries 2 --no-deps \
        --target "$target" "$@" 2>"$target.log" || return 1
    if ! ls "$target"/nvidia/*/lib/libnvrtc.so.1* >/dev/null 2>&1; then
        echo "the packages hold no libnvrtc" >"$target.log"
        return 1
    fi
}

no_nvrtc() {
    say "NVRTC could not be had: $1"
    say "CUDA compilation will be left out; everything else works. To add it later, install a CUDA toolkit (12 or 13),"
    say "or set LOOPWRIGHT_NVRTC to a folder with libnvrtc, and run this again."
}

install_nvrtc() {
    if ! command -v python3 >/dev/null 2>&1; then
        apt_install python3 python3-pip || true
    fi
    if ! command -v python3 >/dev/null 2>&1; then
        no_nvrtc "there is no python3 to fetch its package with"
        return 0
    fi
    if ! python3 -m pip --version >/dev/null 2>&1; then
        apt_install python3-pip || python3 -m ensurepip --user >/dev/null 2>&1 || true
    fi
    if ! python3 -m pip --version >/dev/null 2>&1; then
        no_nvrtc "python3 has no pip"
        return 0
    fi
    mkdir -p .build
    # Unpacked beside and then renamed: an interrupted run leaves nothing that looks complete.
    target=$(mktemp -d .build/nvrtc.XXXXXX)
    say "fetching NVRTC (about 100 MB) into $folder"
    if pip_install "${nvrtc_packages[@]}" "${disassembler_packages[@]}" || pip_install "${nvrtc_packages[@]}"; then
        if ! [ -x "$target/nvidia/cu13/bin/nvdisasm" ]; then
            say "no disassembler: its packages could not be installed, so machine code will not be shown"
        fi
        printf '%s\n' "$wanted" >"$target/.complete"
        chmod 755 "$target"
        rm -rf "$folder"
        mv "$target" "$folder"
        say "NVRTC: $folder"
    else
        no_nvrtc "$(tail -n 1 "$target.log")"
        rm -rf "$target"
    fi
    rm -f "$target.log"
}

wanted="${nvrtc_packages[*]} ${disassembler_packages[*]}"
if found=$(installed_nvrtc); then
    say "NVRTC: $found"
elif [ "$(cat "$folder/.complete" 2>/dev/null || true)" = "$wanted" ] && ls "$folder"/nvidia/*/lib/libnvrtc.so.1* >/dev/null 2>&1; then
    say "NVRTC: $folder"
else
    install_nvrtc
fi

# ---------------------------------------------------------------------------------------------- GPU

if command -v nvidia-smi >/dev/null 2>&1 && gpus=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null) && [ -n "$gpus" ]; then
    say "GPU: $(printf '%s' "$gpus" | head -n 1)"
else
    say "GPU: none; kernels run on the embedded emulator"
fi
