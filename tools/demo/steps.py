# SPDX-License-Identifier: GPL-2.0-or-later
"""What the demos have in common: writing a file with `hdfs dfs`, reading it back with `hdfs dfs
-cat` and judging which way the bytes came."""

import json
import time
from dataclasses import dataclass

from tools.lab import hadoop

SOURCE_DISK = "phy:/dev/vdc,xvdk,r"  # the host's third
STATISTICS_FILE = "/run/vread-statistics.json"
WRITE_TIMEOUT = READ_TIMEOUT = 600.0


class DemoError(RuntimeError):
    pass


def put(hdfs, file, mib, *, skip_mib=0, verb="-put"):
    """Writes that part of the client's source disk, by -put or -appendToFile."""
    part = f"dd if=/dev/xvdk bs=1M skip={skip_mib} count={mib}"
    command = f"set -o pipefail; {part} | {hdfs.dfs(f'{verb} - {file}')}"
    hdfs.client.run(command, WRITE_TIMEOUT).check()


@dataclass(frozen=True)
class Reading:
    """A whole file read once by `hdfs dfs -cat`."""

    name: str
    seconds: float  # the JVM's start among them
    sha256: str
    vread_bytes: int  # as the client's plug-in counts
    served: dict[str, int]  # as DataNodes count what they serve, checksums included
    reasons: dict[str, int]  # of blocks for which vRead was not used

    @property
    def tcp_bytes(self) -> int:
        return sum(self.served.values())


def cat(hdfs, name, file, properties, source):
    """A Reading; fails unless the bytes are those of the source."""
    hdfs.client.run(["rm", "-f", STATISTICS_FILE]).check()
    command = hdfs.dfs(f"-cat {file}", properties | {hadoop.STATISTICS: STATISTICS_FILE})
    before = hdfs.served_by_datanodes()
    started = time.monotonic()
    digest = hdfs.client.text(f"set -o pipefail; {command} | sha256sum", READ_TIMEOUT).split()[0]
    seconds = time.monotonic() - started
    if digest != source.sha256:
        raise DemoError(f"{name}, {file}: SHA-256 {digest}; the file's is {source.sha256}")
    kept = hdfs.client.run(["cat", STATISTICS_FILE])
    statistics = json.loads(kept.stdout) if kept.rc == 0 else {}
    return Reading(
        name=name,
        seconds=seconds,
        sha256=digest,
        vread_bytes=statistics.get("vread", {}).get("bytes", 0),
        served={dn: now - before[dn] for dn, now in hdfs.served_by_datanodes().items()},
        reasons=statistics.get("fallback", {}).get("reasons", {}),
    )


def check_all_by_vread(reading, source):
    """The client's and the DataNodes' counts must agree on which way the bytes came."""
    if reading.vread_bytes != source.size or reading.tcp_bytes:
        raise DemoError(
            f"{reading.name}: {reading.vread_bytes} of {source.size} bytes came through vRead, and"
            f" the DataNodes served {reading.served}; reasons: {reading.reasons}"
        )
