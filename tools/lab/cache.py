# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that the lab makes once for given inputs.

A file's name has the SHA-256 of its inputs.  The file is written under another
name and renamed, so several programs may make the same file at once.
"""

import os
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

from .paths import CACHE

KEEP = 3


def key_of(parts: Iterable[bytes]) -> str:
    digest = sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()[:16]


def cached(stem: str, suffix: str, key: str, make: Callable[[Path], None]) -> Path:
    """Returns the cached file of that key, made by make(path) if it is not there yet."""
    CACHE.mkdir(parents=True, exist_ok=True)
    path = CACHE / f"{stem}-{key}{suffix}"
    try:
        os.utime(path)
        return path
    except FileNotFoundError:
        pass
    partial = CACHE / f".{path.name}.{os.getpid()}"
    try:
        make(partial)
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)
    _forget_old(stem, suffix)
    return path


def _forget_old(stem: str, suffix: str) -> None:
    files = sorted(CACHE.glob(f"{stem}-{'[0-9a-f]' * 16}{suffix}"), key=_mtime, reverse=True)
    for old in files[KEEP:]:
        old.unlink(missing_ok=True)


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
