# SPDX-License-Identifier: GPL-2.0-or-later
"""What the demo prints: progress with the time since its start, then a short table."""

import sys
import time
from dataclasses import dataclass

MIB = 1 << 20
GIB = 1 << 30


class Progress:
    """Lines such as "[ 12.3 s] booting Xen"."""

    def __init__(self, stream=None) -> None:
        self._started, self._stream = time.monotonic(), stream or sys.stderr

    def __call__(self, text: str) -> None:
        elapsed = time.monotonic() - self._started
        print(f"[{elapsed:6.1f} s] {text}", file=self._stream, flush=True)


@dataclass(frozen=True)
class Measurement:
    """The whole file read once, one way."""

    name: str
    bytes: int
    seconds: float
    sha256: str
    cpu: dict[str, float]  # domain -> CPU seconds it spent meanwhile

    @property
    def rate(self) -> float:
        return self.bytes / self.seconds / 1e6

    @property
    def cpu_total(self) -> float:
        return sum(self.cpu.values())

    @property
    def cpu_per_gib(self) -> float:
        return self.cpu_total / (self.bytes / GIB)


def _cpu_by_domain(measurement: Measurement) -> str:
    spent = sorted(measurement.cpu.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {seconds:.1f}" for name, seconds in spent if seconds >= 0.05)


def table(vread: Measurement, vanilla: Measurement, blocks: int, states: str) -> str:
    rows = [
        ("", "vRead", "vanilla"),
        ("blocks", str(blocks), str(blocks)),
        ("MiB", f"{vread.bytes / MIB:.0f}", f"{vanilla.bytes / MIB:.0f}"),
        ("sha256", vread.sha256[:12] + "...", vanilla.sha256[:12] + "..."),
        ("seconds", f"{vread.seconds:.2f}", f"{vanilla.seconds:.2f}"),
        ("MB/s", f"{vread.rate:.1f}", f"{vanilla.rate:.1f}"),
        ("CPU s, all domains", f"{vread.cpu_total:.2f}", f"{vanilla.cpu_total:.2f}"),
        ("CPU s/GiB", f"{vread.cpu_per_gib:.1f}", f"{vanilla.cpu_per_gib:.1f}"),
    ]
    lines = [f"  {name:<20}{left:>18}{right:>18}" for name, left, right in rows]
    lines += [
        "",
        f"  CPU by domain, vRead:   {_cpu_by_domain(vread)}",
        f"  CPU by domain, vanilla: {_cpu_by_domain(vanilla)}",
        f"  xenstore states, vRead: {states}",
        f"  vRead / vanilla: {vread.rate / vanilla.rate:.1f}x the throughput,"
        f" {vread.cpu_total / vanilla.cpu_total:.2f}x the CPU seconds",
        "  (Emulated processors: ratios carry over to real ones better than rates do.)",
    ]
    return "\n".join(lines)
