# SPDX-License-Identifier: GPL-2.0-or-later
"""Root file systems of Debian, made by debootstrap, and commands that run in them.  Both need root.

    make("trixie", ("gcc",), folder)
    run_in(folder, "gcc", "--version")

tests/support/debian_root.py boots one; tests/support/debian_packages.py makes packages in one;
tests/packages/test_kernels.py and test_container.py run commands in some; tools/lab/debian.py makes
emulated hosts of one.
"""

import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

CACHE = Path(__file__).resolve().parents[1] / "build" / "packages"
# Arguments: number of mounts, the folder, {this machine's folder, folder in the system} for each
# mount, the command.  The mounts end with the command.
ENTER = """
set -eu
count=$1 root=$2
shift 2
while [ "$count" -gt 0 ]; do
    mkdir -p "$root$2"
    mount --bind "$1" "$root$2"
    case "$2" in /etc/*) mount -o remount,bind,ro "$root$2" ;; esac
    shift 2
    count=$((count - 1))
done
mount -t proc proc "$root/proc"
exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \\
    DEBIAN_FRONTEND=noninteractive "$@"
"""
SHOWN = 4000  # characters at the end of what a failed command printed


class CommandFailed(Exception):
    """A command that failed; the message has the end of what it printed."""


def key_of(suite: str, included: Sequence[str], by_apt: Sequence[str] = ()) -> str:
    parts = (suite, tuple(included), *([tuple(by_apt)] if by_apt else []))
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def make(suite: str, included: Sequence[str], folder: Path, log: Path) -> None:
    """Makes the folder, with the suite's minimal system and the packages `included`."""
    # What debootstrap mounts is seen by its processes only.  So removing the folder removes
    # nothing else, even if debootstrap was killed.
    command = ["unshare", "--mount", "debootstrap", "--variant=minbase"]
    command += ["--include=" + ",".join(included)] if included else []
    with open(log, "wb") as output:
        subprocess.run([*command, suite, folder], check=True, stdout=output, stderr=output)


def packed(suite: str, included: Sequence[str], by_apt: Sequence[str] = ()) -> Path:
    """A tar file with the suite's minimal system and the packages `included` and `by_apt`.  It is
    made again when one of the three changes.

    apt installs `by_apt` in the system.  debootstrap takes the first of alternative dependencies
    and knows no package that others provide, so it fails at some packages."""
    key = key_of(suite, included, by_apt)
    kept = CACHE / f"{suite}-{key}.tar"
    if not kept.exists():
        folder = CACHE / f"{suite}-{key}.new"
        shutil.rmtree(folder, ignore_errors=True)
        CACHE.mkdir(parents=True, exist_ok=True)
        try:
            make(suite, included, folder, CACHE / f"debootstrap-{suite}.log")
            if by_apt:
                run_in(folder, "apt-get", "update")
                run_in(folder, "apt-get", "install", "-y", "--no-install-recommends", *by_apt)
                run_in(folder, "apt-get", "clean")
            new = kept.with_suffix(".part")
            subprocess.run(["tar", "-C", folder, "-cf", new, "."], check=True)
            new.rename(kept)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return kept


def run_in(root: Path, *command: str | Path, mounts: Sequence[tuple[Path, str]] = ()) -> str:
    """Runs a command in the system below `root`; returns what it prints.  mounts: folders of this
    machine, and where they are in the system while the command runs.  Below /etc they are
    read-only: no package that is installed there may change this machine."""
    places = [word for mount in mounts for word in mount]
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "sh",
         str(len(mounts)), root, *places, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )  # fmt: skip
    if done.returncode:
        words = " ".join(map(str, command))
        raise CommandFailed(f"{words} ended with {done.returncode}:\n{done.stdout[-SHOWN:]}")
    return done.stdout
