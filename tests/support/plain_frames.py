# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of xen-backend/peer/wire/plain.h: a host that sends them, and somebody on the way.

frames = Frames(connection)                       # of tests/support/peer_wire.py, on the far side
frames.send(1, data)                              # a right frame; all that is sent is a DATA
bare = Frames(connection, BARE)                   # frames without a MAC
with Relay(address, change) as relay:             # relay.address is the host's, as its peer sees it
    ...                                           # relay.frames: those that passed

change(number, frame) -> bytes to pass on instead of frame `number` of the connection, or None to
pass it on as it is.
"""

import contextlib
import ctypes
import os
import select
import socket
import struct

from tests.support import peer_wire as wire
from tests.support.server import Server, shut_down

PLAIN = 2  # flag of READ and DATA
TRANSPORT, BARE = 4, 8  # transports of a HELLO: frames with a MAC, and without
MARK, HEAD, MAC = 0xD4, 4, 16
NO_MAC = 1  # the second byte of a frame
KEY, LABEL = 16, b"EXPERIMENTAL-vread-frame"
GET_TAG = 0x10  # EVP_CTRL_AEAD_GET_TAG
RECORD_HEADER = 5
AT_ONCE = 1 << 16
A_WHILE = 1 << 17


def exported_key(tls):
    """Python has no call for the exporter, but its object holds OpenSSL's."""
    library = ctypes.CDLL("libssl.so.3")
    connection = ctypes.c_void_p.from_address(id(tls._sslobj) + 24)
    key = ctypes.create_string_buffer(KEY)
    done = library.SSL_export_keying_material(
        connection, key, ctypes.c_size_t(KEY), LABEL, ctypes.c_size_t(len(LABEL)), None, 0, 0
    )
    assert done == 1
    return key.raw


def gmac(key, nonce, text):
    library = ctypes.CDLL("libcrypto.so.3")
    library.EVP_CIPHER_CTX_new.restype = library.EVP_aes_128_gcm.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.EVP_CIPHER_CTX_new())
    cipher = ctypes.c_void_p(library.EVP_aes_128_gcm())
    n, tag = ctypes.c_int(), ctypes.create_string_buffer(MAC)
    try:
        assert library.EVP_EncryptInit_ex(context, cipher, None, key, nonce) == 1
        assert library.EVP_EncryptUpdate(context, None, ctypes.byref(n), text, len(text)) == 1
        assert library.EVP_EncryptFinal_ex(context, tag, ctypes.byref(n)) == 1
        assert library.EVP_CIPHER_CTX_ctrl(context, GET_TAG, MAC, tag) == 1
    finally:
        library.EVP_CIPHER_CTX_free(context)
    return tag.raw


class Frames:
    def __init__(self, connection, transport=TRANSPORT):
        self.tls = connection.tls
        self.key = exported_key(self.tls)
        self.head = bytes([MARK, NO_MAC if transport == BARE else 0, 0, 0])
        self.sent = self.received = self.records = 0

    def frame(self, message, head=None):
        """The next frame, with that message.  head: its first bytes; a MAC follows as they say."""
        head = head or self.head
        nonce = struct.pack(">IQ", 0, self.sent)
        self.sent += 1
        mac = b"" if head[1] == NO_MAC else gmac(self.key, nonce, head + message)
        return head + message + mac

    def send(self, id_, data, flags=PLAIN, **keys):
        self.put(
            self.frame(wire.message(wire.DATA, id_, data, flags, **data_sum(data, flags, keys)))
        )

    def put(self, data):
        """Sends bytes beside TLS."""
        while data:
            select.select([], [self.tls], [], wire.PATIENCE)
            with contextlib.suppress(BlockingIOError):
                data = data[os.write(self.tls.fileno(), data) :]

    def is_right(self, number, frame):
        """True if the MAC of what was received as frame `number` is right."""
        return gmac(self.key, struct.pack(">IQ", 0, number), frame[:-MAC]) == frame[-MAC:]

    def units(self, count, between=lambda: None):
        """What the other side sends, as it is: records and frames, until `count` frames have
        come.  between: called whenever A_WHILE bytes have come."""
        self.between = between
        while count:
            unit = next_unit(self._receive)
            count -= unit[0] == MARK
            self.records += unit[0] != MARK
            yield unit

    def _receive(self, length):
        data = b""
        while len(data) < length:
            patience = self.tls.gettimeout()
            if not select.select([self.tls], [], [], patience)[0]:
                raise OSError(f"nothing came within {patience} s")
            piece = os.read(self.tls.fileno(), min(length - len(data), A_WHILE))
            if not piece:
                raise OSError("the other side has ended the connection")
            data += piece
            self.received += len(piece)
            if self.received >= A_WHILE:
                self.received = 0
                self.between()
        return data


def next_unit(receive):
    """The next record or frame; receive(length) returns that many bytes."""
    first = receive(1)
    if first[0] != MARK:
        head = first + receive(RECORD_HEADER - 1)
        return head + receive(int.from_bytes(head[3:], "big"))
    head = first + receive(HEAD - 1 + wire.HEADER.size)
    return head + receive(int.from_bytes(head[HEAD : HEAD + 4], "little") + mac_of(head))


def mac_of(frame):
    """How many bytes of MAC the frame has."""
    return 0 if frame[1] == NO_MAC else MAC


def body_of(frame):
    """The bytes of the DATA in a frame."""
    return frame[HEAD + wire.HEADER.size : len(frame) - mac_of(frame)]


def ask_for_new_keys(tls):
    """Sends a KeyUpdate of TLS that the other side must answer with one of its own."""
    library = ctypes.CDLL("libssl.so.3")
    connection = ctypes.c_void_p.from_address(id(tls._sslobj) + 24)
    assert library.SSL_key_update(connection, 1) == 1
    assert library.SSL_do_handshake(connection) == 1


def data_sum(data, flags, keys):
    last = not flags & wire.MORE
    return {"crc32c": wire.crc32c_of(data) if last else 0} | keys


class Relay(Server):
    """Passes on what two hosts send each other, on threads, until the end of the with."""

    def __init__(self, address, change=lambda number, frame: None, before=b""):
        """before: sent to who connects before anything of the host's."""
        super().__init__()
        host, port = address.rsplit(":", 1)
        self.target = host, int(port)
        self.change, self.before = change, before
        self.frames = []

    def _accepted(self, asker):
        try:
            host = socket.create_connection(self.target)
        except OSError:
            asker.close()
            return
        self.open += [asker, host]
        asker.sendall(self.before)
        self._run(self._guarded, self._up, asker, host)
        self._run(self._guarded, self._down, host, asker)

    def _guarded(self, run, source, target):
        with contextlib.suppress(OSError):
            run(source, target)
        for connection in (source, target):
            shut_down(connection)

    @staticmethod
    def _up(source, target):
        while data := source.recv(AT_ONCE):
            target.sendall(data)

    def _down(self, source, target):
        number = 0
        while True:
            unit = next_unit(lambda length: exactly(source, length))
            if unit[0] != MARK:
                target.sendall(unit)
                continue
            changed = self.change(number, unit)
            number += 1
            self.frames.append(unit)
            target.sendall(unit if changed is None else changed)


def exactly(source, length):
    data = b""
    while len(data) < length:
        piece = source.recv(length - len(data))
        if not piece:
            raise OSError("it ended")
        data += piece
    return data
