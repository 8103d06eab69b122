# SPDX-License-Identifier: GPL-2.0-or-later
"""Describes the machines and programs of a target.  `session` records it in the journal's head."""

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADER = HERE.parents[1] / "xen-backend" / "base" / "version.h"
# `make install` writes the file; in the source tree the header says the version.
INSTALLED = HERE / "version"
LINE = (
    "uname -srm && nproc && sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1 && "
    "sed -n 's/^MemTotal: *//p' /proc/meminfo"
)


def describe(target):
    kernel, cpus, *rest = target.client.host.run(LINE).decode(errors="replace").splitlines()
    cpu, memory = rest if len(rest) == 2 else ("unknown", rest[0] if rest else "unknown")
    versions = {
        name: command.run().decode(errors="replace").strip()
        for name, command in sorted(target.versions.items())
    }
    return {
        "kind": target.kind,
        "emulated": target.emulated,
        "client": {"kernel": kernel, "cpus": int(cpus), "cpu": cpu, "memory": memory},
        "versions": versions | {"vread-bench": version()},
    }


def version():
    if INSTALLED.exists():
        return INSTALLED.read_text().strip()
    match = re.search(r'VREAD_VERSION "(.*)"', HEADER.read_text()) if HEADER.exists() else None
    return match[1] if match else "unknown"
