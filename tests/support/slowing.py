# SPDX-License-Identifier: GPL-2.0-or-later
"""What makes a way of reading slow without breaking it: a process that gets no processor, or hardly
any, and a link that hardly lets bytes through."""

import contextlib
import os
import signal
import socket
import threading
import time

from tools.vreadd import stop_process

PIECE = 16 << 10


@contextlib.contextmanager
def stopped(pid):
    """Meanwhile no thread of the process runs."""
    stop_process(pid)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def starved(pid, running=0.002, stopped=0.05):
    """Meanwhile the process runs for `running` seconds, is stopped for `stopped` seconds, and so
    on.  Its parsers, which are processes of their own, go on."""
    ending = threading.Event()

    def starve():
        while not ending.is_set():
            os.kill(pid, signal.SIGSTOP)
            ending.wait(stopped)
            os.kill(pid, signal.SIGCONT)
            ending.wait(running)

    thread = threading.Thread(target=starve)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()
        os.kill(pid, signal.SIGCONT)


class NarrowLink:
    """Forwards TCP connections to `target`, "HOST:PORT".  Use as a context manager.

    address: where it listens.  rate: bytes per second from the target to all clients together;
    None: as many as come.  It may change at any time."""

    def __init__(self, address, target):
        self.address = address
        self.rate = None
        self._target = _host_and_port(target)
        self._listener = None
        self._room = threading.Lock()  # one piece at a time
        self._sockets = []

    def __enter__(self):
        self._listener = socket.create_server(_host_and_port(self.address))
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        for each in [self._listener, *self._sockets]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._sockets.append(client)
                try:
                    target = socket.create_connection(self._target)
                except OSError:
                    client.close()
                    continue
                self._sockets.append(target)
                for source, sink, narrow in ((client, target, False), (target, client, True)):
                    forward = (source, sink, narrow)
                    threading.Thread(target=self._forward, args=forward, daemon=True).start()

    def _forward(self, source, sink, narrow):
        with contextlib.suppress(OSError):
            while piece := source.recv(PIECE):
                if narrow:
                    self._pass(len(piece))
                sink.sendall(piece)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _pass(self, size):
        with self._room:
            if self.rate:
                time.sleep(size / self.rate)


def _host_and_port(address):
    host, port = address.rsplit(":", 1)
    return host, int(port)
