# SPDX-License-Identifier: GPL-2.0-or-later
"""A frontend of the local port in Python, for tests that need one that misbehaves.

    with LocalFront(socket_path) as front:
        block = front.open(block_id=7, genstamp=1001, pool_id="BP-1")
        data = front.read(block.handle, offset=0, length=65536)

A test can write wrong values wherever the protocol lets a frontend write: requests, indexes, the
pool.  See request(), push(), set_producer().
"""

import array
import errno
import mmap
import os
import select
import socket
import struct
import time
from dataclasses import dataclass

from tests.support.hdfs_dir import crc32c_of

PAGE = 4096
MAGIC = 0x44525631
VERSION = 1
ALIVE_OFFSET = 16
MAX_READ = 4 << 20
ENTRY = 64
RING_HEADER = 64

OPEN, READ, CLOSE, STAT, PUBLISH, KEYS = 1, 2, 3, 4, 5, 6
FINALIZED, APPEND, TRUNCATE, DELETE = 1, 2, 3, 4

HELLO = struct.Struct("=IIIHH4I")
WELCOME = struct.Struct("=IIiIHH3I")
REQUEST = struct.Struct("=HBBIII48s")
OPEN_PART = struct.Struct("=qQQI5I")
PUBLISH_PART = struct.Struct("=qQQII4I")
KEYS_PART = struct.Struct("=II10I")
READ_PART = struct.Struct("=QI9I")
RESPONSE = struct.Struct("=HBBiII16s")
BLOCK_PART = struct.Struct("=QQ")
OPEN_DATA = struct.Struct("=HHHH")


class Refused(Exception):
    """The backend answered the hello with an error."""

    def __init__(self, status):
        super().__init__(f"refused: {errno.errorcode.get(-status, status)}")
        self.errno = -status


class Gone(Exception):
    """The backend closed the connection."""


@dataclass(frozen=True)
class Response:
    id: int
    operation: int
    reserved: int
    status: int
    handle: int
    flags: int
    u: bytes

    @property
    def length(self):
        return BLOCK_PART.unpack(self.u)[0]

    @property
    def genstamp(self):
        return BLOCK_PART.unpack(self.u)[1]


def hello(pool_pages=64, queues=1, order=0, magic=MAGIC, version=VERSION, reserved=(0, 0, 0, 0)):
    return HELLO.pack(magic, version, pool_pages, queues, order, *reserved)


def request(operation, request_id=0, pool_page=0, pool_pages=0, handle=0, part=b"", reserved=0):
    return REQUEST.pack(
        request_id, operation, reserved, pool_page, pool_pages, handle, part.ljust(48, b"\0")
    )


def open_part(block_id, genstamp, data_length, visible_length=0, user=0, reserved=(0, 0, 0, 0)):
    return OPEN_PART.pack(block_id, genstamp, visible_length, data_length, user, *reserved)


def publish_part(block_id, genstamp, data_length, event, length=0, reserved=(0, 0, 0, 0)):
    return PUBLISH_PART.pack(block_id, genstamp, length, data_length, event, *reserved)


def keys_part(data_length, tokens, reserved=(0,) * 10):
    return KEYS_PART.pack(data_length, tokens, *reserved)


def read_part(offset, length, reserved=(0,) * 9):
    return READ_PART.pack(offset, length, *reserved)


def open_data(pool_id, storage_ids=(), token=b"", flags=0):
    pool_id = pool_id.encode() if isinstance(pool_id, str) else pool_id
    parts = [OPEN_DATA.pack(len(pool_id), len(storage_ids), len(token), flags), pool_id]
    for storage_id in storage_ids:
        storage_id = storage_id.encode() if isinstance(storage_id, str) else storage_id
        parts += [bytes([len(storage_id)]), storage_id]
    return b"".join([*parts, token])


