# SPDX-License-Identifier: GPL-2.0-or-later
"""A datanode's disk before its first start: partition table and ext4, no file in it."""

from pathlib import Path

from tools.images.datanode import FIRST_PARTITION, GPT_TAIL, MIB, _partition, _run


def make_empty_image(out, mib):
    """A sparse image with a file system of that size on its second partition (GPT)."""
    out, offset, length = Path(out).resolve(), sum(FIRST_PARTITION), mib * MIB
    with open(out, "wb") as image:
        image.truncate(offset + length + GPT_TAIL)
    _partition(out, "gpt", offset, length)
    # Nothing is left for the kernel to initialise behind its user's back.
    options = f"offset={offset},root_owner=0:0,lazy_itable_init=0,lazy_journal_init=0"
    _run(["mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-E", options, str(out), f"{mib}m"])
