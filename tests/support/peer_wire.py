# SPDX-License-Identifier: GPL-2.0-or-later
"""The messages of xen-backend/peer/wire/message.h, for peers that break the protocol.

with FakePeer(files, ca, behave) as fake:  # a host that answers: calls behave(fake, connection)
    Asker(..., peer("b", address=fake.address, ...))
with connect(address, files, ca) as connection:  # a host that asks
    connection.send(OPEN, 1, open_body(...))
"""

import contextlib
import socket
import ssl
import struct
import threading

from tests.support.hdfs_dir import crc32c_of
from tests.support.server import Server

HELLO, STORAGES, OPEN, OPENED, READ, DATA, STAT, STATED, CLOSE, FAILED, CANCEL = range(1, 12)
MORE = 1
MAGIC = 0x64526576
HEADER = struct.Struct("<IHHQI")
PATIENCE = 60  # s to wait for data, however busy the machine is


def hello_body(version=1, transports=1, credits=0, magic=MAGIC):
    return struct.pack("<IHHII", magic, version, transports, credits, 0)


def name(text):
    data = text.encode()
    return bytes([len(data)]) + data


def open_body(pool, block_id, genstamp, storages, visible=0, token=b""):
    names = b"".join(map(name, (pool, *storages)))
    head = struct.pack("<qQQB", block_id, genstamp, visible, len(storages))
    return head + names + struct.pack("<H", len(token)) + token


def opened_body(length, genstamp, handle=7, flags=1):
    return struct.pack("<IIQQ", handle, flags, length, genstamp)


def message(kind, id_, body=b"", flags=0, length=None, crc32c=None):
    """crc32c: by default right for a DATA that is a whole answer, else 0."""
    if crc32c is None:
        crc32c = crc32c_of(body) if kind == DATA and not flags else 0
    return HEADER.pack(len(body) if length is None else length, kind, flags, id_, crc32c) + body


class Connection:
    def __init__(self, tls):
        self.tls = tls

    def send(self, *arguments, **keys):
        """Sends the message of message()."""
        self.tls.sendall(message(*arguments, **keys))

    def receive(self):
        """Returns (type, flags, id, body).  None: the connection has ended.  The last message's
        CRC32C is in self.crc32c."""
        header = self.exactly(HEADER.size)
        if header is None:
            return None
        length, kind, flags, id_, self.crc32c = HEADER.unpack(header)
        return kind, flags, id_, self.exactly(length)

    def exactly(self, length):
        data = b""
        while len(data) < length:
            try:
                piece = self.tls.recv(length - len(data))
            except TimeoutError:
                raise  # silence is no end
            except (OSError, ssl.SSLError):
                return None
            if not piece:
                return None
            data += piece
        return data

    def until(self, *kinds):
        while message := self.receive():
            if message[0] in kinds:
                return message
        return None

    def ended(self):
        """Reads until the other side closes the connection.  Returns True."""
        while self.receive():
            pass
        return True


def context(server, files, ca, version=ssl.TLSVersion.TLSv1_3):
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    c.check_hostname = False
    c.verify_mode = ssl.CERT_REQUIRED
    c.load_verify_locations(ca)
    if files:
        c.load_cert_chain(*files)
    c.minimum_version = c.maximum_version = version
    return c


@contextlib.contextmanager
def connect(address, files, ca, hello=True, source=None, patience=PATIENCE, **arguments):
    """A connection to a vreadd, by default after both said hello.  source: the IP it comes from.
    patience: s to wait for data."""
    own = context(False, files, ca, **arguments)  # reads files: before the host waits for hello
    host, port = address.rsplit(":", 1)
    source = (source, 0) if source else None
    plain = socket.create_connection((host, int(port)), patience, source)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as vreadd does
    with plain, own.wrap_socket(plain) as tls:
        connection = Connection(tls)
        if hello:
            connection.send(HELLO, 0, hello_body())
            connection.hello = connection.until(HELLO)
            assert connection.hello
        yield connection


class FakePeer(Server):
    """Accepts connections and calls behave() for each, on a thread, until the end of the with."""

    def __init__(self, files, ca, behave, plain=False, **arguments):
        super().__init__()
        self.context = context(True, files, ca, **arguments)
        self.behave = behave
        self.plain = plain
        self.ended = threading.Event()
        self.connections = 0

    def __exit__(self, *_):
        self.ended.set()
        super().__exit__()

    def _accepted(self, connection):
        self.connections += 1
        self.open.append(connection.dup())
        self._run(self._serve, connection)

    def _serve(self, connection):
        connection.settimeout(PATIENCE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, contextlib.suppress(OSError):
            if self.plain:
                self.behave(self, connection)
            else:
                with self.context.wrap_socket(connection, server_side=True) as tls:
                    self.behave(self, Connection(tls))


def greet(connection, credits=32):
    connection.until(HELLO)
    connection.send(HELLO, 0, hello_body(credits=credits))
