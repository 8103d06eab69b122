# SPDX-License-Identifier: GPL-2.0-or-later
"""The CPU time that two emulated hosts spend during a measurement, by part, for remote.py.

    cpu = RemoteCpu(near_backend, far_backend)
    measured, spent = cpu.of(lambda: run())
    spent["all"], spent["softirq"], spent["guests"], ...

`all` is Xen's figure for all domains of both hosts, dom0s included.  Parts of it are, in both dom0s
together, as counted by Linux (which samples 250 times a second):

    softirq        received packets, timers, and the work of soft-RoCE except that named below
    vreadd_user    vreadd itself
    vreadd_system  the kernel for vreadd: reading disks, sending by TCP.  Within ibv_post_send()
                   soft-RoCE also builds and sends the first packets of each write
    guests         Xen's figure for all domains but the dom0s

`all` is more than their sum: it includes daemons, interrupts and the hypervisor's work.
"""

import os

TICKS = os.sysconf("SC_CLK_TCK")
DOM0 = "Domain-0"
SOFTIRQ = 7  # in the first line of /proc/stat, the word "cpu" included
USER, SYSTEM = 11, 12  # in /proc/PID/stat, behind the name


class RemoteCpu:
    def __init__(self, *backends):
        """One vreadd on each host."""
        self._backends = backends

    def of(self, run):
        """What run() returned, and {part: CPU seconds spent meanwhile}."""
        before = self._now()
        result = run()
        after = self._now()
        return result, {part: after[part] - before.get(part, 0.0) for part in after}

    def _now(self):
        parts = dict.fromkeys(("all", "guests", "softirq", "vreadd_user", "vreadd_system"), 0.0)
        for backend in self._backends:
            domains = backend.host.cpu_seconds()
            parts["all"] += sum(domains.values())
            parts["guests"] += sum(domains.values()) - domains[DOM0]
            # The name in parentheses may hold anything; the fields after it are numbers.
            system, process = backend.host.text(
                f"head -n 1 /proc/stat; cat /proc/{backend.pid}/stat"
            ).splitlines()
            fields = process.rpartition(")")[2].split()
            parts["softirq"] += int(system.split()[SOFTIRQ]) / TICKS
            parts["vreadd_user"] += int(fields[USER]) / TICKS
            parts["vreadd_system"] += int(fields[SYSTEM]) / TICKS
        return parts
