# SPDX-License-Identifier: GPL-2.0-or-later
"""A file of noise, made once, with its digest.  Tests on Xen, benches and demos give it to a guest
as a disk.

The guest writes data of this disk to HDFS.  Data read back is compared with the digest.
"""

import random
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from .cache import cached, key_of
from .qemu import Disk

SEED = 20150712
CHUNK = 1 << 20


@dataclass(frozen=True)
class Source:
    path: Path
    size: int
    sha256: str

    @property
    def disk(self) -> Disk:
        return Disk(self.path, "readonly")


def noise(mib: int) -> Source:
    path = cached("noise", ".raw", key_of([f"{SEED} {mib}".encode()]), lambda p: _write(p, mib))
    digest = sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return Source(path, mib << 20, digest.hexdigest())


def _write(path: Path, mib: int) -> None:
    numbers = random.Random(SEED)
    with path.open("wb") as file:
        for _ in range(mib):
            file.write(numbers.randbytes(CHUNK))
