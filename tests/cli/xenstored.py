# SPDX-License-Identifier: GPL-2.0-or-later
"""A small xenstored in Python, for tests of programs that use libxenstore.

It speaks the wire protocol on a UNIX socket, the one that XENSTORED_PATH names.  All clients are
dom0, or the guest `domid`.  Nodes have permissions, which children inherit.  A transaction
conflicts with any change since its start.  There are watches.

    with Xenstored(path) as store:
        store.put("/local/domain/7", "")
        subprocess.run([...], env={"XENSTORED_PATH": path})
        store.nodes["/local/domain/7/device/vread/0/state"].value
"""

import contextlib
import copy
import os
import selectors
import socket
import struct
import threading
from dataclasses import dataclass

HEADER = struct.Struct("<IIII")  # type, request id, transaction, length
(
    DIRECTORY, READ, GET_PERMS, WATCH, UNWATCH, TRANSACTION_START, TRANSACTION_END,
    WRITE, MKDIR, RM, SET_PERMS, WATCH_EVENT, ERROR, IS_DOMAIN_INTRODUCED,
) = (1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 14, 15, 16, 17)  # fmt: skip


@dataclass
class Node:
    value: str
    perms: tuple  # "n0", "r7": owner first


class StoreError(Exception):
    pass


class Tree:
    def __init__(self):
        self.nodes = {"/": Node("", ("n0",))}

    def get(self, path):
        if path not in self.nodes:
            raise StoreError("ENOENT")
        return self.nodes[path]

    def make(self, path):
        if path not in self.nodes:
            parent = self.make(path.rpartition("/")[0] or "/")
            self.nodes[path] = Node("", parent.perms)
        return self.nodes[path]

    def children(self, path):
        self.get(path)
        prefix = path.rstrip("/") + "/"
        return [
            p[len(prefix) :]
            for p in self.nodes
            if p.startswith(prefix) and "/" not in p[len(prefix) :] and p != "/"
        ]

    def remove(self, path):
        if path not in self.nodes:
            if path.rpartition("/")[0] in self.nodes:
                return
            raise StoreError("ENOENT")
        for p in [p for p in self.nodes if p == path or p.startswith(path + "/")]:
            del self.nodes[p]


class Client:
    def __init__(self, sock):
        self.sock = sock
        self.received = b""
        self.watches = []  # (path, token)
        self.transactions = {}  # id: (tree, generation at its start, [paths changed])


class Xenstored:
    """The store.  put(), remove(), value() and nodes may be used at any time."""

    def __init__(self, path):
        self.path = str(path)
        self.lock = threading.RLock()  # protects all members below
        self.tree = Tree()
        self.generation = 0
        self.conflicts = 0  # how many of the next commits fail, as after another change
        self.refusal = None  # (n, error): the n-th change from now fails, as for a quota
        self.refuses = None  # called with (kind, words) of a request; an error's name fails it
        self.domid = 0  # relative paths are below this domain's directory
        self.on_transaction = None  # called with the store before each transaction of a client
        self.on_change = None  # called with (store, path) after each change of a client
        self.clients = {}
        self.next_transaction = 1
        self.selector = selectors.DefaultSelector()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.stop_read, self.stop_write = os.pipe()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.write(self.stop_write, b"x")
        self.thread.join(10)
        for client in self.clients.values():
            client.sock.close()
        self.listener.close()
        os.unlink(self.path)
        os.close(self.stop_read)
        os.close(self.stop_write)

    @property
    def nodes(self):
        """A copy of the nodes, which clients do not change."""
        with self.lock:
            return copy.deepcopy(self.tree.nodes)

    def value(self, path):
        with self.lock:
            node = self.tree.nodes.get(path)
            return node.value if node else None

    def put(self, path, value, perms=None):
        """Writes as dom0 would; fires watches."""
        with self.lock:
            node = self.tree.make(path)
            node.value = value
            if perms:
                node.perms = perms
            self.changed([path])

    def remove(self, path):
        with self.lock:
            self.tree.remove(path)
            self.changed([path])

    def fire_special(self, name):
        """Fires the watches of @releaseDomain or @introduceDomain."""
        with self.lock:
            self.changed([name])

    def hang_up(self):
        """Ends all connections, as if xenstored had ended."""
        with self.lock:
            for client in self.clients.values():
                client.sock.shutdown(socket.SHUT_RDWR)

    # ---- the event loop

    def run(self):
        self.selector.register(self.stop_read, selectors.EVENT_READ)
        self.selector.register(self.listener, selectors.EVENT_READ)
        while True:
            for key, _ in self.selector.select():
                if key.fileobj == self.stop_read:
                    return
                with self.lock:
                    self.serve(key.fileobj)

    def serve(self, readable):
        if readable is self.listener:
            sock, _ = self.listener.accept()
            self.clients[sock] = Client(sock)
            self.selector.register(sock, selectors.EVENT_READ)
        else:
            self.receive(self.clients[readable])

    def receive(self, client):
        data = b""
        with contextlib.suppress(ConnectionResetError):  # the client ended with events unread
            data = client.sock.recv(65536)
        if not data:
            self.selector.unregister(client.sock)
            del self.clients[client.sock]
            client.sock.close()
            return
        client.received += data
        while len(client.received) >= HEADER.size:
            kind, request, transaction, length = HEADER.unpack_from(client.received)
            end = HEADER.size + length
            if len(client.received) < end:
                return
            payload = client.received[HEADER.size : end]
            client.received = client.received[end:]
            self.answer(client, kind, request, transaction, payload)

    def answer(self, client, kind, request, transaction, payload):
        try:
            reply = self.execute(client, kind, transaction, payload)
        except StoreError as error:
            kind, reply = ERROR, str(error).encode() + b"\0"
        self.send(client, HEADER.pack(kind, request, transaction, len(reply)) + reply)
        if kind == WATCH:
            self.fire(client, *client.watches[-1])

    def fire(self, client, path, token):
        event = f"{path}\0{token}\0".encode()
        self.send(client, HEADER.pack(WATCH_EVENT, 0, 0, len(event)) + event)

    @staticmethod
    def send(client, data):
        """Ignores that the client has ended; receive() handles that."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            client.sock.sendall(data)

    def changed(self, paths):
        self.generation += 1
        for client in self.clients.values():
            for watched, token in client.watches:
                for path in paths:
                    if path == watched or path.startswith(watched + "/"):
                        self.fire(client, path, token)

    # ---- requests

    def execute(self, client, kind, transaction, payload):
        error = self.refuses and self.refuses(kind, payload.decode().split("\0"))
        if error:
            raise StoreError(error)
        if kind == TRANSACTION_START:
            return self.start(client)
        if kind == TRANSACTION_END:
            return self.end(client, transaction, payload)
        tree, _, paths = client.transactions.get(transaction, (self.tree, 0, None))
        words = payload.decode().split("\0")
        path = words[0]
        if not path.startswith(("/", "@")) and kind != IS_DOMAIN_INTRODUCED:
            path = f"/local/domain/{self.domid}/{path}"
        if kind == READ:
            return tree.get(path).value.encode()
        if kind == DIRECTORY:
            return "".join(name + "\0" for name in tree.children(path)).encode()
        if kind == GET_PERMS:
            return "".join(perm + "\0" for perm in tree.get(path).perms).encode()
        if kind == IS_DOMAIN_INTRODUCED:
            return b"T\0" if f"/local/domain/{path}" in self.tree.nodes else b"F\0"
        if kind == WATCH:
            client.watches.append((path, words[1]))
            return b"OK\0"
        if kind == UNWATCH:
            client.watches.remove((path, words[1]))
            return b"OK\0"
        if self.refusal:
            left, error = self.refusal
            self.refusal = (left - 1, error) if left > 1 else None
            if not self.refusal:
                raise StoreError(error)
        if kind == WRITE:
            tree.make(path).value = payload.decode().partition("\0")[2]
        elif kind == MKDIR:
            tree.make(path)
        elif kind == RM:
            tree.remove(path)
        elif kind == SET_PERMS:
            tree.get(path).perms = tuple(word for word in words[1:] if word)
        else:
            raise StoreError("ENOSYS")
        if paths is None:
            self.committed([path])
        else:
            paths.append(path)
        return b"OK\0"

    def start(self, client):
        if self.on_transaction:
            self.on_transaction(self)
        number = self.next_transaction
        self.next_transaction += 1
        client.transactions[number] = (copy.deepcopy(self.tree), self.generation, [])
        return f"{number}\0".encode()

    def end(self, client, transaction, payload):
        tree, generation, paths = client.transactions.pop(transaction)
        if payload == b"F\0":
            return b"OK\0"
        if self.conflicts:
            self.conflicts -= 1
            raise StoreError("EAGAIN")
        if generation != self.generation and paths:
            raise StoreError("EAGAIN")
        self.tree = tree
        if paths:
            self.committed(paths)
        return b"OK\0"

    def committed(self, paths):
        self.changed(paths)
        if self.on_change:
            for path in paths:
                self.on_change(self, path)
