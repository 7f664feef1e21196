#!/usr/bin/env bash
# Measures one, two and three servers over one PostgreSQL, and pgbench with the same reads and commits: about three minutes.
#
#   docs/internals/cluster.sh KEYWRIGHT FOLDER [near]
#   docs/internals/cluster.sh KEYWRIGHT FOLDER far
#   docs/internals/cluster.sh KEYWRIGHT FOLDER tikv
#
# `tikv` measures one, two and three servers over the test engine of TiKV's protocol (PD and three nodes, which sync
# nothing), as crates/store-tikv/tests/engine/build.sh builds it; KEYWRIGHT then needs the feature `tikv`.
#
# `far` measures one, two, four and eight servers of two clients each, with PostgreSQL behind a program that makes each round
# trip two milliseconds longer: processors wait, so that eight servers fit on one small machine. It takes three minutes too.
# The program is delay.rs, which rustc compiles, or the one that DELAY names.
#
# KEYWRIGHT is a release build with the feature `postgres`. PostgreSQL must be installed; its data goes to FOLDER, with its
# default settings (synced commits). pgbench sends what Keywright sends in as many round trips: its pipelines.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
keywright=$(realpath "$1")
mode=${3:-near}
mkdir -p "$2" && cd "$2"
folder=$PWD
rounds=2 seconds=5 items=10000 connections=48 clients=2
operations="get-item put-item query-10 transact-write-items"
servers=()

# Throughput of the servers of this many clients each, together: bench COUNT CONNECTIONS OPERATION NAME.
bench() {
  benches=()
  for number in $(seq "$1"); do
    "$keywright" bench --keep-table --endpoint "http://127.0.0.1:872$number" --items $items --connections "$2" \
      --operation "$3" --seconds $seconds --rounds 1 --format json >"$4.$number.json" 2>/dev/null &
    benches+=("$!")
  done
  wait "${benches[@]}"
}

if [ "$mode" = tikv ]; then
  trap 'kill "${servers[@]}" 2>/dev/null || true' EXIT
  engine=$(realpath "$here/../../target/tikv-engine") pd=127.0.0.1:8741
  GODEBUG=httpmuxgo121=1 "$engine/pd-server" --name=pd --data-dir="$folder/pd" --client-urls="http://$pd" \
    --peer-urls=http://127.0.0.1:8742 >pd.log 2>&1 &
  servers+=("$!")
  until curl -sf "http://$pd/pd/api/v1/leader" | grep -q '"name"'; do sleep 0.2; done
  for number in 1 2 3; do
    mkdir -p "store$number"
    GOLANG_PROTOBUF_REGISTRATION_CONFLICT=ignore "$engine/unistore-server" -pd "$pd" -addr "127.0.0.1:875$number" \
      -status-addr "127.0.0.1:876$number" -data-dir "$folder/store$number" >"store$number.log" 2>&1 &
    servers+=("$!")
    sleep 2
  done
  # Until each node has the region in which the rows lie.
  until curl -sf "http://$pd/pd/api/v1/regions" | python3 -c 'import json, sys
regions = json.load(sys.stdin)["regions"]
sys.exit(any(len(region["peers"]) < 3 for region in regions if region["start_key"] in ("", "6D")))'; do sleep 1; done
  for number in 1 2 3; do
    "$keywright" serve --store "tikv://$pd/cluster" --port "872$number" --studio-port off --management-port off \
      >"server$number.log" 2>&1 &
    servers+=("$!")
  done
  sleep 5
  "$keywright" bench --keep-table --endpoint http://127.0.0.1:8721 --items $items --operation get-item --seconds 1 \
    --rounds 1 >load.txt 2>&1
  for round in $(seq $rounds); do
    for operation in $operations; do
      for count in 1 2 3; do
        bench "$count" $((connections / count)) "$operation" "$operation.$count.$round"
      done
    done
  done
  python3 - "$rounds" $operations <<'PYTHON' | tee figures.txt
import json, statistics, sys

rounds = range(1, int(sys.argv[1]) + 1)


