# SPDX-License-Identifier: GPL-2.0-or-later
"""The host's side of vread-ivshmem.h in Python, for tests of the guest's module: it takes the place
of vread-ivshmem and vreadd, and may write wrong values wherever the protocol lets a host write.

    with IvshmemHost(folder / "socket") as host, KvmGuest("g", devices=...) as guest:
        host.offer()
        host.wait_front(INITIALISED)
        host.connect()
        request = host.next_request()
        host.answer(request, status=0)
"""

import mmap
import os
import select
import socket
import struct
import threading
from dataclasses import dataclass
from pathlib import Path

from tests.support.localfront import ALIVE_OFFSET, ENTRY, PAGE, REQUEST, RESPONSE, RING_HEADER
from tests.support.waiting import eventually

MAGIC = 0x49525631
MIB = 1 << 20
INITIALISING, INIT_WAIT, INITIALISED, CONNECTED, CLOSING, CLOSED = 1, 2, 3, 4, 5, 6
PUBLISH, USER, DATANODE = 1, 2, 4
HOST, GUEST = 0, 1

# Indexes of 32-bit words in page 0.
BACKEND, FRONTEND, VERSION, QUEUES, RING_ORDER = 1, 32, 33, 34, 35


@dataclass(frozen=True)
class Offer:
    version: int = 1
    flags: int = USER
    max_queues: int = 2
    max_ring_page_order: int = 1
    pool_first: int = 16
    pool_pages: int = 1024


class IvshmemHost:
    def __init__(self, path: Path, size: int = 8 * MIB, vectors: int = 5) -> None:
        self.path, self.vectors, self.epoch = path, vectors, 0
        self.offered: Offer | None = None
        self._consumed: dict[int, int] = {}
        self._memfd = os.memfd_create("ivshmem")
        os.ftruncate(self._memfd, size)
        self._map = mmap.mmap(self._memfd, size)
        self.memory = memoryview(self._map)
        self.words = self.memory.cast("I")
        self.words[0] = MAGIC
        flags = os.EFD_NONBLOCK | os.EFD_CLOEXEC
        self.to_host = [os.eventfd(0, flags) for _ in range(vectors)]
        self.to_guest = [os.eventfd(0, flags) for _ in range(vectors)]
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._emulator: socket.socket | None = None
        self._thread = threading.Thread(target=self._welcome, daemon=True)
        self._thread.start()

    def __enter__(self) -> "IvshmemHost":
        return self

    def __exit__(self, *exception) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        if self._emulator:
            self._emulator.close()
        self.words.release()
        self.memory.release()
        self._map.close()
        for fd in (self._memfd, *self.to_host, *self.to_guest):
            os.close(fd)

    # ---- states ----------------------------------------------------------

    def say(self, state: int) -> None:
        """Writes the backend's word, and tells the guest."""
        self.words[BACKEND] = self.epoch << 8 | state
        self.ring(0)

    def ring(self, vector: int) -> None:
        os.eventfd_write(self.to_guest[vector], 1)

    def offer(self, **terms) -> None:
        """terms: of Offer, where they are to be others."""
        self.epoch += 1
        self.offered = offer = Offer(**terms)
        values = (offer.version, offer.flags, offer.max_queues, offer.max_ring_page_order)
        for at, value in enumerate((*values, offer.pool_first, offer.pool_pages), start=2):
            self.words[at] = value
        self.say(INIT_WAIT)

    def front(self) -> int:
        """The state of the frontend, 0 if its word is of another epoch."""
        word = self.words[FRONTEND]
        return word & 0xFF if word >> 8 == self.epoch else 0

    def wait_front(self, state: int) -> None:
        eventually(lambda: self.front() == state)

    def connect(self) -> None:
        """The guest is Initialised."""
        self._consumed = {}
        self.memory[PAGE + ALIVE_OFFSET] = 1
        self.say(CONNECTED)
        self.wait_front(CONNECTED)

    def die(self) -> None:
        """What vread-ivshmem does when vreadd ends."""
        self.memory[PAGE + ALIVE_OFFSET] = 0
        self.words[BACKEND] = self.epoch << 8 | CLOSED
        for vector in range(self.vectors):
            self.ring(vector)

    # ---- requests --------------------------------------------------------

    def next_request(self, timeout: float = 120.0) -> "Request":
        """Waits for a request on any queue."""
        poll = select.poll()
        for fd in self.to_host[1:]:
            poll.register(fd, select.POLLIN)
        while (found := self._look()) is None:
            if not poll.poll(timeout * 1000):
                raise TimeoutError(f"no request within {timeout} s")
            for fd in self.to_host[1:]:
                _drain(fd)
        return found

    def answer(self, request: "Request", status: int, handle=0, u: bytes = b"", **wrong) -> None:
        """wrong: id or operation other than the request's."""
        ring = self._ring(request.queue)
        at = ring[2]
        raw = RESPONSE.pack(
            wrong.get("id", request.id),
            wrong.get("operation", request.operation),
            0, status, handle, 0, u.ljust(16, b"\0"),
        )  # fmt: skip
        start = self._slot(request.queue, at)
        self.memory[start : start + RESPONSE.size] = raw
        ring[2] = (at + 1) & 0xFFFFFFFF
        self.ring(1 + request.queue)

    def pool(self, page: int, pages: int) -> memoryview:
        start = (self.offered.pool_first + page) * PAGE
        return self.memory[start : start + pages * PAGE]

    def _ring(self, queue: int) -> memoryview:
        return self.words[self._ring_at(queue) // 4 :]

    def _ring_at(self, queue: int) -> int:
        return (1 + (queue << self.offered.max_ring_page_order)) * PAGE

    def _slot(self, queue: int, index: int) -> int:
        room = (PAGE << self.words[RING_ORDER]) - RING_HEADER
        entries = 1 << ((room // ENTRY).bit_length() - 1)
        return self._ring_at(queue) + RING_HEADER + index % entries * ENTRY

    def _look(self) -> "Request | None":
        for queue in range(self.words[QUEUES]):
            ring, consumed = self._ring(queue), self._consumed.get(queue, 0)
            ring[1] = (consumed + 1) & 0xFFFFFFFF  # the event that is wanted
            if ring[0] != consumed:
                start = self._slot(queue, consumed)
                raw = bytes(self.memory[start : start + REQUEST.size])
                self._consumed[queue] = consumed + 1
                return Request(queue, *REQUEST.unpack(raw))
        return None

    # ---- QEMU's ivshmem-server protocol ----------------------------------

    def _welcome(self) -> None:
        try:
            self._emulator, _ = self._listener.accept()
        except OSError:
            return
        self._send(0)
        self._send(GUEST)
        self._send(-1, self._memfd)
        for peer, events in ((HOST, self.to_host), (GUEST, self.to_guest)):
            for fd in events:
                self._send(peer, fd)

    def _send(self, number: int, *fds: int) -> None:
        socket.send_fds(self._emulator, [struct.pack("<q", number)], fds)


@dataclass(frozen=True)
class Request:
    queue: int
    id: int
    operation: int
    reserved: int
    pool_page: int
    pool_pages: int
    handle: int
    part: bytes


def _drain(fd: int) -> None:
    try:
        os.eventfd_read(fd)
    except BlockingIOError:
        return
