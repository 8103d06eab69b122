# SPDX-License-Identifier: GPL-2.0-or-later
"""A vreadd that reads the image of its datanode with O_DIRECT, as it reads a block device: for
hdfs_odirect.py, hdfs_slow.py and hdfs_hedged.py."""

from tools.bench.suite import BenchError
from tools.vreadd import Vreadd

IMAGE_MODE = "image-mode = direct"


class DirectVreadd(Vreadd):
    """datanodes: of Vreadd, one."""

    def __init__(self, datanodes):
        # The configuration ends with the datanode's section.
        super().__init__(datanodes, sections=f"{IMAGE_MODE}\n")

    def start(self):
        super().start()
        (datanode,) = self.status()["datanodes"]
        modes = {image.get("mode") for image in datanode["images"]}
        if modes != {"direct"}:
            raise BenchError(f"vreadd reads images in mode {modes}, expected direct")
