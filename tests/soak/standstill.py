# SPDX-License-Identifier: GPL-2.0-or-later
"""keep(bed, path) writes a JSON file with what each party says while nothing is read through vRead:
the status and log of both vreadds, the NameNode's lists of datanodes, and the client's threads.
run.py calls keep() when the recovery from a disturbance takes longer than AFTER.  The ledger has
only the number of seconds.
"""

import json
import subprocess
from pathlib import Path

from tools.hdfs import HdfsError
from tools.vreadd import VreaddError

AFTER = 30.0  # s without a read through vRead
LOG_LINES = 400
JCMD_TIMEOUT = 60  # s; a JVM that hangs does not answer jcmd
NAMENODE = "Hadoop:service=NameNode,name=NameNodeInfo"
NODES = ("LiveNodes", "DeadNodes")


def keep(bed, path):
    told = {name: _daemon(daemon) for name, daemon in bed.daemons.items()}
    told["namenode"] = _namenode(bed.hdfs)
    told["load"] = Path("/proc/loadavg").read_text().split()
    told["client"] = _threads(bed.client.pid)
    Path(path).write_text(json.dumps(told, indent=1) + "\n")


def _daemon(daemon):
    log = daemon.log().splitlines()[-LOG_LINES:]
    try:
        return {"status": daemon.status(), "log": log}
    except (VreaddError, OSError, ValueError) as error:
        return {"status": f"{type(error).__name__}: {error}", "log": log}


def _namenode(hdfs):
    try:
        info = hdfs.jmx("namenode", NAMENODE)
        return {name: json.loads(info[name]) for name in NODES}
    except (HdfsError, OSError, ValueError, KeyError) as error:
        return f"{type(error).__name__}: {error}"


def _threads(pid):
    """SIGQUIT would print them, too, but to the standard output, where the client's answers are."""
    command = ["jcmd", str(pid), "Thread.print"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=JCMD_TIMEOUT, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return [f"{type(error).__name__}: {error}"]
    return done.stdout.splitlines()
