# SPDX-License-Identifier: GPL-2.0-or-later
"""What all parties say while nothing is read through vRead.  run.py keeps it when the recovery from
a disturbance takes long: a ledger has only the number of seconds.

keep(bed, path) writes it as JSON.  The threads of the client are in the client's own log.
"""

import json
import os
import signal
from pathlib import Path

from tools.hdfs import HdfsError
from tools.vreadd import VreaddError

AFTER = 30.0  # s without a read through vRead
LOG_LINES = 400
NAMENODE = "Hadoop:service=NameNode,name=NameNodeInfo"
NODES = ("LiveNodes", "DeadNodes")


def keep(bed, path):
    told = {name: _daemon(daemon) for name, daemon in bed.daemons.items()}
    told["namenode"] = _namenode(bed.hdfs)
    told["load"] = Path("/proc/loadavg").read_text().split()
    os.kill(bed.client.pid, signal.SIGQUIT)  # a JVM then prints what each thread does
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
