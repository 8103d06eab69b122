# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a spec: which cells are measured, how often, on how many bytes.  docs/benchmarking.md
describes the file.

    name: figure-11
    seed: 20150712
    rounds: 5
    size: 1GiB                   of each file; the default of `files` is the most readers
    cells:
      - targets: bare            each item stands for the product of its lists
        ways: [stock, vread]
        workloads: [sequential, re-read]
        requests: [64KiB, 1MiB]
        loads: 2vms              these names are defined by the target
        places: local
        images: raw
        settings: [default, no-read-ahead]
        readers: [1, 16]

A Cell is one point of the product.  Its id names it in journals, results and reports.
"""

import hashlib
import itertools
from collections import Counter
from dataclasses import asdict, dataclass

from . import located
from .located import size_text

WAYS = ("stock", "vread", "short-circuit")
DEFAULT = "default"  # the setting of cells that name none
WORKLOADS = ("sequential", "re-read", "pread", "pread-4k", "write")
MOST_REQUEST = 4 << 20
DEFAULT_SEED = 20150712
PAGE = 4096  # files are verified by pieces of this size, and positional reads begin at multiples
MOST_CELLS = 20000


@dataclass(frozen=True)
class Cell:
    target: str
    way: str
    workload: str
    request: int
    load: str
    place: str
    image: str
    setting: str
    readers: int

    @property
    def id(self):
        request = size_text(self.request)
        state = (self.target, self.load, self.place, self.image, self.setting)
        parts = (*state, self.workload, request)
        return "/".join([*parts, f"{self.readers}r", self.way])

    @property
    def state(self):
        """What must be changed on the target between two cells that differ in it."""
        return (self.target, self.image, self.setting, self.place, self.load)


@dataclass(frozen=True)
class Spec:
    name: str
    seed: int
    rounds: int
    size: int
    files: int
    preads: int
    cells: tuple

    def digest(self):
        return hashlib.sha256(repr(asdict(self)).encode()).hexdigest()[:16]


def read(path, targets):
    """The Spec in the file `path`.  targets: {name: Target}; a spec may name no others.  None: the
    targets are not known."""
    document = located.load(path)
    noted = document.noted
    name = noted(document.name, "name")
    seed = noted(document.number, "seed", 0, (1 << 62) - 1, DEFAULT_SEED)
    rounds = noted(document.number, "rounds", 1, 1000)
    size = noted(_size, document)
    preads = noted(document.number, "preads", 1, 10_000_000, 2000)
    cells = noted(_all_cells, document, targets)
    most = max(cell.readers for cell in cells) if cells else 1
    files = noted(document.number, "files", 1, 64, most)
    document.done()
    document.end()
    return Spec(name, seed, rounds, size, files, preads, tuple(cells))


def _size(document):
    size = document.size("size", MOST_REQUEST, 1 << 40)
    if size % MOST_REQUEST:
        document.fail("size", f"expected a multiple of {size_text(MOST_REQUEST)}")
    return size


def _all_cells(document, targets):
    items = document.sections("cells")
    if not items:
        document.fail("cells", "is an empty list")
    cells = [cell for item in items for cell in _cells(item, targets)]
    if len(cells) > MOST_CELLS:
        document.fail("cells", f"{len(cells)} cells; expected at most {MOST_CELLS}")
    for cell, count in Counter(cells).items():
        if count > 1:
            document.fail("cells", f"{cell.id} is there twice")
    return cells


def _cells(item, targets):
    """The cells of an item; none if it has a mistake."""
    noted, before = item.noted, len(item.mistakes)
    names = noted(item.texts, "targets", allowed=targets and list(targets))
    ways = noted(item.texts, "ways", allowed=WAYS)
    workloads = noted(item.texts, "workloads", allowed=WORKLOADS)
    requests = noted(_requests, item)
    if requests and "pread-4k" in (workloads or ()) and requests != [PAGE]:
        noted(item.fail, "workloads",
              "pread-4k reads 4KiB: an item with it must have `requests: 4KiB`")  # fmt: skip
    states = {key: noted(item.texts, key) for key in ("loads", "places", "images")}
    states["settings"] = noted(item.texts, "settings", [DEFAULT])
    readers = noted(item.numbers, "readers", 1, 64, [1])
    for name in names or () if targets else ():
        _check(item, targets[name], ways, states)
    item.done()
    if len(item.mistakes) > before:
        return []
    return [
        Cell(target, way, workload, request, load, place, image, setting, count)
        for target, load, place, image, setting, workload, request, count, way in itertools.product(
            names, *states.values(), workloads, requests, readers, ways
        )
    ]


def _requests(item):
    requests = item.sizes("requests", PAGE, MOST_REQUEST)
    for request in requests:
        if request % PAGE or MOST_REQUEST % request:
            item.fail("requests", f"{size_text(request)}: expected 4KiB times a power of two")
    return requests


def _check(item, target, ways, states):
    """The target must know all that the cells ask of it."""
    for key, wanted in {"ways": ways, **states}.items():
        known = getattr(target, key)
        for value in wanted or ():
            if value not in known:
                has = ", ".join(known) or "none"
                text = f"target {target.name} has no {value}; it has: {has}"
                item.noted(item.fail, key, text)
