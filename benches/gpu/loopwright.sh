# Sourced by the scripts of this folder: goes to the root of the repository, and makes `loopwright`
# the command that LOOPWRIGHT names; by default it is built. The head of the script is its usage,
# which `--help` prints.
script=$(realpath "$0")
usage() {
    sed -n '2,${/^#/!q;s/^# \{0,1\}//p}' "$script"
}
case "${1:-}" in
-h | --help)
    usage
    exit 0
    ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# For programs that call it themselves.
set_loopwright() {
    if [ -z "${LOOPWRIGHT:-}" ]; then
        cargo build --quiet --release --bin loopwright
        LOOPWRIGHT=target/release/loopwright
    fi
    export LOOPWRIGHT
}

loopwright() {
    set_loopwright
    "$LOOPWRIGHT" "$@"
}
