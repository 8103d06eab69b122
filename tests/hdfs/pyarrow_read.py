# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a file of HDFS with pyarrow.  test_pyarrow.py runs it.

    pyarrow_read.py main|other sequential|positional|threads PATH

main: the thread that made the Java virtual machine makes the file system; other: another thread
does.  Writes the bytes to standard output, closes standard output, and ends when standard input
ends.
"""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from pyarrow import fs

PIECES = (1, 4096, 65536, 1000, 700_000, 512)


def main(thread, how, path):
    if thread == "other":
        fs.HadoopFileSystem("default")  # makes the Java virtual machine; never used
    content = READERS[how](made_by(thread), path)
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()
    os.close(sys.stdout.fileno())
    sys.stdin.read()


def made_by(thread):
    made = []
    work = threading.Thread(target=lambda: made.append(fs.HadoopFileSystem("default")))
    if thread == "other":
        work.start()
        work.join()
    else:
        work.run()
    return made[0]


def sequential(hdfs, path):
    with hdfs.open_input_stream(path) as stream:
        return stream.read()


def ranges(size):
    offset = number = 0
    while offset < size:
        length = min(PIECES[number % len(PIECES)], size - offset)
        yield offset, length
        offset += length
        number += 1


def positional(hdfs, path):
    """Reads pieces of many sizes by position, the last piece first."""
    with hdfs.open_input_file(path) as file:
        pieces = [
            (offset, file.read_at(n, offset)) for offset, n in reversed([*ranges(file.size())])
        ]
    return b"".join(piece for _, piece in reversed(pieces))


def threads(hdfs, path):
    """Reads pieces by position in threads that never called Java before."""
    with hdfs.open_input_file(path) as file, ThreadPoolExecutor(4) as pool:
        return b"".join(pool.map(lambda r: file.read_at(r[1], r[0]), ranges(file.size())))


READERS = {"sequential": sequential, "positional": positional, "threads": threads}

if __name__ == "__main__":
    main(*sys.argv[1:])
