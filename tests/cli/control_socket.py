# SPDX-License-Identifier: GPL-2.0-or-later
"""A control socket without a vreadd, for tests of programs that ask vreadd.

with ControlSocket(path, b"{}\\n") as control:
    subprocess.run(["xl-vread", "status", "--socket", path])
    assert control.requests == [b'{"command":"status"}\\n']
"""

import contextlib
import socket
import threading


class ControlSocket:
    """Answers each request with the next answer, then always with the last."""

    def __init__(self, path, *answers):
        self.answers = answers
        self.requests = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the thread before the descriptor is closed.  The kernel may restart a thread's
        accept(), as after SIGSTOP, and another socket may have the descriptor's number by then."""
        if self.thread.is_alive():
            self.listener.shutdown(socket.SHUT_RDWR)
            self.thread.join()
        self.listener.close()

    def _run(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                with connection:
                    self.requests.append(connection.recv(4096))
                    number = min(len(self.requests), len(self.answers))
                    connection.sendall(self.answers[number - 1])
