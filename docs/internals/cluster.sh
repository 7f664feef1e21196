#!/usr/bin/env bash
# Measures one, two and three servers over one PostgreSQL, and pgbench with the same reads and commits: about three minutes.
#
#   docs/internals/cluster.sh KEYWRIGHT FOLDER
#
# KEYWRIGHT is a release build with the feature `postgres`. PostgreSQL must be installed; its data goes to FOLDER, with its
# default settings (synced commits). pgbench sends what Keywright sends in as many round trips: its pipelines.
set -euo pipefail
keywright=$(realpath "$1")
mkdir -p "$2" && cd "$2"
folder=$PWD
programs=$(find /usr/lib/postgresql -name initdb -printf '%h\n' | sort -V | tail -1)
as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; else "$@"; fi; }
[ "$(id -u)" != 0 ] || chown postgres "$folder"
as "$programs/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 >initdb.log
as "$programs/pg_ctl" -D "$folder/data" -w -l "$folder/log" -o "-c listen_addresses= -c unix_socket_directories=$folder -c max_connections=300" start >pg_ctl.log
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true; as "$programs/pg_ctl" -D "$folder/data" -m fast stop >>pg_ctl.log' EXIT
url="postgres://postgres@${folder//\//%2F}/postgres"
rounds=2 seconds=5 items=10000 connections=48
operations="get-item put-item query-10 transact-write-items"

for number in 1 2 3; do
  "$keywright" serve --store "$url" --port "872$number" --studio-port off --management-port off >"server$number.log" 2>&1 &
  servers+=("$!")
done
sleep 3
"$keywright" bench --keep-table --endpoint http://127.0.0.1:8721 --items $items --operation get-item --seconds 1 --rounds 1 >load.txt 2>&1

psql() { as "$programs/psql" -h "$folder" -U postgres -q -v ON_ERROR_STOP=1 "$@"; }
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
      benches=()
      for number in $(seq "$count"); do
        "$keywright" bench --keep-table --endpoint "http://127.0.0.1:872$number" --items $items --connections $((connections / count)) \
          --operation "$operation" --seconds $seconds --rounds 1 --format json >"$operation.$count.$round.$number.json" 2>/dev/null &
        benches+=("$!")
      done
      wait "${benches[@]}"
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
