#!/usr/bin/env bash
# Measures every figure that docs/internals/performance.md reports for a quiet machine: about ten minutes.
#
#   docs/internals/figures.sh KEYWRIGHT FOLDER [DYNOXIDE]
#   docs/internals/figures.sh tail KEYWRIGHT FOLDER [SECONDS [OPERATION...]]
#   docs/internals/figures.sh growth KEYWRIGHT FOLDER [ITEMS...]
#   docs/internals/figures.sh overload KEYWRIGHT FOLDER
#   docs/internals/figures.sh recovery KEYWRIGHT FOLDER
#   docs/internals/figures.sh encryption KEYWRIGHT FOLDER
#   docs/internals/figures.sh replicas KEYWRIGHT FOLDER
#
# `tail` measures latency over time instead: a million items, requests at half of the closed loop's rate for SECONDS
# (600 unless given), next to a loop that writes and syncs one file in place. It takes about an hour without a list of
# operations; with one, the reads of a table next to writes to another are left out.
# `growth` measures reads and writes with 10 thousand, 1 million and 10 million items, then again with a cache of 16 MiB
# and all memory held to 256 MiB by a control group, the page cache included and empty (as root). `overload` sends three
# times what the server can do, and looks at the ten seconds after it. `recovery` compares a server whose tables have
# point-in-time recovery with one whose tables do not, and says what the history of a change takes on the disk.
# `encryption` compares an encrypted folder with a plain one: puts, reads from memory, and reads from the disk, for which
# both have a cache of 16 MiB and 256 MiB of memory (as root). `replicas` compares a table in no group, on a server with
# replicas of another table and on one without, with one that has a stream, and with one in a group of two regions,
# whose changes arrive in the other one or are held.
#
# KEYWRIGHT is a release build of the server (`cargo build --release`), FOLDER an empty folder on the disk to be
# measured, DYNOXIDE the peer's program (`cargo install dynoxide-rs`; left out if not given). Results are left as text
# files in FOLDER. As root, the session's share of the processors is raised: Linux divides them among sessions first, so
# that a niceness counts only within one (`man 7 sched`, "The autogroup feature").
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mode=all
case "$1" in tail | growth | overload | recovery | encryption | replicas)
  mode=$1
  shift
  ;;
esac
keywright=$(realpath "$1")
mkdir -p "$2" && cd "$2"
seconds=600 dynoxide= operations=() sizes=(10000 1000000 10000000)
case "$mode" in
  tail)
    seconds=${3:-$seconds}
    operations=("${@:4}")
    ;;
  growth) [ "$#" -lt 3 ] || sizes=("${@:3}") ;;
  all) dynoxide=${3:+$(realpath "$3")} ;;
esac
servers=()
share() { { echo "$1" >/proc/self/autogroup; } 2>/dev/null || true; }
trap 'kill "${servers[@]}" 2>/dev/null || true; share 0' EXIT
share -20

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
  "$keywright" bench --keep-table "$@" >"$file.txt" 2>"$file.err" || cat "$file.err"
  uptime >>"$file.txt"
}

{ uname -sr; nproc; grep -m1 'model name' /proc/cpuinfo; df -T . | tail -1; "$keywright" --version; } >machine.txt

# rate FILE: the requests per second of the first target in a report
rate() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["results"][0]["per_second"])' "$1"; }

