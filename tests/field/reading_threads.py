# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that reads a block in several threads at once, by libvread.  It says when the block
is open, reads a line, starts the threads and prints what they got.  arguments: the library, the
endpoint, pool, id, stamp and storage of the block, and the number of threads.  Its clock is that of
the test which starts it."""

import ctypes
import sys
import threading
import zlib

from tests.libvread import vreadlib

PIECE = 5000


def main(library, endpoint, pool, block_id, stamp, storage, threads):
    lib = ctypes.CDLL(library)
    vreadlib.set_prototypes(lib)
    connection = vreadlib.Connection(lib, endpoint)
    file = connection.open(pool, int(block_id), int(stamp), storages=[storage])
    print("open", flush=True)
    sys.stdin.readline()
    results = {}

    def read(number):
        try:
            results[number] = str(zlib.crc32(file.pread(PIECE, number * PIECE)))
        except OSError as error:
            results[number] = error.strerror

    readers = [threading.Thread(target=read, args=(n,)) for n in range(int(threads))]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    for number in sorted(results):
        print(results[number])


if __name__ == "__main__":
    main(*sys.argv[1:])
