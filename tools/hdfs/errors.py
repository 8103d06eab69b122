# SPDX-License-Identifier: GPL-2.0-or-later
"""The error that this package raises.  It names the daemon or command and has its output."""


class HdfsError(RuntimeError):
    pass
