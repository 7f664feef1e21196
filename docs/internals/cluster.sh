#!/usr/bin/env bash
# Measures one, two and three servers over one PostgreSQL, and pgbench with the same reads and commits: some minutes.
#
#   docs/internals/cluster.sh KEYWRIGHT FOLDER
#
# KEYWRIGHT is a release build with the feature `postgres`. PostgreSQL must be installed; its data goes to FOLDER, with
# its default settings (synced commits).
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
seconds=10 items=10000

for number in 1 2 3; do
  "$keywright" serve --store "$url" --port "872$number" --studio-port off --management-port off >"server$number.log" 2>&1 &
  servers+=("$!")
done
sleep 3
"$keywright" bench --endpoint http://127.0.0.1:8721 --items $items --operation get-item --seconds 1 --rounds 1 >load.txt 2>&1
for operation in get-item put-item query-10 transact-write-items; do
  for count in 1 2 3; do
    benches=()
    for number in $(seq "$count"); do
      "$keywright" bench --endpoint "http://127.0.0.1:872$number" --items $items --connections $((48 / count)) --operation "$operation" \
        --seconds $seconds --rounds 1 --format json >"$operation.$count.$number.json" 2>/dev/null &
      benches+=("$!")
    done
    wait "${benches[@]}"
    python3 - "$operation" "$count" <<'PYTHON'
import json, sys
operation, count = sys.argv[1], int(sys.argv[2])
found = [json.load(open(f"{operation}.{count}.{number}.json"))["results"][0] for number in range(1, count + 1)]
p99 = max(one["p99_us"] for one in found)
print(f"{operation}, servers: {count}: {sum(one['per_second'] for one in found):.0f}/s, p99 {p99 / 1000:.1f} ms", flush=True)
PYTHON
  done
done | tee servers.txt

psql() { as "$programs/psql" -h "$folder" -U postgres -q -v ON_ERROR_STOP=1 "$@"; }
psql -c "CREATE TABLE bare (key bytea PRIMARY KEY, value bytea)" \
  -c "INSERT INTO bare SELECT int8send(n), decode(repeat(md5(n::text), 16), 'hex') || decode(repeat(md5(n::text), 15), 'hex') FROM generate_series(1, $items) n" -c "ANALYZE bare"
bare() {
  local name=$1
  cat >"$name.sql"
  chmod 644 "$name.sql"
  as "$programs/pgbench" -h "$folder" -U postgres -n -M prepared -c 48 -j 2 -T $seconds -f "$name.sql" 2>&1 | grep tps | sed "s/^/$name: /"
}
{
  bare get-item <<<"\\set n random(1, $items)
SELECT value FROM bare WHERE key = int8send(:n::int8);"
  bare put-item <<<"\\set n random(1, $items)
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT value FROM bare WHERE key = int8send(:n::int8);
UPDATE bare SET value = value WHERE key = int8send(:n::int8);
COMMIT;"
} | tee bare.txt
