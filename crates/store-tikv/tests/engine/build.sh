#!/usr/bin/env bash
# Builds PD and unistore (TiKV's protocol on Raft) for the tests of the store on TiKV, into target/tikv-engine.
# Needs Go. Takes about two minutes, once.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
programs=$(cd "$here/../../../.." && pwd)/target/tikv-engine
mkdir -p "$programs"
# Four faults of unistore are patched in copies: it clears entries of the Raft log that are still being sent to
# other nodes, which then stop; it does not start again on its folder; it scans backward without regard to the
# version that was asked for; and it keeps the keys of the whole commit in each lock, as TiKV does only in the
# primary lock of an asynchronous commit. So a commit of 500 keys became an entry of 18 MB, which it refuses.
copy=$(mktemp -d)
trap 'chmod -R u+w "$copy"; rm -rf "$copy"' EXIT
cd "$here/store"
go mod download github.com/ngaut/unistore github.com/pingcap/tidb
for module in ngaut/unistore pingcap/tidb; do
  cp -r "$(go list -m -f '{{.Dir}}' "github.com/$module")" "$copy/$(basename "$module")"
done
chmod -R u+w "$copy"
patch_line() {
  file=$1 from=$2 to=$3
  grep -q "$from" "$file" || { echo "$file has no line with $from" >&2; exit 1; }
  sed -i "s|$from|$to|" "$file"
}
patch_line "$copy/unistore/raftstore/applier.go" 'apply.entries\[i\] = eraftpb.Entry{}' '_ = i'
patch_line "$copy/unistore/server/server.go" 'os.Mkdir(snapPath' 'os.MkdirAll(snapPath'
reader=$copy/tidb/store/mockstore/unistore/tikv/dbreader/db_reader.go
patch_line "$reader" 'iter := r.getReverseIter()' 'r.txn.SetReadTS(startTS); iter := r.getReverseIter()'
writer=$copy/tidb/store/mockstore/unistore/tikv/mvcc.go
patch_line "$writer" 'len(req.Secondaries)' 'len(secondariesOf(req, m))'
patch_line "$writer" 'Secondaries: req.Secondaries,' 'Secondaries: secondariesOf(req, m),'
cat >>"$writer" <<'GO'

func secondariesOf(req *kvrpcpb.PrewriteRequest, m *kvrpcpb.Mutation) [][]byte {
	if req.UseAsyncCommit && bytes.Equal(m.Key, req.PrimaryLock) {
		return req.Secondaries
	}
	return nil
}
GO
cp go.mod go.sum "$copy"
for module in ngaut/unistore pingcap/tidb; do
  go mod edit -replace "github.com/$module=$copy/$(basename "$module")" "$copy/go.mod"
done
# unistore's TiDB refers to a symbol of Go's runtime, which newer linkers refuse unless they do not look.
go build -modfile="$copy/go.mod" -ldflags='-s -w -checklinkname=0' -o "$programs/unistore-server" \
  github.com/ngaut/unistore/cmd/unistore-server
(cd "$here/pd" && go build -tags without_dashboard -ldflags='-s -w' -o "$programs/pd-server" \
  github.com/tikv/pd/cmd/pd-server)
