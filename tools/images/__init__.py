# SPDX-License-Identifier: GPL-2.0-or-later
"""Datanode disk images: an HDFS data directory on ext4 on a partition of a raw disk.

    image = make_datanode_image([cluster.data_dirs[0]], "dn.raw", table="gpt")
    image.offset, image.length, image.uuid    # where the file system lies

Making it needs no privileges: mke2fs fills the file system, sfdisk writes the table.
A disk in use (mounted, live) is a LiveDisk in a MountSpace; that needs root.
By hand: `python -m tools.images --help`.
"""

from tools.images.datanode import TABLES, DatanodeImage, ImageError, make_datanode_image
from tools.images.extents import Extent, file_extents
from tools.images.layout import DataDir, layout_of, write_layout
from tools.images.live import LiveDisk
from tools.images.lvm import Physical, VolumeGroup, make_disk
from tools.images.mounts import MountSpace

__all__ = [
    "TABLES",
    "DataDir",
    "DatanodeImage",
    "Extent",
    "ImageError",
    "LiveDisk",
    "MountSpace",
    "Physical",
    "VolumeGroup",
    "file_extents",
    "layout_of",
    "make_datanode_image",
    "make_disk",
    "write_layout",
]
