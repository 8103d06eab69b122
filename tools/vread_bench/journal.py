# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps the rounds of a run on disk, one JSON document a line.

The first line is the head: what the run is.  Each further line is a round that has ended, and is on
disk (fsync) before the next round begins.  A kill or a power failure may tear the last line;
open_journal() cuts it off, and that round runs again.  Any other damage is an error.
"""

import fcntl
import json
import os

from .errors import BenchError


class Journal:
    """Made by open_journal().  head: of the run, as it was when the run began."""

    def __init__(self, path, file, head, rounds):
        self.path, self.head, self.rounds = path, head, rounds
        self._file = file

    def add(self, record):
        _append(self._file, record)
        self.rounds.append(record)

    def close(self):
        self._file.close()


def open_journal(path, head):
    """The Journal in `path`; a new one begins with `head`.  Locked until close()."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise BenchError(f"{path}: another vread-bench is writing it") from error
    try:
        return _opened(path, file, head)
    except BaseException:
        file.close()
        raise


def _opened(path, file, head):
    records = _records(path, file)
    if not records:
        _append(file, head)
        _sync_folder(path.parent)
        return Journal(path, file, head, [])
    old, *rounds = records
    if old.get("key") != head["key"]:
        raise BenchError(
            f"{path}: is of another spec or other targets. Give another --out, or remove the file "
            "to lose its rounds"
        )
    for index, record in enumerate(rounds):
        if record.get("index") != index:
            raise BenchError(f"{path}: line {index + 2} is not round {index}: damaged")
    return Journal(path, file, old, rounds)


def _records(path, file):
    """The documents of the file.  Cuts off a torn last line."""
    content = file.read()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        file.truncate(len(whole))
    file.seek(len(whole))
    records = []
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise BenchError(f"{path}: line {number} is not JSON: damaged") from error
        if not isinstance(record, dict):
            raise BenchError(f"{path}: line {number} is no round: damaged")
        records.append(record)
    return records


def _append(file, record):
    file.write(json.dumps(record, sort_keys=True).encode() + b"\n")
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder):
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