def served(operation, count, number):
    found = [json.load(open(f"{operation}.{count}.{number}.{server}.json"))["results"][0] for server in range(1, count + 1)]
    return sum(one["per_second"] for one in found), max(one["latency_ns"]["p99"] for one in found) / 1e6


print("| operation | one server | two | three | three ÷ one |\n|---|---|---|---|---|")
for operation in sys.argv[2:]:
    rates, cells = [], []
    for count in (1, 2, 3):
        runs = [served(operation, count, number) for number in rounds]
        rate, p99 = (statistics.median(column) for column in zip(*runs))
        rates.append(rate)
        cells.append(f"{rate:,.0f}/s, p99 {p99:.1f} ms")
    print(f"| {operation} | {' | '.join(cells)} | {rates[2] / rates[0]:.2f} |")
PYTHON
  exit
fi

programs=$(find /usr/lib/postgresql -name initdb -printf '%h\n' | sort -V | tail -1)
as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; else "$@"; fi; }
[ "$(id -u)" != 0 ] || chown postgres "$folder"
as "$programs/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 >initdb.log
as "$programs/pg_ctl" -D "$folder/data" -w -l "$folder/log" -o "-c listen_addresses= -c unix_socket_directories=$folder -c max_connections=300" start >pg_ctl.log
trap 'kill "${servers[@]}" 2>/dev/null || true; as "$programs/pg_ctl" -D "$folder/data" -m fast stop >>pg_ctl.log' EXIT
url="postgres://postgres@${folder//\//%2F}/postgres"

psql() { as "$programs/psql" -h "$folder" -U postgres -q -v ON_ERROR_STOP=1 "$@"; }

if [ "$mode" = far ]; then
  delay=${DELAY:-$folder/delay}
  [ -n "${DELAY:-}" ] || rustc --edition 2024 -O -o "$delay" "$here/delay.rs"
  "$delay" "$folder/.s.PGSQL.5432" 8731 8732 8733 8734 8735 8736 8737 8738 &
  servers+=("$!")
  sleep 1
  for number in 1 2 3 4 5 6 7 8; do
    "$keywright" serve --store "postgres://postgres@127.0.0.1:873$number/postgres" --port "872$number" --studio-port off \
      --management-port off >"server$number.log" 2>&1 &
    servers+=("$!")
  done
  sleep 5
  "$keywright" bench --keep-table --endpoint http://127.0.0.1:8721 --items $items --operation get-item --seconds 1 --rounds 1 >load.txt 2>&1
  psql -c "VACUUM ANALYZE"
  for round in $(seq $rounds); do
    for operation in get-item query-10 put-item; do
      for count in 1 2 4 8; do
        head -1 /proc/stat >"$operation.$count.$round.before"
        bench "$count" $clients "$operation" "$operation.$count.$round"
        head -1 /proc/stat >"$operation.$count.$round.after"
      done
    done
  done
  python3 - "$rounds" <<'PYTHON' | tee figures.txt
import json, statistics, sys

rounds, counts = range(1, int(sys.argv[1]) + 1), (1, 2, 4, 8)


def rate(operation, count, number):
    found = [json.load(open(f"{operation}.{count}.{number}.{server}.json"))["results"][0] for server in range(1, count + 1)]
    return sum(one["per_second"] for one in found)


def busy(operation, count, number):
    before, after = ([int(part) for part in open(f"{operation}.{count}.{number}.{when}").read().split()[1:9]] for when in ("before", "after"))
    spent = [one - other for one, other in zip(after, before)]
    return 1 - (spent[3] + spent[4]) / sum(spent)


print("| operation | one server | two | four | eight | four ÷ four times one | eight ÷ eight times one | processors busy with eight |\n|---|---|---|---|---|---|---|---|")
for operation in ("get-item", "query-10", "put-item"):
    cells = [f"{statistics.median(rate(operation, count, number) for number in rounds):,.0f}/s" for count in counts]
    four, eight = (statistics.median(rate(operation, count, number) / count / rate(operation, 1, number) for number in rounds) for count in (4, 8))
    part = statistics.median(busy(operation, 8, number) for number in rounds)
    print(f"| {operation} | {' | '.join(cells)} | {four:.2f} | {eight:.2f} | {part:.0%} |")
