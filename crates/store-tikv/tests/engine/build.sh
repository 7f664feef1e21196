#!/usr/bin/env bash
# Builds PD and unistore (TiKV's protocol on Raft) for the tests of the store on TiKV, into target/tikv-engine.
# Needs Go. Takes about two minutes, once.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
programs=$(cd "$here/../../../.." && pwd)/target/tikv-engine
mkdir -p "$programs"
# unistore's TiDB refers to a symbol of Go's runtime, which newer linkers refuse unless told not to look.
(cd "$here/store" && go build -ldflags='-s -w -checklinkname=0' -o "$programs/unistore-server" \
  github.com/ngaut/unistore/cmd/unistore-server)
(cd "$here/pd" && go build -tags without_dashboard -ldflags='-s -w' -o "$programs/pd-server" \
  github.com/tikv/pd/cmd/pd-server)
