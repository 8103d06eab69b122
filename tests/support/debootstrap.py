# SPDX-License-Identifier: GPL-2.0-or-later
"""Root file systems of Debian, made by debootstrap and kept as tar files under build/packages.
debian_root.py boots one; tests/packages/test_kernels.py and test_container.py run commands in some.
"""

import hashlib
import shutil
import subprocess
from pathlib import Path

CACHE = Path(__file__).resolve().parents[2] / "build" / "packages"


def packed(suite, included):
    """A tar file with the suite's minimal system and the packages `included`.  It is made again
    when one of the two changes."""
    key = hashlib.sha256(repr((suite, included)).encode()).hexdigest()[:12]
    kept = CACHE / f"{suite}-{key}.tar"
    if not kept.exists():
        folder = CACHE / f"{suite}-{key}.new"
        shutil.rmtree(folder, ignore_errors=True)
        CACHE.mkdir(parents=True, exist_ok=True)
        # What debootstrap mounts is seen by its processes only.  So removing the folder removes
        # nothing else, even if debootstrap was killed.
        command = ["unshare", "--mount", "debootstrap", "--variant=minbase"]
        command += ["--include=" + ",".join(included)] if included else []
        command += [suite, folder]
        try:
            with open(CACHE / f"debootstrap-{suite}.log", "wb") as log:
                subprocess.run(command, check=True, stdout=log, stderr=log)
            new = kept.with_suffix(".part")
            subprocess.run(["tar", "-C", folder, "-cf", new, "."], check=True)
            new.rename(kept)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return kept


def run_in(root, *command):
    """Runs a command in the system below `root`; returns what it prints."""
    inside = 'mount -t proc proc /proc && exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "chroot", root,
         "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8",
         "DEBIAN_FRONTEND=noninteractive", "sh", "-c", inside, "sh", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )  # fmt: skip
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout
