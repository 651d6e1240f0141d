"""``python -m benchmarks.costs``: write ``flops_snapshot.json`` anew."""

from benchmarks.costs import SNAPSHOT, write_snapshot

write_snapshot()
print(SNAPSHOT)
