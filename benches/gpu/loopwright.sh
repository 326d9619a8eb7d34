# Sourced by the scripts of this folder: goes to the root of the repository, and makes `loopwright`
# the command that LOOPWRIGHT names; by default it is built.
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
