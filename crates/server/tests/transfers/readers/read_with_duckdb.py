"""Counts and adds up the lines of an export with DuckDB's own reader of gzipped lines of JSON.

Usage: read_with_duckdb.py BUCKET KEY: the folder of a bucket, and the key of the export's manifest-summary.json in it.
"""

import json
import sys
from pathlib import Path

import duckdb

bucket, key = Path(sys.argv[1]), sys.argv[2]
summary = json.loads((bucket / key).read_text())
listed = (bucket / summary["manifestFilesS3Key"]).read_text().splitlines()
files = [str(bucket / json.loads(line)["dataFileS3Key"]) for line in listed]
members = {"Item": "JSON"} if "exportTime" in summary else {"Keys": "JSON", "OldImage": "JSON", "NewImage": "JSON"}
lines = duckdb.read_json(files, format="newline_delimited", compression="gzip", columns=members)
if "exportTime" in summary:
    query = "SELECT count(*), sum(CAST(Item->'n'->>'N' AS BIGINT)), count(DISTINCT Item->'pk'->>'S') FROM lines"
    names = ("lines", "sum", "partitions")
else:
    query = "SELECT count(*), count(NewImage), count(OldImage) FROM lines"
    names = ("lines", "put", "old")
[found] = duckdb.sql(query).fetchall()
print(json.dumps(dict(zip(names, map(int, found)))))