class Queue:
    """The frontend's half of one ring.  Indexes are private until push()."""

    def __init__(self, memory, request_fd, response_fd):
        self.memory = memory
        self.entries = 1 << (((len(memory) - RING_HEADER) // ENTRY).bit_length() - 1)
        # 32-bit stores and loads: the backend must never see half an index.
        self.words = memory.cast("I")
        self.request_fd = request_fd
        self.response_fd = response_fd
        self.produced = 0
        self.consumed = 0

    def slot(self, index):
        start = RING_HEADER + (index % self.entries) * ENTRY
        return self.memory[start : start + ENTRY]

    def set_producer(self, index):
        self.words[0] = index & 0xFFFFFFFF

    def notify(self):
        os.eventfd_write(self.request_fd, 1)

    def put(self, *requests):
        for raw in requests:
            self.slot(self.produced)[:] = raw
            self.produced += 1

    def push(self, *requests):
        """Puts requests on the ring, shows them and notifies the backend."""
        self.put(*requests)
        self.set_producer(self.produced)
        self.notify()

    def take(self):
        """Returns the responses that are on the ring, without waiting."""
        taken = []
        while True:
            while self.consumed != self.words[2]:
                raw = bytes(self.slot(self.consumed)[: RESPONSE.size])
                taken.append(Response(*RESPONSE.unpack(raw)))
                self.consumed += 1
            self.words[3] = (self.consumed + 1) & 0xFFFFFFFF
            if self.consumed == self.words[2]:
                return taken

    def release(self):
        self.words.release()
        self.memory.release()


class Front:
    """What frontends of all ports share: queues, pool and requests.  A port sets `timeout`,
    `queues`, `pool` and `rings`, and says when the backend has ended the connection."""

    watched = ()  # descriptors that are readable at the end of the connection
    next_id = 0

    def is_gone(self, ready):
        """True if the backend has ended the connection.  ready: those of `watched`, and others."""
        raise NotImplementedError

    @property
    def alive(self):
        return self.rings[ALIVE_OFFSET]

    def responses(self, count, queue=0):
        """Waits for `count` responses.  Raises Gone if the backend ends the connection first."""
        q = self.queues[queue]
        got = q.take()
        deadline = time.monotonic() + self.timeout
        while len(got) < count:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{len(got)} of {count} responses in {self.timeout} s")
            # Python has no barrier between rsp_event and rsp_prod in take(): look again soon.
            ready, _, _ = select.select([q.response_fd, *self.watched], [], [], min(left, 0.05))
            if q.response_fd in ready:
                os.eventfd_read(q.response_fd)
            got += q.take()
            if self.is_gone(ready) and len(got) < count:
                raise Gone
        return got

    def call(self, operation, queue=0, **fields):
        """Sends one request and returns its response."""
        request_id = self.next_id % self.queues[queue].entries
        self.next_id += 1
        self.queues[queue].push(request(operation, request_id=request_id, **fields))
        (response,) = self.responses(1, queue)
        assert (response.id, response.operation) == (request_id, operation)
        return response

    def open(
        self,
        block_id,
        genstamp,
        pool_id,
        storage_ids=("DS-1",),
        token=b"",
        visible_length=0,
        page=0,
        queue=0,
        flags=0,
    ):
        data = open_data(pool_id, storage_ids, token, flags)
        return self.open_raw(data, block_id, genstamp, visible_length, page, queue)

    def open_raw(self, data, block_id, genstamp, visible_length=0, page=0, queue=0, length=None):
        pages = max(1, -(-len(data) // PAGE))
        self.pool[page * PAGE : page * PAGE + len(data)] = data
        part = open_part(
            block_id, genstamp, len(data) if length is None else length, visible_length
        )
        return self.call(OPEN, queue, pool_page=page, pool_pages=pages, part=part)

    def read_response(self, handle, offset, length, page=0, pages=None, queue=0):
        pages = -(-length // PAGE) if pages is None else pages
        return self.call(
            READ,
            queue,
            handle=handle,
            pool_page=page,
            pool_pages=pages,
            part=read_part(offset, length),
        )

    def read(self, handle, offset, length, page=0, queue=0):
        """Returns the bytes, which must have the CRC32C of the response.  Raises an OSError for a
        negative status."""
        response = self.read_response(handle, offset, length, page, queue=queue)
        if response.status < 0:
            raise OSError(-response.status, os.strerror(-response.status))
        data = bytes(self.pool[page * PAGE : page * PAGE + response.status])
        assert response.u == struct.pack("=I", crc32c_of(data)).ljust(16, b"\0")
        return data

    def publish(self, event, block_id, genstamp, pool_id, storage_id, page=0, queue=0):
        """Returns the status."""
        data = open_data(pool_id, [storage_id])
        return self.publish_raw(data, event, block_id, genstamp, page=page, queue=queue).status

    def publish_raw(self, data, event, block_id, genstamp, page=0, queue=0):
        pages = max(1, -(-len(data) // PAGE))
        self.pool[page * PAGE : page * PAGE + len(data)] = data
        part = publish_part(block_id, genstamp, len(data), event)
        return self.call(PUBLISH, queue, pool_page=page, pool_pages=pages, part=part)

    def keys(self, pool_id, storage_id, keys, tokens=1, page=0):
        """Returns the status.  keys: of block_token.Key."""
        data = open_data(pool_id, [storage_id], b"".join(key.packed() for key in keys))
        return self.keys_raw(data, tokens, page)

    def keys_raw(self, data, tokens=1, page=0):
        pages = max(1, -(-len(data) // PAGE))
        self.pool[page * PAGE : page * PAGE + len(data)] = data
        part = keys_part(len(data), tokens)
        return self.call(KEYS, pool_page=page, pool_pages=pages, part=part).status

    def stat(self, handle, queue=0):
        return self.call(STAT, queue, handle=handle)

    def close_handle(self, handle, queue=0):
        return self.call(CLOSE, queue, handle=handle).status


class LocalFront(Front):
    def __init__(self, path, pool_pages=64, queues=1, order=0, timeout=60.0):
        self.timeout = timeout
        self.pool_pages = pool_pages
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(timeout)
        self.fds = []
        self.maps = []
        self.queues = []
        try:
            self.socket.connect(str(path))
            self.socket.send(hello(pool_pages, queues, order))
            self._welcome(queues, PAGE << order)
        except BaseException:
            self.close()
            raise

    def _welcome(self, num_queues, ring_bytes):
        fds = array.array("i")
        space = socket.CMSG_LEN((2 + 2 * num_queues) * fds.itemsize)
        message, ancillary, _, _ = self.socket.recvmsg(WELCOME.size + 1, space)
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
        self.fds = list(fds)
        if not message:
            raise Gone
        self.welcome = WELCOME.unpack(message)
        if self.welcome[2]:
            raise Refused(self.welcome[2])
        assert len(fds) == 2 + 2 * num_queues, "descriptors of a welcome"
        self.maps = [
            mmap.mmap(fds[0], self.pool_pages * PAGE),
            mmap.mmap(fds[1], num_queues * ring_bytes),
        ]
        self.pool = memoryview(self.maps[0])
        self.rings = memoryview(self.maps[1])
        for q in range(num_queues):
            memory = self.rings[q * ring_bytes : (q + 1) * ring_bytes]
            self.queues.append(Queue(memory, fds[2 + 2 * q], fds[3 + 2 * q]))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        self.socket.close()
        for queue in self.queues:
            queue.release()
        for view in ("pool", "rings"):
            if hasattr(self, view):
                getattr(self, view).release()
        for memory in self.maps:
            memory.close()
        for fd in self.fds:
            os.close(fd)
        self.queues, self.maps, self.fds = [], [], []

    @property
    def watched(self):
        return [self.socket]

    def is_gone(self, ready):
        return self.socket in ready

    def closed_within(self, seconds):
        """True if the backend closes the connection in that time."""
        ready, _, _ = select.select([self.socket], [], [], seconds)
        if not ready:
            return False
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
