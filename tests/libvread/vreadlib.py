# SPDX-License-Identifier: GPL-2.0-or-later
"""libvread for Python tests: vread.h through ctypes, with errors as OSError.

In this process the library follows `clock`, which stands still until a test advances it.
"""

import ctypes
import os
import tempfile
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    byref,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_ssize_t,
    c_uint,
    c_uint32,
    c_uint64,
    c_void_p,
    sizeof,
)
from pathlib import Path

import pytest

from tests.support.clock import Clock

TIMEOUT = 2000  # ms

_folder = tempfile.TemporaryDirectory(prefix="vread-clock-")
clock = Clock(Path(_folder.name) / "clock")
calls = set()  # threads that may wait in the library


def end_calls():
    """Ends all calls after a test has failed, so that nothing is closed that a thread uses."""
    if calls:
        clock.advance(3600)
    for thread in list(calls):
        thread.join()


class Options(Structure):
    _fields_ = [
        ("endpoint", c_char_p),
        ("pool_bytes", c_size_t),
        ("timeout_ms", c_uint),
        ("readahead_bytes", c_uint),
        ("queues", c_uint),
        ("publisher", c_uint),
        ("interrupted", CFUNCTYPE(c_int, c_void_p)),
        ("interrupted_opaque", c_void_p),
    ]


class Block(Structure):
    _fields_ = [
        ("pool_id", c_char_p),
        ("block_id", c_int64),
        ("generation_stamp", c_uint64),
        ("visible_length", c_uint64),
        ("storage_ids", POINTER(c_char_p)),
        ("num_storage_ids", c_size_t),
        ("token", c_char_p),
        ("token_length", c_size_t),
        ("protect", c_uint),
        ("reserved", c_uint),
    ]


class SigningKey(Structure):
    _fields_ = [
        ("id", c_int32),
        ("algorithm", c_uint),
        ("expiry", c_int64),
        ("bytes", c_char_p),
        ("length", c_size_t),
    ]


class Stat(Structure):
    _fields_ = [
        ("length", c_uint64),
        ("visible_length", c_uint64),
        ("generation_stamp", c_uint64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
    ]


class Range(Structure):
    _fields_ = [
        ("offset", c_uint64),
        ("length", c_size_t),
        ("buf", c_void_p),
        ("result", c_ssize_t),
    ]


class Completion(Structure):
    _fields_ = [
        ("file", c_void_p),
        ("offset", c_uint64),
        ("cookie", c_void_p),
        ("result", c_ssize_t),
        ("data", c_void_p),
        ("slot", c_uint64),
    ]


Sink = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)

FINALIZED, APPEND, TRUNCATE, DELETE = 1, 2, 3, 4

PROTOTYPES = {
    "vread_connect_sized": (c_int, [POINTER(c_void_p), POINTER(Options), c_size_t]),
    "vread_disconnect": (None, [c_void_p]),
    "vread_connected": (c_int, [c_void_p]),
    "vread_ping": (c_int, [c_void_p]),
    "vread_open_sized": (c_int, [c_void_p, POINTER(Block), c_size_t, POINTER(c_void_p)]),
    "vread_close": (None, [c_void_p]),
    "vread_stat_sized": (c_int, [c_void_p, POINTER(Stat), c_size_t]),
    "vread_update": (c_int, [c_void_p]),
    "vread_read": (c_ssize_t, [c_void_p, c_void_p, c_size_t]),
    "vread_seek": (c_int64, [c_void_p, c_int64, c_int]),
    "vread_pread": (c_ssize_t, [c_void_p, c_void_p, c_size_t, c_uint64]),
    "vread_read_to": (c_ssize_t, [c_void_p, c_size_t, Sink, c_void_p]),
    "vread_pread_to": (c_ssize_t, [c_void_p, c_size_t, c_uint64, Sink, c_void_p]),
    "vread_preadv": (c_int, [c_void_p, POINTER(Range), c_size_t]),
    "vread_submit": (c_int, [c_void_p, c_uint64, c_size_t, c_void_p]),
    "vread_reap": (c_int, [c_void_p, POINTER(Completion), c_size_t, c_uint]),
    "vread_release": (None, [c_void_p, POINTER(Completion)]),
    "vread_event_fd": (c_int, [c_void_p]),
    "vread_publish_sized": (c_int, [c_void_p, POINTER(Block), c_size_t, c_uint, c_uint64]),
    "vread_publish_keys": (
        c_int,
        [c_void_p, c_char_p, c_char_p, c_int, POINTER(SigningKey), c_size_t],
    ),
    "vread_strerror": (c_char_p, [c_int]),
}


def load(path):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in clock.environment.items():  # read while the library is loaded
            patch.setenv(name, value)
        lib = ctypes.CDLL(str(path))
    set_prototypes(lib)
    return lib


def set_prototypes(lib):
    for name, (result, arguments) in PROTOTYPES.items():
        function = getattr(lib, name)
        function.restype = result
        function.argtypes = arguments


def check(value):
    """Raises OSError for a negative errno, else returns the value."""
    if value < 0:
        raise OSError(-value, os.strerror(-value))
    return value


