# SPDX-License-Identifier: GPL-2.0-or-later
"""What the demos print: progress with the time since the start, then a short table."""

import sys
import time
from dataclasses import dataclass

from tools.demo.steps import Reading

GIB = 1 << 30


class Progress:
    """Lines such as "[ 12.3 s] booting Xen"."""

    def __init__(self, stream=None) -> None:
        self._started, self._stream = time.monotonic(), stream or sys.stderr

    def __call__(self, text: str) -> None:
        elapsed = time.monotonic() - self._started
        print(f"[{elapsed:6.1f} s] {text}", file=self._stream, flush=True)


@dataclass(frozen=True)
class Streaming:
    """The whole file read once by a JVM that was up and had read it before."""

    bytes: int
    seconds: float
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


def _cpu_by_domain(streaming: Streaming) -> str:
    spent = sorted(streaming.cpu.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {seconds:.1f}" for name, seconds in spent if seconds >= 0.05)


def _reasons(reading: Reading) -> str:
    return ", ".join(f"{name} {count}" for name, count in reading.reasons.items()) or "none"


def rows_of_text(rows: list[tuple[str, ...]]) -> list[str]:
    """A line for each row: its title, and its values beside each other."""
    return [
        f"  {title:<28}{''.join(f'{v:>17}' for v in values)}".rstrip() for title, *values in rows
    ]


def table(
    stock: Reading, vread: Reading, streaming: list[Streaming], blocks: int, states: str
) -> str:
    """The table of a demo on one host; streaming: stock's, then vRead's."""
    tcp, fast = streaming
    rows = [
        ("", "stock", "vRead"),
        ("blocks", str(blocks), str(blocks)),
        ("hdfs dfs -cat, digested:", "", ""),
        ("  sha256", stock.sha256[:12] + "...", vread.sha256[:12] + "..."),
        ("  bytes through vRead", str(stock.vread_bytes), str(vread.vread_bytes)),
        ("  bytes by DataNode", str(stock.tcp_bytes), str(vread.tcp_bytes)),
        ("  s", f"{stock.seconds:.1f}", f"{vread.seconds:.1f}"),
        ("reading alone:", "", ""),
        ("  MB/s", f"{tcp.rate:.1f}", f"{fast.rate:.1f}"),
        ("  CPU s, whole host", f"{tcp.cpu_total:.2f}", f"{fast.cpu_total:.2f}"),
        ("  CPU s/GiB", f"{tcp.cpu_per_gib:.1f}", f"{fast.cpu_per_gib:.1f}"),
    ]
    lines = rows_of_text(rows)
    lines += [
        "",
        f"  CPU by domain, stock: {_cpu_by_domain(tcp)}",
        f"  CPU by domain, vRead: {_cpu_by_domain(fast)}",
        f"  reasons for not using vRead, when it was on: {_reasons(vread)}",
        f"  {states}",
        f"  vRead / stock: {fast.rate / tcp.rate:.1f}x the throughput,"
        f" {fast.cpu_total / tcp.cpu_total:.2f}x the CPU seconds",
        "  (Emulated processors: ratios carry over to real ones better than rates do.)",
    ]
    return "\n".join(lines)
