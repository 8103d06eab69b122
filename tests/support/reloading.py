# SPDX-License-Identifier: GPL-2.0-or-later
"""A vreadd that reloads its configuration, and a reader that reads during the reload.

reader = Reader(front, image)
changed(daemon, "[datanode dn2]: added")       # the output of `xl-vread reload`
assert reader.has_gone_on(daemon)
assert reader.stop() is None
"""

import json
import threading

from tests.support.daemon import open_block

PIECE = 1 << 20


def reload(daemon):
    return json.loads(daemon.ask(b'{"command": "reload"}\n'))


def changed(daemon, *expected, restart=(), failed=()):
    assert reload(daemon) == {
        "result": "applied",
        "changes": list(expected),
        "failed": list(failed),
        "restart": list(restart),
    }


class Reader(threading.Thread):
    """Reads one handle from front to back, again and again, until stop() or the first error."""

    def __init__(self, front, image):
        super().__init__()
        self.front, self.block = front, image.blocks[0]
        self.handle, self.content = open_block(front, self.block), image.contents[self.block.id]
        self.end, self.rounds, self.error = threading.Event(), 0, None
        self.start()

    def run(self):
        while not self.end.is_set() and self.error is None:
            for at in range(0, self.block.length, PIECE):
                wanted = min(PIECE, self.block.length - at)
                response = self.front.read_response(self.handle, at, wanted)
                if response.status != wanted:
                    self.error = response.status
                    return
                assert self.front.pool[:wanted] == self.content[at : at + wanted]
            self.rounds += 1

    def has_gone_on(self, daemon, rounds=2):
        until = self.rounds + rounds
        daemon.wait_until(lambda: self.rounds >= until or not self.is_alive(), 120)
        return self.is_alive()

    def stop(self):
        self.end.set()
        self.join(60)
        return self.error
