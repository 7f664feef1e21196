#!/bin/sh
# Checks that each folder is the published crate with the patch of its name. Needs curl, tar and diff.
# With the argument `write`, writes the patches.
set -eu
cd "$(dirname "$0")"
mode=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check NAME VERSION SUM FILE...: the files are left out of the copy.
check() {
    name=$1 version=$2 sum=$3
    shift 3
    mkdir "$work/$name"
    curl -sSfL -o "$work/crate" "https://static.crates.io/crates/$name/$name-$version.crate"
    echo "$sum  $work/crate" | sha256sum -c -
    tar -xzf "$work/crate" -C "$work/$name"
    mv "$work/$name/$name-$version" "$work/$name/published"
    (cd "$work/$name/published" && rm -rf Cargo.lock Cargo.toml.orig .cargo_vcs_info.json .github .gitignore \
        .gitmodules "$@")
    cp -r "$name" "$work/$name/patched"
    (cd "$work/$name" && diff -ruN published patched || true) |
        sed -E 's/^(---|\+\+\+) ([^\t]*)\t.*/\1 \2/' >"$work/patch"
    if [ "$mode" = write ]; then
        cp "$work/patch" "$name.patch"
    else
        diff "$work/patch" "$name.patch" && echo "$name is $version with $name.patch"
    fi
}

check lsm-tree 3.1.10 5498808f4d41cf785079d3ef3f28716f1b4364af1b512f3097bfb651bded1b3e \
    src/compaction/leveled/test.rs src/table/tests.rs src/table/data_block/iter_test.rs
check mimalloc 0.1.52 2d4139bb28d14ad1facf21d5eb8825051b326e172d216b39f6d31df53cc97862