if [ "$mode" = tail ]; then
  start server env RUST_LOG=warn,keywright_store_local=debug "$keywright" serve --port 8710 --data tail
  sleep 1
  at=(--endpoint http://127.0.0.1:8710 --items 1000000 --connections 32)
  bench tail.load "${at[@]}" --operation get-item --seconds 1 --rounds 1
  measured=(put-item update-item get-item query-10 mixed)
  [ "${#operations[@]}" = 0 ] || measured=("${operations[@]}")
  for operation in "${measured[@]}"; do
    "$keywright" bench --keep-table "${at[@]}" --operation "$operation" --seconds 15 --rounds 1 --format json >"tail.$operation.closed.json" 2>/dev/null
    half=$(($(rate "tail.$operation.closed.json") / 2))
    python3 "$here/bare_sync.py" bare-sync.file "$seconds" >"tail.$operation.sync.txt" &
    bench "tail.$operation" "${at[@]}" --operation "$operation" --seconds "$seconds" --rounds 1 --rate "$half" --trend "tail.$operation.svg"
    wait "$!" || true
  done
  [ "${#operations[@]}" = 0 ] || exit 0
  # Reads of one table while another is written, and alone.
  half=$(($(rate tail.put-item.closed.json) / 2))
  for writes in without with; do
    if [ "$writes" = with ]; then
      "$keywright" bench --keep-table "${at[@]}" --operation put-item --seconds "$((seconds / 4 + 10))" --rounds 1 --rate "$((half / 2))" >/dev/null 2>&1 &
    fi
    bench "tail.reads.$writes" --endpoint http://127.0.0.1:8710 --table quiet --connections 16 --operation get-item,query-10 \
      --seconds "$((seconds / 8))" --rounds 1 --rate 2000
    wait
  done
  exit
fi

# hold_memory PID MIB: moves a process into a control group of so much memory
hold_memory() {
  local group
  if [ -d /sys/fs/cgroup/memory ]; then
    group=/sys/fs/cgroup/memory/keywright-figures-$1
    mkdir -p "$group"
    echo $(($2 << 20)) >"$group/memory.limit_in_bytes"
  else
    group=/sys/fs/cgroup/keywright-figures-$1
    mkdir -p "$group"
    echo $(($2 << 20)) >"$group/memory.max"
  fi
  echo "$1" >"$group/cgroup.procs"
}
# io PID: bytes that the process has read from the disk, and that the disk has written. The kernel's count of what a
# process writes takes a large folio of the page cache as a whole, of which the disk gets only the blocks that changed.
device=$(findmnt -no MAJ:MIN --target .)
io() {
  grep '^read_bytes' "/proc/$1/io"
  awk -v device="${device// }" '($1 ":" $2) == device { printf "disk_written: %.0f\n", $10 * 512 }' /proc/diskstats
}

if [ "$mode" = growth ]; then
  for items in "${sizes[@]}"; do
    start "growth.$items" "$keywright" serve --port 8710 --data "growth.$items"
    sleep 1
    at=(--endpoint http://127.0.0.1:8710 --items "$items" --connections 16 --rounds 1)
    io "$last" >"growth.$items.empty.io"
    bench "growth.$items.load" "${at[@]}" --operation get-item --seconds 1
    sync
    io "$last" >"growth.$items.loaded.io"
    bench "growth.$items" "${at[@]}" --operation get-item,query-10,put-item --seconds 20
    sync
    io "$last" >"growth.$items.worked.io"
    memory "$last" >"growth.$items.memory"
    kill "$last" && wait "$last" || true
    du -sm "growth.$items" >"growth.$items.folder"
    # What the page cache holds by now belongs to nobody's group, and would be read for nothing.
    sync && echo 3 >/proc/sys/vm/drop_caches
    start "growth.$items.held" "$keywright" serve --port 8710 --data "growth.$items" --cache-mib 16
    hold_memory "$last" 256
    sleep 2
    io "$last" >"growth.$items.held.before.io"
    bench "growth.$items.held" "${at[@]}" --operation get-item --seconds 20
    io "$last" >"growth.$items.held.after.io"
    bench "growth.$items.held.more" "${at[@]}" --operation query-10,put-item --seconds 20
    kill "$last" && wait "$last" || true
  done
  exit
fi

if [ "$mode" = overload ]; then
  start server "$keywright" serve --port 8710 --data overload
  sleep 1
  at=(--endpoint http://127.0.0.1:8710 --items 100000 --rounds 1)
  for operation in get-item put-item mixed; do
    "$keywright" bench --keep-table "${at[@]}" --connections 64 --operation "$operation" --seconds 10 --format json >"overload.$operation.closed.json" 2>/dev/null
    most=$(rate "overload.$operation.closed.json")
    "$keywright" bench --keep-table "${at[@]}" --connections 2000 --operation "$operation" --seconds 20 --drain-ms 1000 --rate $((most * 3)) >"overload.$operation.during.txt" 2>&1
    memory "$last" >"overload.$operation.memory"
    bench "overload.$operation.after" "${at[@]}" --connections 16 --operation "$operation" --seconds 10 --warm-up-ms 0 --rate $((most / 4)) \
      --trend "overload.$operation.svg"
  done
  exit
fi

if [ "$mode" = recovery ]; then
  start on "$keywright" serve --port 8710 --data recovery.on --pitr-default --management-port 8720
  start off "$keywright" serve --port 8711 --data recovery.off --management-port 8721
  sleep 1
  both=(--endpoint on=http://127.0.0.1:8710 --endpoint off=http://127.0.0.1:8711 --items 100000 --item-bytes 1000)
  for connections in 16 64; do
    bench "recovery.$connections" "${both[@]}" --connections "$connections" --operation put-item,update-item,get-item,query-10 \
      --seconds 6 --rounds 5
  done
  # Tails at half of what the one with recovery can do.
  for operation in put-item update-item get-item; do
    "$keywright" bench --keep-table "${both[@]:0:2}" "${both[@]:4}" --connections 32 --operation "$operation" --seconds 6 --rounds 1 \
      --format json >"recovery.$operation.closed.json" 2>/dev/null
    bench "recovery.$operation.tail" "${both[@]}" --connections 32 --operation "$operation" --seconds 20 --rounds 3 \
      --rate "$(($(rate "recovery.$operation.closed.json") / 2))"
  done
  # Another table, a million changes of it, and what they took once they were merged.
  # taken NAME MANAGEMENT: what the folder of a server takes, and how many puts it has answered
  taken() {
    du -sm "recovery.$1"
    curl -s "http://127.0.0.1:$2/metrics" | grep -E '^keywright_history|^keywright_requests_total.*PutItem'
  }
  for which in "on 8710 8720" "off 8711 8721"; do
    read -r name port management <<<"$which"
    at=(--endpoint "http://127.0.0.1:$port" --table changes --items 100000 --item-bytes 1000 --connections 32 --rounds 1)
    bench "recovery.$name.load" "${at[@]}" --operation get-item --seconds 1
    sleep 20
    taken "$name" "$management" >"recovery.$name.before"
    bench "recovery.$name.changes" "${at[@]}" --operation put-item --seconds 60 --rate 8000
    sleep 20
    taken "$name" "$management" >"recovery.$name.after"
  done
  exit
fi

if [ "$mode" = encryption ]; then
  "$keywright" encryption new-key --file master.key
  # pair OPTIONS...: the two servers, with these options
  pair() {
    start encrypted "$keywright" serve --port 8710 --data encrypted --encryption-key-file master.key "$@"; encrypted=$last
    start plain "$keywright" serve --port 8711 --data plain "$@"; plain=$last
    sleep 2
  }
  both=(--endpoint encrypted=http://127.0.0.1:8710 --endpoint plain=http://127.0.0.1:8711 --item-bytes 1000)
  pair
  for connections in 16 64; do
    bench "encryption.$connections" "${both[@]}" --items 100000 --connections "$connections" --operation put-item,get-item \
      --seconds 5 --rounds 15
  done
  bench encryption.load "${both[@]}" --table cold --items 1000000 --connections 8 --operation get-item --seconds 1 --rounds 1
  kill "$encrypted" "$plain"
  wait "$encrypted" "$plain" || true
  sync && { echo 3 >/proc/sys/vm/drop_caches; } 2>/dev/null || true
  pair --cache-mib 16
  for one in "$encrypted" "$plain"; do
    hold_memory "$one" 256
    io "$one" >"encryption.$one.before.io"
  done
  bench encryption.cold "${both[@]}" --table cold --items 1000000 --connections 16 --operation get-item --seconds 10 --rounds 15
  for one in "$encrypted" "$plain"; do io "$one" >"encryption.$one.after.io"; done
  exit
fi

if [ "$mode" = replicas ]; then
  # ask PORT OPERATION BODY: a request of the API
  ask() {
    curl -sS --fail-with-body -o /dev/null "http://127.0.0.1:$1/" -H "x-amz-target: DynamoDB_20120810.$2" -H 'x-amz-date: 20260101T000000Z' \
      -H 'content-type: application/x-amz-json-1.0' -d "$3" \
      -H 'authorization: AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=00'
  }
  # add_replica PORT TABLE: a second region, which takes a moment
  add_replica() {
    ask "$1" UpdateTable "{\"TableName\": \"$2\", \"ReplicaUpdates\": [{\"Create\": {\"RegionName\": \"eu-west-1\"}}]}"
    until "$keywright" global verify "$2" --endpoint "http://127.0.0.1:$1" >/dev/null 2>&1; do sleep 1; done
  }
  names=(none others stream group held) all=()
  for place in 0 1 2 3 4; do
    simulate=()
    [ "${names[place]}" != held ] || simulate=(--simulate)
    start "${names[place]}" "$keywright" serve --port "871$place" --management-port "872$place" --studio-port off \
      --data "replicas.${names[place]}" "${simulate[@]}"
    all+=(--endpoint "${names[place]}=http://127.0.0.1:871$place")
  done
  sleep 2
  all+=(--items 20000)
  bench replicas.load "${all[@]}" --connections 16 --operation get-item --seconds 1 --rounds 1
  ask 8711 CreateTable '{"TableName": "Carts", "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}]}'
  sleep 1
  add_replica 8711 Carts
  ask 8712 UpdateTable '{"TableName": "keywright-bench", "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"}}'
  add_replica 8713 keywright-bench
  add_replica 8714 keywright-bench
  curl -sS --fail-with-body -o /dev/null -X POST http://127.0.0.1:8714/_keywright/simulation -H 'x-keywright: simulation' \
    -d '{"links": [{"from": "*", "to": "*", "partition": true}]}'
  # As many puts on each, and the bytes of rows that each has then.
  bench replicas.puts "${all[@]}" --connections 16 --operation put-item --seconds 10 --rounds 1 --rate 1000 --warm-up-ms 0
  sleep 2
  for place in 0 1 2 3 4; do
    echo "${names[place]}"
    curl -s "http://127.0.0.1:872$place/metrics" | grep -E '^keywright_store_(bytes|buffer_bytes)'
  done >replicas.bytes
  "$keywright" global status --endpoint http://127.0.0.1:8713 >replicas.status 2>&1
  # The two servers whose tables are in no group, many times; then all of them.
  bench replicas.none "${all[@]:0:4}" --items 20000 --connections 16 --operation put-item,update-item,get-item --seconds 15 --rounds 15
  for connections in 16 64; do
    bench "replicas.$connections" "${all[@]}" --connections "$connections" --operation put-item,update-item,get-item --seconds 10 --rounds 5
  done
  # Tails at half of what the group can do.
  "$keywright" bench --keep-table --endpoint http://127.0.0.1:8713 --items 20000 --connections 32 --operation put-item --seconds 6 --rounds 1 \
    --format json >replicas.closed.json 2>/dev/null
  bench replicas.tail "${all[@]}" --connections 32 --operation put-item --seconds 20 --rounds 5 --rate "$(($(rate replicas.closed.json) / 2))"
  exit
fi

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

# All operations, then the most frequent ones with more connections and with two sending threads.
bench all "${all[@]}" "${limits[@]}" --connections 16 --seconds 6 --rounds 3
bench connections "${all[@]}" "${limits[@]}" "${hot[@]}" --connections 64 --seconds 6 --rounds 3
bench two-threads "${all[@]:0:4}" "${limits[@]}" "${hot[@]}" --connections 64 --threads 2 --seconds 6 --rounds 3
# Signatures.
"$keywright" credentials --file keys.toml add >key.txt
# shellcheck disable=SC2046 # the lines are assignments
eval $(grep '^export' key.txt)
start verified "$keywright" serve --port 8714 --in-memory --credentials keys.toml
sleep 1
bench signatures --endpoint verified=http://127.0.0.1:8714 --endpoint unverified=http://127.0.0.1:8711 --connections 64 \
  --operation get-item,put-item --seconds 6 --rounds 3
# Rows written over and over, and read next to them; rows that were deleted.
step=0
for operation in query-10 put-item query-10 update-item query-10; do
  bench "hot.$operation.$((++step))" "${all[@]:0:2}" --items 200 --table hot --connections 16 --operation "$operation" --seconds 6 --rounds 3
done
python3 "$here/queue.py" http://127.0.0.1:8710 1000000 >queue.txt
