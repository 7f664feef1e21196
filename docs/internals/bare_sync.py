"""Writes 16 KiB over a file in place and syncs it, 200 times a second, and says how long the syncs took. Long ones
come with the second in which they began, so that they can be compared with the table of `bench --trend`.

The loop waits for each sync, so a long one counts once, however many were due meanwhile. A rate of requests counts
each of them, so a second line adds those that were due during a long sync.

    bare_sync.py FILE SECONDS
"""

import os
import sys
import time

SIZE = 4 << 20
PIECE = os.urandom(16 << 10)
INTERVAL = 1 / 200
LONG = 0.02

file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
for _ in range(SIZE // len(PIECE)):
    os.write(file, PIECE)
os.fsync(file)

took = []
long = []
start = time.monotonic()
end = start + float(sys.argv[2])
offset = 0
while (begun := time.monotonic()) < end:
    os.pwrite(file, PIECE, offset)
    os.fdatasync(file)
    took.append(time.monotonic() - begun)
    if took[-1] > LONG:
        long.append((begun - start, took[-1]))
    offset = (offset + len(PIECE)) % SIZE
    time.sleep(max(0, INTERVAL - took[-1]))
os.remove(sys.argv[1])

took.sort()
due = sorted(one - late * INTERVAL for one in took for late in range(int(one / INTERVAL) + 1))


def share(times, part):
    return f"{times[min(len(times) - 1, int(len(times) * part))] * 1000:.2f}"


for name, times in (("syncs", took), ("with those that were due meanwhile", due)):
    print(
        f"{len(times)} {name}: p50 {share(times, 0.5)} ms, p99 {share(times, 0.99)}, p99.9 {share(times, 0.999)}, "
        f"longest {share(times, 1)}"
    )
print("over 100 ms:", sum(one > 0.1 for one in took))
for second, one in long:
    print(f"  second {second:.2f}: {one * 1000:.0f} ms")
