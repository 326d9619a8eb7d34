#!/usr/bin/env bash
# Builds the book with mdBook into target/book, and follows every link in it. mdBook comes from its
# own package, once, into .build/mdbook. The pages of the steps are printed by the command itself.
#
# With --if-possible, a machine on which mdBook cannot be installed leaves the book out, and says
# so.
set -euo pipefail
cd "$(dirname "$0")/.."
wanted='0.4'
if [ "$(cat .build/mdbook/.complete 2>/dev/null || true)" != "$wanted" ]; then
    rm -rf .build/mdbook
    # Not optimised: that takes a third of the time to build, and the book is built in a second.
    if ! CARGO_PROFILE_DEV_DEBUG=0 cargo install mdbook --debug --version "^$wanted" \
            --no-default-features --locked --quiet --root .build/mdbook --target-dir target/mdbook; then
        rm -rf target/mdbook
        echo "book: mdBook could not be installed; it needs the package index of cargo" >&2
        if [ "${1:-}" = --if-possible ]; then
            echo "book: left out" >&2
            exit 0
        fi
        exit 1
    fi
    rm -rf target/mdbook
    printf '%s\n' "$wanted" >.build/mdbook/.complete
fi
cargo build --quiet --workspace --bin loopwright
loopwright=${CARGO_TARGET_DIR:-target}/debug/loopwright
steps=book/src/reference/steps.md
{
    echo '# Steps'
    echo
    echo '```text'
    "$loopwright" steps
    echo '```'
    # Steps with their arguments, then what else a pipeline may have, as one word.
    "$loopwright" steps | sed -n 's/^\([a-z_][a-z_]*\)[( ].*/\1/p' | while read -r name; do
        echo
        # Headings one level deeper, code blocks left alone.
        "$loopwright" steps "$name" | awk '/^```/ { code = !code } !code && /^#/ { $0 = "#" $0 } { print }'
    done
} >"$steps"
.build/mdbook/bin/mdbook build book
# Pages of docs/ name files of the repository; book.toml leads those of the book to its own pages.
mkdir -p target/book/examples
cp -r examples/kernels examples/pipelines target/book/examples/
scripts/links.py target/book
echo "book: target/book/index.html"
