# SPDX-License-Identifier: GPL-2.0-or-later
"""The one error of this package: says which daemon or command, and what it printed."""


class HdfsError(RuntimeError):
    pass
