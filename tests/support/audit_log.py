# SPDX-License-Identifier: GPL-2.0-or-later
"""The audit log of a NameNode: who asked for which file.

audit = AuditLog(bed.hdfs)
...
assert {access.user for access in audit.new("/private/")} == {"alice (auth:SIMPLE)"}

A NameNode writes the line before it answers the call, so a test finds all calls that have ended.
"""

import re
from dataclasses import dataclass

LINE = re.compile(
    r"audit: allowed=(?P<allowed>\w+)\tugi=(?P<user>[^\t]*)\tip=\S+\tcmd=(?P<command>[^\t]*)\t"
    r"src=(?P<path>[^\t]*)\t"
)
LOCATIONS = "open"  # the log's word for getBlockLocations


@dataclass(frozen=True)
class Access:
    allowed: bool
    user: str
    command: str
    path: str


class AuditLog:
    """What the NameNodes of a cluster log from now on."""

    def __init__(self, cluster):
        self._start = {log: log.stat().st_size for log in cluster.namenode_logs}

    def new(self, path):
        """The accesses to files whose names begin with the path, in order."""
        found = []
        for log, start in self._start.items():
            with open(log, "rb") as lines:
                lines.seek(start)
                text = lines.read().decode(errors="replace")
            for match in LINE.finditer(text):
                access = Access(
                    match["allowed"] == "true", match["user"], match["command"], match["path"]
                )
                if access.path.startswith(path):
                    found.append(access)
        return found

    def locations(self, path):
        """The calls of getBlockLocations among new()."""
        return [access for access in self.new(path) if access.command == LOCATIONS]
