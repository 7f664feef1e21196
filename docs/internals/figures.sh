#!/usr/bin/env bash
# Measures every figure that docs/internals/performance.md reports for a quiet machine: about 25 minutes.
#
#   docs/internals/figures.sh KEYWRIGHT FOLDER [DYNOXIDE]
#
# KEYWRIGHT is a dist build of the server (`cargo build --profile dist`), FOLDER an empty folder on the disk to be
# measured, DYNOXIDE the peer's program (`cargo install dynoxide-rs`; left out if not given). Results are left as text
# files in FOLDER.
set -euo pipefail
keywright=$(realpath "$1")
mkdir -p "$2" && cd "$2"
dynoxide=${3:+$(realpath "$3")}
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true' EXIT

# start NAME COMMAND...: in the background, and known as $last
start() {
  local name=$1
  shift
  "$@" >"$name.log" 2>&1 &
  last=$!
  servers+=("$last")
}
memory() { grep -E 'VmHWM|VmRSS' "/proc/$1/status"; }
# bench FILE OPTIONS...
bench() {
  local file=$1
  shift
  "$keywright" bench "$@" >"$file.txt" 2>"$file.err" || cat "$file.err"
  uptime >>"$file.txt"
}

{ uname -sr; nproc; grep -m1 'model name' /proc/cpuinfo; df -T . | tail -1; "$keywright" --version; } >machine.txt

start durable "$keywright" serve --port 8710 --data data; durable=$last
start memory "$keywright" serve --port 8711 --in-memory; in_memory=$last
sleep 1.5
{ echo durable; memory "$durable"; echo in memory; memory "$in_memory"; } >idle.txt
all=(--endpoint durable=http://127.0.0.1:8710 --endpoint memory=http://127.0.0.1:8711)
if [ -n "$dynoxide" ]; then
  start dynoxide-memory "$dynoxide" serve --port 8712 --log quiet
  start dynoxide-file "$dynoxide" serve --port 8713 --log quiet --db-path dyn.db
  sleep 1.5
  all+=(--endpoint dynoxide-memory=http://127.0.0.1:8712 --endpoint dynoxide-file=http://127.0.0.1:8713)
fi
limits=(--limits --limits-folder . --warm-up-ms 200)
hot=(--operation get-item,query-10,put-item)

# The aims: one sending thread, 64 and 16 connections; then two sending threads.
for connections in 64 16; do
  bench "aims.$connections" "${all[@]}" "${limits[@]}" "${hot[@]}" --connections "$connections" --seconds 10 --rounds 5
done
bench two-threads "${all[@]:0:4}" "${limits[@]}" "${hot[@]}" --connections 64 --threads 2 --seconds 10 --rounds 5
# All operations.
bench all "${all[@]}" "${limits[@]}" --connections 16 --seconds 6 --rounds 3
# Signatures.
"$keywright" credentials --file keys.toml add >key.txt
# shellcheck disable=SC2046 # the lines are assignments
eval $(grep '^export' key.txt)
start verified "$keywright" serve --port 8714 --in-memory --credentials keys.toml
sleep 1
bench signatures --endpoint verified=http://127.0.0.1:8714 --endpoint unverified=http://127.0.0.1:8711 --connections 64 \
  --operation get-item,put-item --seconds 6 --rounds 3
# Rows written over and over, and read next to them; first after many that are written once.
bench hot.before --endpoint durable=http://127.0.0.1:8710 --items 40000 --item-bytes 100 --table once --operation get-item --seconds 1 --rounds 1
step=0
for operation in put-item query-10 update-item query-10; do
  bench "hot.$operation.$((++step))" "${all[@]:0:4}" --items 200 --table hot --connections 16 --operation "$operation" --seconds 6 --rounds 3
done
bench zipf "${all[@]:0:4}" --items 1000000 --item-bytes 100 --table zipf --keys zipf --connections 16 --operation put-item,get-item --seconds 20 --rounds 2

# Ten million items next to ten thousand.
start ten-million "$keywright" serve --port 8720 --data ten-million; ten_million=$last
sleep 1
bench load --endpoint ten-million=http://127.0.0.1:8720 --items 10000000 --operation get-item --seconds 4 --rounds 1
memory "$ten_million" >load.memory.txt
du -sm ten-million >load.folder.txt
for rate in "" "--rate 10000" "--rate 1000"; do
  for turn in 1 2 3 4 5; do
    for items in 10000 10000000; do
      port=$([ "$items" = 10000 ] && echo 8710 || echo 8720)
      # shellcheck disable=SC2086 # no rate, or an option and its value
      bench "many.${rate##* }.$items.$turn" --endpoint "items=http://127.0.0.1:$port" --items "$items" $rate --operation get-item --seconds 4 --rounds 1
    done
  done
done
memory "$ten_million" >reads.memory.txt
