# SPDX-License-Identifier: GPL-2.0-or-later
"""folder(): the kernel's scripts that check sources, from Debian's package linux-source-6.1.

Of Debian's packages only linux-source has them: linux-headers and linux-kbuild have only what
builds modules.  apt downloads its 140 MB once for each version.  build/lint keeps 1 MB of them.
"""

import fcntl
import shutil
import tempfile
from pathlib import Path

from tools.lab import linux_source
from tools.lab.paths import REPOSITORY

BUILD = REPOSITORY / "build" / "lint"
NAMES = ("checkpatch.pl", "spelling.txt", "const_structs.checkpatch", "coccinelle")


def folder() -> Path:
    """Downloads the scripts if they are not there.  If several programs call this at once, one
    downloads and the others wait."""
    version = linux_source.version().replace(":", "%")
    kept = BUILD / f"scripts-{version}"
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / ".scripts.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.is_dir():
            with tempfile.TemporaryDirectory(dir=BUILD, prefix=".making-") as scratch:
                names = [f"scripts/{name}" for name in NAMES]
                (linux_source.extract(Path(scratch), *names) / "scripts").rename(kept)
            for other in BUILD.glob("scripts-*"):
                if other != kept:
                    shutil.rmtree(other)
    return kept
