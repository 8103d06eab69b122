# SPDX-License-Identifier: GPL-2.0-or-later
"""What docs/provisioning.md has a toolstack run.

subprocess.run(provision(7, "dn1", "xvdb", "/dfs/data"))
"""

import re
import textwrap

from tools.vreadd import REPOSITORY

CONTRACT = (REPOSITORY / "docs/provisioning.md").read_text()
SCRIPT = textwrap.dedent(re.search(r"(?ms)^    #!/bin/sh.*?\n(?=\n)", CONTRACT)[0])


def provision(domid, name, disks, data_dirs):
    """The command that runs the documented script."""
    return ["sh", "-ec", SCRIPT, "provision", str(domid), name, disks, data_dirs]


def keys(domid):
    return f"/local/domain/0/backend/vread/{domid}/0/datanode"
