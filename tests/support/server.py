# SPDX-License-Identifier: GPL-2.0-or-later
"""A TCP server of a test, on loopback, on threads.

    class Echo(Server):
        def _accepted(self, connection):       # on the accepting thread
            self._run(self._echo, connection)  # on a thread of its own

    with Echo() as echo:
        socket.create_connection(...echo.address)

At the end of the with all connections in `open` are shut down, and all threads have ended.
"""

import contextlib
import socket
import threading


class Server:
    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.open = []
        self._threads = []
        self._accepting = threading.Thread(target=self._accept)

    def __enter__(self):
        self._accepting.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()  # before its descriptor's number belongs to another socket
        self.listener.close()
        for connection in self.open:
            shut_down(connection)
        for thread in self._threads:
            thread.join()
        for connection in self.open:
            connection.close()

    def _run(self, function, *arguments):
        self._threads.append(threading.Thread(target=function, args=arguments))
        self._threads[-1].start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self._accepted(connection)


def shut_down(connection):
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
