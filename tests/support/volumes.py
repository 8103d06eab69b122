# SPDX-License-Identifier: GPL-2.0-or-later
"""File systems in files, and disks made of them."""

import subprocess

MIB = 1 << 20


def make_ext(path, tree=None, kind="ext4", mib=24, options=()):
    """An ext2, ext3 or ext4 of that size in the file, filled from the folder `tree`."""
    command = ["/sbin/mke2fs", "-q", "-F", "-t", kind, *options]
    command += ["-d", tree] if tree else []
    subprocess.run([*command, path, f"{mib}M"], check=True)
    return path


def partitioned(path, label, *volumes):
    """A disk with the given files as its partitions, 1 MiB apart."""
    offset, lines = MIB, []
    with open(path, "wb") as disk:
        for volume in volumes:
            data = volume.read_bytes()
            disk.seek(offset)
            disk.write(data)
            lines.append(f"start={offset // 512}, size={len(data) // 512}\n")
            offset += len(data) + MIB
        disk.truncate(offset)
    script = f"label: {label}\n" + "".join(lines)
    subprocess.run(["/sbin/sfdisk", "-q", path], input=script.encode(), check=True)
    return path


def debugfs(path, *commands, offset=0):
    """Changes the file system as its owner would; readers are not told."""
    script = path.with_name("debugfs.script")
    script.write_text("".join(command + "\n" for command in commands))
    done = subprocess.run(
        ["/sbin/debugfs", "-w", "-f", script, f"{path}?offset={offset}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout
