# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the layout of an image that datanode.py made (format: xen-backend/layout/layout.h).

vread-provision finds the same layout by looking into the image, with libguestfs.  A test compares
the two.  Other tests and benches use this module and need no libguestfs.
"""

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class DataDir:
    """A datanode's data directory, and the ids in its VERSION file."""

    path: str  # inside the file system
    storage_id: str
    datanode_uuid: str
    cluster_id: str
    pools: tuple
    namespaces: tuple = ()  # of each pool, 0: not known; or empty

    @staticmethod
    def of(source, path):
        """Reads the directory `source`, which is or will be `path` in the image."""
        current = Path(source) / "current"
        version = _values(current)
        pools = tuple(sorted(entry.name for entry in current.glob("BP-*") if entry.is_dir()))
        return DataDir(
            path,
            version["storageID"],
            version["datanodeUuid"],
            version["clusterID"],
            pools,
            tuple(int(_values(current / pool / "current").get("namespaceID", 0)) for pool in pools),
        )


def _values(folder):
    """What the VERSION file of the folder says; nothing without a file."""
    file = folder / "VERSION"
    lines = file.read_text().splitlines() if file.exists() else []
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def layout_of(image):
    """The layout document of a DatanodeImage."""
    partition = f"{image.table}:{image.partition}" if image.partition else "none"
    data_dirs = [
        {
            "path": data_dir.path,
            "storage-id": data_dir.storage_id,
            "datanode-uuid": data_dir.datanode_uuid,
            "cluster-id": data_dir.cluster_id,
            "pools": list(data_dir.pools),
            **({"namespace-ids": list(data_dir.namespaces)} if data_dir.namespaces else {}),
        }
        for data_dir in image.data_dirs
    ]
    file_system = {
        "image": 0,
        "partition": partition,
        "offset": image.offset,
        "length": image.length,
        "type": "ext4",
        "uuid": image.uuid,
        "data-dirs": data_dirs,
    }
    size = Path(image.path).stat().st_size
    return {"layout-version": 2, "images": [{"size": size}], "filesystems": [file_system]}


def write_layout(image, path):
    Path(path).write_text(json.dumps(layout_of(image), indent=2) + "\n")
