#!/bin/sh
# Checks that `lsm-tree` is the published crate with `lsm-tree.patch`. Needs curl, tar and diff.
# With the argument `write`, writes the patch.
set -eu
version=3.1.10
sum=5498808f4d41cf785079d3ef3f28716f1b4364af1b512f3097bfb651bded1b3e
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
curl -sSfL -o "$work/crate" "https://static.crates.io/crates/lsm-tree/lsm-tree-$version.crate"
echo "$sum  $work/crate" | sha256sum -c -
tar -xzf "$work/crate" -C "$work"
published="$work/lsm-tree-$version"
(cd "$published" && rm -f Cargo.lock Cargo.toml.orig .cargo_vcs_info.json \
    src/compaction/leveled/test.rs src/table/tests.rs src/table/data_block/iter_test.rs)
cp -r lsm-tree "$work/patched"
mv "$published" "$work/published"
(cd "$work" && diff -ruN published patched || true) | sed -E 's/^(---|\+\+\+) ([^\t]*)\t.*/\1 \2/' > "$work/patch"
if [ "${1:-}" = write ]; then
    cp "$work/patch" lsm-tree.patch
else
    diff "$work/patch" lsm-tree.patch && echo "lsm-tree is $version with lsm-tree.patch"
fi
