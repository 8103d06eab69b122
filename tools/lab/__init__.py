# SPDX-License-Identifier: GPL-2.0-or-later
"""Emulated Xen hosts out of Debian packages; README.md says how to use them."""

from .channel import (
    ChannelClosed,
    Command,
    CommandFailed,
    CommandStuck,
    CommandTimeout,
    Result,
)
from .guest import Guest, GuestStuck
from .host import HostStuck, XenHost
from .kernel_log import KernelComplaint
from .paths import LabError
from .qemu import Disk, Wire

__all__ = [
    "ChannelClosed",
    "Command",
    "CommandFailed",
    "CommandStuck",
    "CommandTimeout",
    "Disk",
    "Guest",
    "GuestStuck",
    "HostStuck",
    "KernelComplaint",
    "LabError",
    "Result",
    "Wire",
    "XenHost",
]
