# SPDX-License-Identifier: GPL-2.0-or-later
"""enter.py SOCKET MACHINE COMMAND: runs a shell command in an emulated machine of another process,
which has a Gate at the socket.  Passes standard input, output, error and the exit status.

Gate.words() has the words.  This is a program, not a module: it starts in milliseconds, because it
is started for each counter that a bench reads.
"""

import json
import os
import socket
import struct
import sys
import threading

STREAMS = {b"O": 1, b"E": 2}
PIECE = 32 << 10


def main(path, machine, command):
    with socket.socket(socket.AF_UNIX) as gate:
        gate.connect(path)
        gate.sendall(json.dumps({"machine": machine, "command": command}).encode() + b"\n")
        threading.Thread(target=feed, args=(gate,), daemon=True).start()
        frames = gate.makefile("rb")
        while head := frames.read(5):
            data = frames.read(struct.unpack("<I", head[1:])[0])
            if head[:1] == b"X":
                return int(data)
            write(STREAMS[head[:1]], data)
    print("enter.py: the lab is gone", file=sys.stderr)
    return 1


def feed(gate):
    try:
        while data := os.read(0, PIECE):
            gate.sendall(data)
        gate.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the command has ended


def write(descriptor, data):
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    status = main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)  # the other thread waits for input
