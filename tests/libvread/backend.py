# SPDX-License-Identifier: GPL-2.0-or-later
"""A backend of the local port in Python, for tests of libvread and of vread.

A thread serves blocks that are held in memory.  With hooks, a test can answer late, wrongly, twice
or not at all.  The code is explicit rather than fast.
"""

import contextlib
import errno
import fcntl
import mmap
import os
import select
import socket
import struct
import threading

from tests.support.hdfs_dir import crc32c_of

MAGIC = 0x44525631
PAGE = 4096
OPEN, READ, CLOSE, STAT, KEYS = 1, 2, 3, 4, 6

# struct vread_local_hello, _welcome; vread_request and its unions; vread_response
HELLO = struct.Struct("<IIIHH16x")
WELCOME = struct.Struct("<IIiIHH12x")
REQUEST = struct.Struct("<HBBIII48s")
OPEN_REQUEST = struct.Struct("<qQQI20x")
READ_REQUEST = struct.Struct("<QI36x")
RESPONSE = struct.Struct("<HBBiIIQQ")
REQ_PROD, REQ_EVENT, RSP_PROD, RSP_EVENT, ALIVE = 0, 4, 8, 12, 16
RING_START, ENTRY = 64, 64

F_ADD_SEALS, F_SEAL_SHRINK, F_SEAL_GROW = 1033, 2, 4


def sealed_memfd(name, size):
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    fcntl.fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)
    return fd


class Request:
    """One request, copied from the ring of its queue."""

    def __init__(self, raw, queue=0):
        fields = REQUEST.unpack(raw)
        self.raw = raw
        self.queue = queue
        self.id, self.op, self.reserved, self.page, self.pages, self.handle, union = fields
        if self.op == OPEN:
            self.block, self.genstamp, self.visible, self.length = OPEN_REQUEST.unpack(union)
        elif self.op == READ:
            self.offset, self.length = READ_REQUEST.unpack(union)


