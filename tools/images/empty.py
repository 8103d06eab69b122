# SPDX-License-Identifier: GPL-2.0-or-later
"""A datanode's disk before its first start, for tools/lab/hadoop.py: an empty ext4, partitioned."""

from pathlib import Path

from tools.images.datanode import FIRST_PARTITION, GPT_TAIL, MIB, _partition, _run


def make_empty_image(out, mib):
    """A sparse image with a file system of that size on its second partition (GPT)."""
    out, offset, length = Path(out).resolve(), sum(FIRST_PARTITION), mib * MIB
    with open(out, "wb") as image:
        image.truncate(offset + length + GPT_TAIL)
    _partition(out, "gpt", offset, length)
    # Initialised here as a whole: the kernel does not do a part of it later, in the background.
    options = f"offset={offset},root_owner=0:0,lazy_itable_init=0,lazy_journal_init=0"
    _run(["mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-E", options, str(out), f"{mib}m"])
