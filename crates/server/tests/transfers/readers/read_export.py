"""Reads an export of a table as it is published that the service writes it, and fails if anything is not so.

Usage: read_export.py BUCKET KEY: the folder of a bucket, and the key of the export's manifest-summary.json in it.
It prints what it has read as a line of JSON. It knows the guide's page on the output of exports and real folders, and no
code of the server.
"""

import base64
import gzip
import hashlib
import json
import re
import sys
from pathlib import Path

FULL = ["version", "exportArn", "startTime", "endTime", "tableArn", "tableId", "exportTime", "s3Bucket", "s3Prefix", "s3SseAlgorithm",
        "s3SseKmsKeyId", "manifestFilesS3Key", "billedSizeBytes", "itemCount", "outputFormat"]
INCREMENT = FULL[:6] + ["exportFromTime", "exportToTime"] + FULL[7:] + ["outputView", "exportType"]
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
TYPES = {"S", "N", "B", "SS", "NS", "BS", "M", "L", "BOOL", "NULL"}


def equal(found, wanted):
    assert found == wanted, f"\n  found  {found!r}\n  wanted {wanted!r}"


def md5(content):
    return hashlib.md5(content).digest()


class Export:
    def __init__(self, bucket, key):
        self.bucket = Path(bucket)
        match = re.fullmatch(r"((?:.*/)?AWSDynamoDB)/(\d{14}-[0-9a-f]{8})/manifest-summary\.json", key)
        assert match, key
        self.root, self.id = match.groups()
        equal(self.read(f"{self.root}/{self.id}/_started"), b"")
        text = self.manifest("manifest-summary")
        self.summary = json.loads(text)
        # Compact, without a line end.
        equal(json.dumps(self.summary, separators=(",", ":"), ensure_ascii=False).encode(), text)
        self.is_full = "exportType" not in self.summary
        self.check_summary()
        lines = self.manifest("manifest-files").decode()
        assert lines.endswith("\n"), "the list of files has a line end at its end"
        self.files = [self.lines_of(json.loads(line)) for line in lines.splitlines()]
        equal(self.summary["itemCount"], sum(len(lines) for lines in self.files))

    def read(self, key):
        return (self.bucket / key).read_bytes()

    def manifest(self, name):
        content = self.read(f"{self.root}/{self.id}/{name}.json")
        equal(self.read(f"{self.root}/{self.id}/{name}.md5"), base64.b64encode(md5(content)))
        return content

    def check_summary(self):
        summary = self.summary
        equal(list(summary), FULL if self.is_full else INCREMENT)
        equal(summary["version"], "2020-06-30" if self.is_full else "2023-08-01")
        equal(summary["exportArn"], f"{summary['tableArn']}/export/{self.id}")
        equal(summary["manifestFilesS3Key"], f"{self.root}/{self.id}/manifest-files.json")
        equal(summary["s3Bucket"], self.bucket.name)
        prefix = summary["s3Prefix"]
        equal(self.root, "AWSDynamoDB" if prefix is None else f"{prefix}/AWSDynamoDB")
        equal((summary["s3SseAlgorithm"], summary["s3SseKmsKeyId"], summary["outputFormat"]), ("AES256", None, "DYNAMODB_JSON"))
        for name in summary:
            assert not name.endswith("Time") or TIME.fullmatch(summary[name]), summary[name]
        if not self.is_full:
            equal(summary["exportType"], "INCREMENTAL_EXPORT")
            assert summary["outputView"] in ("NEW_AND_OLD_IMAGES", "NEW_IMAGE")
            assert summary["billedSizeBytes"] >= 10_000_000

    def lines_of(self, file):
        equal(list(file), ["itemCount", "md5Checksum", "etag", "dataFileS3Key"])
        folder = f"{self.root}/{self.id}/data/" if self.is_full else f"{self.root}/data/"
        key = file["dataFileS3Key"]
        assert re.fullmatch(re.escape(folder) + r"[a-z2-7]{26}\.json\.gz", key), key
        content = self.read(key)
        equal(file["md5Checksum"], base64.b64encode(md5(content)).decode())
        assert file["etag"]
        lines = gzip.decompress(content).splitlines()
        equal(file["itemCount"], len(lines))
        if not lines:
            equal(len(content), 20)
        return [json.loads(line) for line in lines]


def check_value(value):
    [(kind, content)] = value.items()
    assert kind in TYPES, kind
    for member in content if kind == "L" else content.values() if kind == "M" else []:
        check_value(member)


def check_image(image):
    for value in image.values():
        check_value(value)


def full(export):
    """Each item is there once; those of a partition are in one file, in the order of their sort keys."""
    keys, file_of, total = set(), {}, 0
    for number, lines in enumerate(export.files):
        last = {}
        for line in lines:
            equal(list(line), ["Item"])
            item = line["Item"]
            check_image(item)
            partition, sort = item["pk"]["S"], item["sk"]["S"]
            equal(file_of.setdefault(partition, number), number)
            assert last.get(partition, "") < sort, (last[partition], sort)
            last[partition] = sort
            keys.add((partition, sort))
            total += int(item["n"]["N"])
    equal(len(keys), export.summary["itemCount"])
    return {"sum": total}


def increment(export):
    """Each item has one line, which says how it stands at the end. Lines of a file are in the order of time."""
    found = {"new": 0, "changed": 0, "deleted": 0}
    keys = set()
    for lines in export.files:
        last = 0
        for line in lines:
            images = [name for name in ("OldImage", "NewImage") if name in line]
            equal(list(line), ["Metadata", "Keys", *images])
            equal(list(line["Metadata"]), ["WriteTimestampMicros"])
            [(kind, time)] = line["Metadata"]["WriteTimestampMicros"].items()
            assert kind == "N" and last <= int(time), (last, time)
            last = int(time)
            for name in images:
                check_image(line[name])
                equal({key: line[name][key] for key in line["Keys"]}, line["Keys"])
            found[{("NewImage",): "new", ("OldImage", "NewImage"): "changed", ("OldImage",): "deleted"}[tuple(images)]] += 1
            keys.add(json.dumps(line["Keys"]))
    equal(len(keys), export.summary["itemCount"])
    return found


export = Export(*sys.argv[1:3])
shape = {"type": "FULL" if export.is_full else "INCREMENTAL", "files": len(export.files), "lines": sum(map(len, export.files))}
print(json.dumps({**shape, **(full if export.is_full else increment)(export)}))