class Ring:
    """One ring of a connection, its events, and the backend's indexes."""

    def __init__(self, memory):
        self.memory = memory
        self.request_event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.response_event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.entries = 1 << ((len(memory) - RING_START) // ENTRY).bit_length() - 1
        for offset, value in ((REQ_PROD, 0), (REQ_EVENT, 1), (RSP_PROD, 0), (RSP_EVENT, 1)):
            self.put(offset, value)
        self.consumed = 0
        self.produced = 0
        self.lock = threading.Lock()

    def get(self, offset):
        return struct.unpack_from("<I", self.memory, offset)[0]

    def put(self, offset, value):
        # An index must change in one step: struct.pack_into() would make it 0 for a moment.
        self.memory[offset : offset + 4] = struct.pack("<I", value & 0xFFFFFFFF)

    def take(self):
        """The next request's bytes, or None."""
        if self.get(REQ_PROD) == self.consumed:
            with self.lock:  # its release is a memory barrier, which Python does not have
                self.put(REQ_EVENT, self.consumed + 1)
            if self.get(REQ_PROD) == self.consumed:
                return None
        at = RING_START + self.consumed % self.entries * ENTRY
        self.consumed += 1
        return bytes(self.memory[at : at + ENTRY])

    def push(self, response):
        """Puts a raw response on the ring and tells the frontend if it asked."""
        with self.lock:
            at = RING_START + self.produced % self.entries * ENTRY
            self.memory[at : at + len(response)] = response
            self.produced += 1
            produced = self.produced
            self.put(RSP_PROD, produced)
        # After the release of the lock, which is a memory barrier: see take().
        if self.get(RSP_EVENT) == produced & 0xFFFFFFFF:
            self.notify()

    def notify(self):
        os.eventfd_write(self.response_event, 1)

    def close(self):
        self.memory.release()
        os.close(self.request_event)
        os.close(self.response_event)


class Channel:
    """One connection: its pool and its rings.  Methods that name no ring use the first."""

    def __init__(self, sock, pool_pages, order, queues=1):
        size = PAGE << order
        self.sock = sock
        self.pool_fd = sealed_memfd("pool", pool_pages * PAGE)
        self.ring_fd = sealed_memfd("ring", queues * size)
        self.pool = mmap.mmap(self.pool_fd, pool_pages * PAGE)
        self.ring = mmap.mmap(self.ring_fd, queues * size)
        view = memoryview(self.ring)
        self.rings = [Ring(view[q * size : (q + 1) * size]) for q in range(queues)]
        view.release()
        self.events = [
            fd for ring in self.rings for fd in (ring.request_event, ring.response_event)
        ]
        self.ring[ALIVE] = 1

    @property
    def produced(self):
        return self.rings[0].produced

    def get(self, offset):
        return self.rings[0].get(offset)

    def put(self, offset, value):
        self.rings[0].put(offset, value)

    def push(self, response):
        self.rings[0].push(response)

    def notify(self):
        self.rings[0].notify()

    def take(self, queue):
        raw = self.rings[queue].take()
        return raw and Request(raw, queue)

    def respond(self, request, status, handle=0, flags=0, length=0, genstamp=0, **override):
        fields = {"id": request.id, "op": request.op, "queue": request.queue} | override
        self.rings[fields["queue"]].push(
            RESPONSE.pack(fields["id"], fields["op"], 0, status, handle, flags, length, genstamp)
        )

    def close(self):
        self.sock.close()
        for ring in self.rings:
            ring.close()
        self.pool.close()  # mmap holds a descriptor of its own
        self.ring.close()
        os.close(self.pool_fd)
        os.close(self.ring_fd)


class Backend:
    """Listens on `path`; `blocks` maps (id, genstamp) to bytes.

    Assign `on_request(channel, request)` to answer wrongly, and `make_welcome(channel, hello)` to
    return another (payload, descriptors) for the welcome.
    """

    def __init__(self, path, blocks=None):
        self.path = str(path)
        self.blocks = blocks or {}
        self.requests = []  # every request seen, in order
        self.channels = []
        self.open_handles = {}
        self.next_handle = 7
        self.flags = 1  # of blocks: finalized
        self.on_request = self.answer
        self.make_welcome = self.welcome
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(self.path)
        self.listener.listen(8)
        self.stop_read, self.stop_write = os.pipe()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.write(self.stop_write, b"x")
        self.thread.join(60)
        assert not self.thread.is_alive()
        for channel in self.channels:
            channel.close()
        self.listener.close()
        os.unlink(self.path)
        os.close(self.stop_read)
        os.close(self.stop_write)

    # ---- the event loop

    def run(self):
        while True:
            watched = {self.stop_read: None, self.listener.fileno(): None}
            for channel in self.channels:
                for ring in channel.rings:
                    watched[ring.request_event] = channel
                watched[channel.sock.fileno()] = channel
            ready, _, _ = select.select(list(watched), [], [])
            if self.stop_read in ready:
                return
            if self.listener.fileno() in ready:
                self.accept()
            for fd in ready:
                channel = watched[fd]
                if not channel or channel not in self.channels:
                    continue
                if fd == channel.sock.fileno():
                    if self.closed(channel.sock):
                        self.drop(channel)
                else:
                    self.serve(channel, channel.events.index(fd) // 2)

    @staticmethod
    def closed(sock):
        try:
            return not sock.recv(64)
        except ConnectionError:
            return True

    def drop(self, channel):
        self.channels.remove(channel)
        channel.close()

    def accept(self):
        sock, _ = self.listener.accept()
        hello = sock.recv(256)
        _, _, pool_pages, queues, order = HELLO.unpack(hello)
        channel = Channel(sock, pool_pages, order, queues)
        payload, fds = self.make_welcome(channel, hello)
        if payload is None:
            channel.close()
            return
        socket.send_fds(sock, [payload], fds)
        self.channels.append(channel)

    @staticmethod
    def welcome(channel, hello):
        _, version, pool_pages, queues, order = HELLO.unpack(hello)
        payload = WELCOME.pack(MAGIC, version, 0, pool_pages, queues, order)
        return payload, [channel.pool_fd, channel.ring_fd, *channel.events]

    def serve(self, channel, queue):
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(channel.rings[queue].request_event)
        while channel in self.channels:
            request = channel.take(queue)
            if not request:
                return
            self.requests.append(request)
            self.on_request(channel, request)

    # ---- a well-behaved backend

    def answer(self, channel, request):
        if request.op == OPEN:
            self.answer_open(channel, request)
        elif request.op == READ:
            self.answer_read(channel, request)
        elif request.op == CLOSE:
            found = self.open_handles.pop(request.handle, None)
            channel.respond(request, 0 if found else -errno.EBADF)
        elif request.op == KEYS:
            channel.respond(request, 0)
        elif request.op == STAT:
            key = self.open_handles[request.handle]
            if key not in self.blocks:
                channel.respond(request, -errno.EAGAIN)
            else:
                channel.respond(request, 0, 0, self.flags, len(self.blocks[key]), key[1])

    def answer_open(self, channel, request):
        key = (request.block, request.genstamp)
        if key not in self.blocks:
            channel.respond(request, -errno.ENOENT)
            return
        handle = self.next_handle
        self.next_handle += 1
        self.open_handles[handle] = key
        channel.respond(request, 0, handle, self.flags, len(self.blocks[key]), key[1])

    def answer_read(self, channel, request):
        if request.handle not in self.open_handles:
            channel.respond(request, -errno.EBADF)
            return
        content = self.blocks[self.open_handles[request.handle]]
        part = content[request.offset : request.offset + request.length]
        at = request.page * PAGE
        assert request.pages * PAGE >= request.length and at + len(part) <= len(channel.pool)
        channel.pool[at : at + len(part)] = part
        channel.respond(request, len(part), length=crc32c_of(part))  # u.read.crc32c
