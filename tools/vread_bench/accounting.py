# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads CPU time and other counters on the hosts of a target.

`targets` makes a Counter of each item of the targets file:

    {host, pid-file: PATH}       a process, by the number in the file
    {host, pid: NUMBER}
    {host, processes: REGEX}     all processes and kernel threads of such a name, as
                                 `vhost-[0-9]+` or `vif.*-guest-rx`
    {host, cgroup: PATH}         below /sys/fs/cgroup
    {host, unit: NAME.service}   a service of systemd, in system.slice
    {host, domain: NAME}         a domain of Xen, by xl
    {host, libvirt: NAME}        a domain of libvirt, by virsh
    {host, command: LINE}        a command that prints a number, which only grows

`session` calls read() before and after a round; grown() is the difference.  A part without counters
has no amount: null in results, never 0.  A counter that is asked for and cannot be read is an
error.
"""

import re
import shlex
from dataclasses import dataclass

from .errors import BenchError
from .hosts import Host

STAT = re.compile(r"^(\d+) \((.*)\) \S+ (.*)$")
# Fields of /proc/PID/stat after the state.
UTIME, STIME, STARTED = 10, 11, 18


@dataclass(frozen=True)
class Counter:
    host: Host
    kind: str
    what: str

    def read(self):
        """{id: amount}.  CPU time is in seconds."""
        line, parse = KINDS[self.kind]
        text = self.host.run(line(self.what)).decode(errors="replace")
        try:
            return parse(text, self.what)
        except (ValueError, IndexError, TypeError) as error:
            raise BenchError(
                f"{self.host.name}: {self.kind} {self.what}: no counter in {text[:200]!r}"
            ) from error


def counter(section, host):
    """The Counter of an item of the targets file whose `host` is known."""
    kinds = [name for name in section.names() if name in KINDS]
    if len(kinds) != 1:
        section.fail("", f"expected one of {', '.join(KINDS)}")
    what = section.text(kinds[0])
    if kinds[0] == "processes":
        try:
            re.compile(what)
        except re.error as error:
            section.fail("processes", f"{what!r}: no regular expression: {error}")
    section.done()
    return Counter(host, kinds[0], what)


def read(counters):
    """{name: {id: amount}} of {name: [Counter]}."""
    found = {}
    for name, several in counters.items():
        found[name] = {}
        for index, one in enumerate(several):
            found[name] |= {(index, key): amount for key, amount in one.read().items()}
    return found


def grown(before, after):
    """{name: how much it grew}.  What is new counts whole, and what is gone counts no more."""
    return {
        name: sum(max(0, now - before[name].get(key, 0)) for key, now in after[name].items())
        for name in after
    }


def stat_seconds(text, name=None):
    """{process: CPU seconds} in the output of `getconf CLK_TCK; cat /proc/*/stat`.  A process is
    its id with its start time, so that a reused id is another process."""
    ticks, *lines = text.splitlines()
    found = {}
    for line in lines:
        match = STAT.match(line)
        if not match:
            raise ValueError(line)
        pid, comm, rest = match.groups()
        fields = rest.split()
        if name is None or re.fullmatch(name, comm):
            seconds = (int(fields[UTIME]) + int(fields[STIME])) / int(ticks)
            found[f"{pid}@{fields[STARTED]}"] = seconds
    return found


def _one_stat(text, what):
    found = stat_seconds(text)
    if len(found) != 1:
        raise ValueError(text)
    return found


def _usage(text, what):
    return {what: int(re.search(r"^usage_usec (\d+)$", text, re.M)[1]) / 1e6}


def _xl(text, what):
    """`xl list NAME`: two lines, the last word is the time."""
    head, line = text.strip().splitlines()
    if not head.startswith("Name") or line.split()[0] != what:
        raise ValueError(text)
    return {what: float(line.split()[-1])}


def _virsh(text, what):
    return {what: int(re.search(r"^\s*cpu\.time=(\d+)$", text, re.M)[1]) / 1e9}


def _number(text, what):
    return {what: float(text)}


TICKS = "getconf CLK_TCK && "
KINDS = {
    "pid-file": (
        lambda path: TICKS + f'cat "/proc/$(cat {shlex.quote(path)})/stat"',
        _one_stat,
    ),
    "pid": (lambda pid: TICKS + f"cat {shlex.quote(f'/proc/{pid}/stat')}", _one_stat),
    # Processes end while their files are read.
    "processes": (
        lambda _: TICKS + "{ cat /proc/[0-9]*/stat 2>/dev/null; true; }",
        lambda text, name: stat_seconds(text, name),
    ),
    "cgroup": (lambda path: f"cat {shlex.quote(f'/sys/fs/cgroup/{path}/cpu.stat')}", _usage),
    "unit": (
        lambda unit: f"cat {shlex.quote(f'/sys/fs/cgroup/system.slice/{unit}/cpu.stat')}",
        _usage,
    ),
    "domain": (lambda name: f"xl list {shlex.quote(name)}", _xl),
    "libvirt": (lambda name: f"virsh domstats --cpu-total {shlex.quote(name)}", _virsh),
    "command": (lambda line: line, _number),
}
