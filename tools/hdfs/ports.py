# SPDX-License-Identifier: GPL-2.0-or-later
"""Ports of loopback for daemons that cannot choose one by themselves: Hadoop's and a KDC."""

import itertools
import random
import socket
from pathlib import Path

FIRST_PORT = 10000
LOCAL_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_ports(count):
    """Free ports below the kernel's range of local ports.  A port of that range may be taken by any
    connection of another process at any time."""
    first_of_kernel = int(LOCAL_PORTS.read_text().split()[0])
    candidates = random.sample(range(FIRST_PORT, first_of_kernel), first_of_kernel - FIRST_PORT)
    return list(itertools.islice(filter(_is_free, candidates), count))


def _is_free(port):
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as daemons do
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
