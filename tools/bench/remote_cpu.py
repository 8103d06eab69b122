# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the CPU time of two emulated hosts went while something was measured.

    cpu = RemoteCpu(near_backend, far_backend)
    measured, spent = cpu.of(lambda: run())
    spent["all"], spent["softirq"], spent["guests"], ...

The whole is what Xen says of all domains of both hosts, dom0s included.  Of it, in both dom0s
together, as their Linux counts (it samples, 250 times a second):

    softirq        packets that arrive, timers, and of soft-RoCE all but what follows
    vreadd_user    vreadd itself
    vreadd_system  the kernel on its behalf: reading disks, sending by TCP.  Soft-RoCE builds and
                   sends the first packets of each write here, too, within ibv_post_send()
    guests         Xen's figure for all domains that are no dom0

`all` is more than their sum: daemons, interrupts, and the hypervisor's work for each.
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
        """What run() returned, and the CPU seconds spent meanwhile by part."""
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
            # Whatever is in its name, the fields behind it are numbers.
            system, process = backend.host.text(
                f"head -n 1 /proc/stat; cat /proc/{backend.pid}/stat"
            ).splitlines()
            fields = process.rpartition(")")[2].split()
            parts["softirq"] += int(system.split()[SOFTIRQ]) / TICKS
            parts["vreadd_user"] += int(fields[USER]) / TICKS
            parts["vreadd_system"] += int(fields[SYSTEM]) / TICKS
        return parts
