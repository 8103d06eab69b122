# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads from docs/kvm.md what an operator is to write, for tests with guests of their own.

documented("-chardev", socket)          the block that begins so, without its indentation
documented("<shmem", socket, blocks=2)  both blocks that begin so
"""

import re
import textwrap

from tools.vreadd import REPOSITORY

SOCKET = "/run/vread-ivshmem/client1.sock"
VECTORS = "ls /sys/bus/pci/drivers/vread-ivshmem/0000:*/msi_irqs | wc -l"  # in the guest
TEXT = (REPOSITORY / "docs/kvm.md").read_text()
# What QEMU answers.
SAVE_REFUSED = re.search("Migration is disabled when .*", TEXT)[0]
MASTER_REFUSED = re.search("`(master must connect [^`]*)`", TEXT)[1]


def documented(start, socket=SOCKET, blocks=1):
    found = [textwrap.dedent(m[0]) for m in re.finditer(r"(?m)(?:^ {4,}.*\n)+", TEXT)]
    found = [block.replace(SOCKET, str(socket)) for block in found if block.startswith(start)]
    assert len(found) == blocks, f"docs/kvm.md has {len(found)} blocks that begin with {start}"
    return found[0] if blocks == 1 else found