def make_block(pool, block_id, genstamp, visible, storages, token):
    ids = (c_char_p * max(1, len(storages)))(*[s.encode() for s in storages])
    return Block(
        pool.encode(),
        block_id,
        genstamp,
        visible,
        ids,
        len(storages),
        token,
        len(token) if token else 0,
    )


class Connection:
    """A connection.  Of one queue unless told otherwise, so that requests arrive in the order in
    which they were made; queues=0 is the library's own choice."""

    def __init__(
        self,
        lib,
        endpoint,
        pool_bytes=0,
        timeout_ms=TIMEOUT,
        readahead=0,
        queues=1,
        interrupted=None,
    ):
        """interrupted: a function without arguments, called on the threads that wait."""
        self.lib = lib
        self.pointer = c_void_p()
        options = Options(str(endpoint).encode(), pool_bytes, timeout_ms, readahead, queues, 0)
        if interrupted:
            options.interrupted = type(options.interrupted)(lambda _: interrupted())
        self.options = options  # the library calls the function
        check(lib.vread_connect_sized(byref(self.pointer), byref(options), sizeof(options)))

    def close(self):
        self.lib.vread_disconnect(self.pointer)
        self.pointer = c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        if failure:
            end_calls()
        self.close()

    def connected(self):
        return bool(self.lib.vread_connected(self.pointer))

    def ping(self):
        check(self.lib.vread_ping(self.pointer))

    def open(self, pool, block_id, genstamp, visible=0, storages=("DS-1",), token=None):
        return File(self, pool, block_id, genstamp, visible, storages, token)

    def reap(self, count=16, timeout_ms=TIMEOUT):
        array = (Completion * count)()
        return list(array[: check(self.lib.vread_reap(self.pointer, array, count, timeout_ms))])

    def release(self, completion):
        self.lib.vread_release(self.pointer, byref(completion))

    def event_fd(self):
        return check(self.lib.vread_event_fd(self.pointer))

    def publish(self, event, pool, block_id, genstamp, storages, token=None, length=0):
        block = make_block(pool, block_id, genstamp, 0, storages, token)
        check(
            self.lib.vread_publish_sized(self.pointer, byref(block), sizeof(block), event, length)
        )

    def publish_keys(self, pool, storage, keys, tokens=1):
        """keys: keys of tests.support.block_token."""
        array = (SigningKey * max(1, len(keys)))(
            *[SigningKey(k.id, k.algorithm, k.expiry, k.secret, len(k.secret)) for k in keys]
        )
        check(
            self.lib.vread_publish_keys(
                self.pointer, pool.encode(), storage.encode(), tokens, array, len(keys)
            )
        )


class File:
    def __init__(self, connection, pool, block_id, genstamp, visible, storages, token):
        self.lib = connection.lib
        self.pointer = c_void_p()
        block = make_block(pool, block_id, genstamp, visible, storages, token)
        pointers = (connection.pointer, byref(block), sizeof(block), byref(self.pointer))
        check(self.lib.vread_open_sized(*pointers))

    def close(self):
        self.lib.vread_close(self.pointer)
        self.pointer = c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        if failure:
            end_calls()
        self.close()

    def stat(self):
        stat = Stat()
        check(self.lib.vread_stat_sized(self.pointer, byref(stat), sizeof(stat)))
        return stat

    def update(self):
        check(self.lib.vread_update(self.pointer))

    def read(self, length):
        buffer = ctypes.create_string_buffer(max(1, length))
        n = check(self.lib.vread_read(self.pointer, buffer, length))
        return buffer.raw[:n]

    def seek(self, offset, whence=os.SEEK_SET):
        return check(self.lib.vread_seek(self.pointer, offset, whence))

    def pread(self, length, offset):
        buffer = ctypes.create_string_buffer(max(1, length))
        n = check(self.lib.vread_pread(self.pointer, buffer, length, offset))
        return buffer.raw[:n]

    def read_to(self, length):
        """(list of the pieces that the sink got, the call's return value)"""
        pieces = []
        sink = Sink(lambda _, data, n: pieces.append(ctypes.string_at(data, n)))
        return pieces, self.lib.vread_read_to(self.pointer, length, sink, None)

    def pread_to(self, length, offset):
        pieces = []
        sink = Sink(lambda _, data, n: pieces.append(ctypes.string_at(data, n)))
        return pieces, self.lib.vread_pread_to(self.pointer, length, offset, sink, None)

    def preadv(self, ranges):
        """ranges: (offset, length) pairs; returns (status, [bytes or errno])."""
        buffers = [ctypes.create_string_buffer(max(1, length)) for _, length in ranges]
        array = (Range * max(1, len(ranges)))()
        for item, (offset, length), buffer in zip(array, ranges, buffers, strict=False):
            item.offset, item.length = offset, length
            item.buf = ctypes.cast(buffer, c_void_p)
        status = self.lib.vread_preadv(self.pointer, array, len(ranges))
        results = [
            buffer.raw[: item.result] if item.result >= 0 else item.result
            for item, buffer in zip(array, buffers, strict=False)
        ]
        return status, results

    def submit(self, offset, length, cookie=0):
        check(self.lib.vread_submit(self.pointer, offset, length, cookie))


def data(completion):
    """The bytes of a completion, copied out of the slice."""
    return ctypes.string_at(completion.data, completion.result)
