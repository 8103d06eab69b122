# SPDX-License-Identifier: GPL-2.0-or-later
"""Steps of all demos: write a file with `hdfs dfs`, read it back with `hdfs dfs -cat`, and check
which way the bytes came.

`shell` is `hdfs dfs` in a JVM that stays up (tools/lab/java_program.py): on an emulated machine the
start of Java takes longer than all that the demos show.
"""

import json
import time
from dataclasses import dataclass

from tools.lab import hadoop
from tools.patience import Patience

PART = "/run/part"
LAG = 60.0  # s: the plug-in writes its statistics every second
PAUSE = 0.5
NOTHING = {"vread": {"bytes": 0}, "hdfs": {"bytes": 0}, "fallback": {"reasons": {}}}


class DemoError(RuntimeError):
    pass


def run(shell, arguments, properties=None):
    """The shell's answer to one command, which must succeed."""
    answer = shell.run(arguments, properties)
    if answer["status"]:
        raise DemoError(f"hdfs dfs {arguments}: {shell.complaints}")
    return answer


def put(hdfs, shell, file, mib, *, skip_mib=0, verb="-put"):
    """Writes a part of the client's source disk to a file, by -put or -appendToFile."""
    part = f"dd if=/dev/xvdk of={PART} bs=1M skip={skip_mib} count={mib}"
    hdfs.client.run(part).check()
    run(shell, f"{verb} {PART} {file}")
    hdfs.client.run(["rm", PART]).check()


@dataclass(frozen=True)
class Reading:
    """A whole file read once by `hdfs dfs -cat`."""

    name: str
    seconds: float
    sha256: str
    vread_bytes: int  # as the client's plug-in counts
    served: dict[str, int]  # as DataNodes count what they serve, checksums included
    reasons: dict[str, int]  # of blocks for which vRead was not used

    @property
    def tcp_bytes(self) -> int:
        return sum(self.served.values())


def cat(hdfs, shell, name, file, properties, source):
    """Reads the file; returns a Reading.  Fails unless the bytes are those of the source."""
    statistics = f"/run/statistics-{shell.number}.json"  # of this JVM
    before, served = _statistics(hdfs, statistics), hdfs.served_by_datanodes()
    started = time.monotonic()
    answer = run(shell, f"-cat {file}", properties | {hadoop.STATISTICS: statistics})
    seconds = time.monotonic() - started
    if answer["sha256"] != source.sha256:
        raise DemoError(f"{name}, {file}: SHA-256 {answer['sha256']}; the file's {source.sha256}")
    after = _caught_up(hdfs, statistics, answer["read"]) if properties else before
    return Reading(
        name=name,
        seconds=seconds,
        sha256=answer["sha256"],
        vread_bytes=after["vread"]["bytes"] - before["vread"]["bytes"],
        served={dn: now - served[dn] for dn, now in hdfs.served_by_datanodes().items()},
        reasons={
            reason: count - before["fallback"]["reasons"].get(reason, 0)
            for reason, count in after["fallback"]["reasons"].items()
            if count > before["fallback"]["reasons"].get(reason, 0)
        },
    )


def _statistics(hdfs, path):
    """The plug-in's statistics as last written; NOTHING if there are none."""
    kept = hdfs.client.run(["cat", path])
    return json.loads(kept.stdout) if kept.rc == 0 else NOTHING


def _caught_up(hdfs, path, read):
    """Waits until the plug-in's statistics include `read` bytes of HDFS; returns them."""
    patience = Patience(LAG)
    while (found := _statistics(hdfs, path))["hdfs"]["bytes"] != read:
        if patience.is_over():
            raise DemoError(f"{path} does not get to {read} bytes: {found}")
        time.sleep(PAUSE)
    return found


def check_all_by_vread(reading, source):
    """Fails unless all bytes came through vRead, by the client's and the DataNodes' counts."""
    if reading.vread_bytes != source.size or reading.tcp_bytes:
        raise DemoError(
            f"{reading.name}: {reading.vread_bytes} of {source.size} bytes came through vRead, and"
            f" the DataNodes served {reading.served}; reasons: {reading.reasons}"
        )
