"""Writes 16 KiB over a file in place and syncs it, 200 times a second, and says how long the syncs took. Long ones
come with the second in which they began, so that they can be compared with the table of `bench --trend`.

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
share = lambda part: took[min(len(took) - 1, int(len(took) * part))] * 1000
print(f"{len(took)} syncs: p50 {share(0.5):.2f} ms, p99 {share(0.99):.2f}, p99.9 {share(0.999):.2f}, longest {took[-1] * 1000:.1f}")
print("over 100 ms:", sum(one > 0.1 for one in took))
for second, one in long:
    print(f"  second {second:.2f}: {one * 1000:.0f} ms")