PYTHON
  exit
fi

for number in 1 2 3; do
  "$keywright" serve --store "$url" --port "872$number" --studio-port off --management-port off >"server$number.log" 2>&1 &
  servers+=("$!")
done
sleep 3
"$keywright" bench --keep-table --endpoint http://127.0.0.1:8721 --items $items --operation get-item --seconds 1 --rounds 1 >load.txt 2>&1

psql -c "CREATE TABLE bare (key bytea PRIMARY KEY, value bytea)" \
  -c "INSERT INTO bare SELECT int8send(n), decode(repeat(md5(n::text), 16), 'hex') || decode(repeat(md5(n::text), 15), 'hex') FROM generate_series(1, $items) n" -c "VACUUM ANALYZE bare"
# The key 1 stands for the table's record, which every commit protects.
cat >get-item.sql <<SQL
\\set n random(2, $items)
SELECT value FROM bare WHERE key = int8send(:n::int8);
SQL
cat >query-10.sql <<SQL
\\set n random(2, $items - 10)
SELECT key, value FROM bare WHERE key >= int8send(:n::int8) AND key < int8send(:n::int8 + 10) ORDER BY key LIMIT 11;
SQL
cat >put-item.sql <<SQL
\\set n random(2, $items)
\\startpipeline
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_current_snapshot()::text, pg_current_xact_id()::text;
SELECT value FROM bare WHERE key IN (int8send(1), int8send(:n::int8));
\\endpipeline
\\startpipeline
SELECT key FROM bare WHERE key = int8send(1) FOR SHARE;
UPDATE bare SET value = value WHERE key = int8send(:n::int8);
COMMIT;
\\endpipeline
SQL
cat >transact-write-items.sql <<SQL
\\set n random(2, $items / 3)
\\startpipeline
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT pg_current_snapshot()::text, pg_current_xact_id()::text;
SELECT value FROM bare WHERE key IN (int8send(1), int8send(:n::int8), int8send(:n::int8 + $items / 3), int8send(:n::int8 + $items / 3 * 2));
\\endpipeline
\\startpipeline
SELECT key FROM bare WHERE key IN (int8send(1), int8send(:n::int8)) ORDER BY key FOR SHARE;
UPDATE bare SET value = value WHERE key IN (int8send(:n::int8 + $items / 3), int8send(:n::int8 + $items / 3 * 2));
COMMIT;
\\endpipeline
SQL
chmod 644 ./*.sql

for round in $(seq $rounds); do
  for operation in $operations; do
    for count in 1 2 3; do
      bench "$count" $((connections / count)) "$operation" "$operation.$count.$round"
    done
    as "$programs/pgbench" -h "$folder" -U postgres -n -M prepared -c $connections -j 2 -T $seconds -f "$operation.sql" >"$operation.bare.$round.txt" 2>&1
  done
done

python3 - "$rounds" $operations <<'PYTHON' | tee figures.txt
import json, re, statistics, sys

rounds = range(1, int(sys.argv[1]) + 1)


def served(operation, count, number):
    found = [json.load(open(f"{operation}.{count}.{number}.{server}.json"))["results"][0] for server in range(1, count + 1)]
    return sum(one["per_second"] for one in found), max(one["latency_ns"]["p99"] for one in found) / 1e6


def bare(operation, number):
    return float(re.search(r"^tps = ([\d.]+)", open(f"{operation}.bare.{number}.txt").read(), re.M)[1])


print("| operation | bare client | one server | two | three | three ÷ bare |\n|---|---|---|---|---|---|")
for operation in sys.argv[2:]:
    client = statistics.median(bare(operation, number) for number in rounds)
    cells = []
    for count in (1, 2, 3):
        runs = [served(operation, count, number) for number in rounds]
        rate, p99 = (statistics.median(column) for column in zip(*runs))
        cells.append(f"{rate:,.0f}/s, p99 {p99:.1f} ms")
    share = statistics.median(served(operation, 3, number)[0] / bare(operation, number) for number in rounds)
    print(f"| {operation} | {client:,.0f}/s | {' | '.join(cells)} | {share:.2f} |")
PYTHON
