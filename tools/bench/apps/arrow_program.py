# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads datasets of HDFS with pyarrow, by the line protocol of java/Commands.java.  arrow.py runs
it: arrow_program.py STATISTICS, the file into which vRead's plug-in writes its statistics.

    use NAME=VALUE ...   makes the file system anew, with these properties of Hadoop
    make FOLDER ROWS     writes four files of Parquet
    touch                the hypervisor gives this machine the memory that a scan needs
    scan FOLDER          seconds
    filter FOLDER
    digest               SHA-256 of all values of the last scan or filter
    statistics
"""

import hashlib
import json
import mmap
import os
import sys
import time

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import fs

FILES = 4
GROUP_ROWS = 1 << 17
TOUCHED = 1 << 30  # bytes; four times a table
HUGE_PAGE = 2 << 20
STATISTICS_PERIOD = 1.0  # s; the plug-in writes its file as often at most


class Datasets:
    def __init__(self, statistics):
        self._statistics = statistics
        self._hdfs = fs.HadoopFileSystem("default")
        self._table = None  # what was read last

    def use(self, *properties):
        extra = dict(each.split("=", 1) for each in properties)
        self._hdfs = fs.HadoopFileSystem("default", extra_conf=extra)
        return {}

    def make(self, folder, rows):
        self._hdfs.create_dir(folder)
        each = int(rows) // FILES
        for number in range(FILES):
            pq.write_table(
                _table(number * each, each), f"{folder}/{number}.parquet",
                filesystem=self._hdfs, row_group_size=GROUP_ROWS,
            )  # fmt: skip
        return {}

    def touch(self):
        """Free memory of a virtual machine may be the hypervisor's for the time being (free page
        reporting).  Arrow allocates huge pages.  The first touch of a GiB of them took 0.15 s or
        2.6 s, as the machine had them or not, so a scan took 0.45 s or 1.1 s by either way."""
        self._table = None
        with mmap.mmap(-1, TOUCHED, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            memory.madvise(mmap.MADV_HUGEPAGE)
            for at in range(0, TOUCHED, HUGE_PAGE):
                memory[at] = 1
        return {}

    def scan(self, folder):
        return self._read(folder)

    def filter(self, folder):
        wanted = (pc.field("amount") >= 1000) & (pc.field("amount") < 2000)
        return self._read(folder, columns=["id", "note"], filter=wanted)

    def digest(self):
        return {"digest": _digest(self._table)}

    def statistics(self):
        time.sleep(2 * STATISTICS_PERIOD)
        if not os.path.exists(self._statistics):
            return {}
        with open(self._statistics) as file:
            return json.load(file)

    def _read(self, folder, **what):
        began = time.monotonic()
        dataset = ds.dataset(folder, filesystem=self._hdfs, format="parquet")
        self._table = dataset.to_table(**what)
        return {"seconds": time.monotonic() - began}


def _table(first, rows):
    """Rows whose values are functions of their numbers, and whose notes do not compress well."""
    numbers = range(first, first + rows)
    notes = [hashlib.sha384(n.to_bytes(8, "big")).hexdigest() for n in numbers]
    amounts = [int(note[:8], 16) % 100_000 for note in notes]
    return pa.table({"id": pa.array(numbers, pa.int64()), "amount": amounts, "note": notes})


def _digest(table):
    """Of the rows by id, however the table is chunked."""
    digest = hashlib.sha256()
    table = table.sort_by("id").combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=GROUP_ROWS):
            writer.write_batch(batch)
    digest.update(sink.getvalue())
    return digest.hexdigest()


def main(statistics):
    datasets = Datasets(statistics)
    commands = {
        "use": datasets.use,
        "make": datasets.make,
        "touch": datasets.touch,
        "scan": datasets.scan,
        "filter": datasets.filter,
        "digest": datasets.digest,
        "statistics": datasets.statistics,
    }
    for line in sys.stdin:
        name, *words = line.rstrip("\n").split("\t")
        try:
            answer = commands[name](*words)
        except Exception as error:  # the caller tells it
            answer = {"error": repr(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
