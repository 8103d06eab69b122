# SPDX-License-Identifier: GPL-2.0-or-later
"""findings(): runs checks on the files that changed, and remembers what they found in the others.

coccinelle needs half a minute of processor time for the whole module, and `make check` runs each
time somebody changed a line anywhere.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import astuple
from pathlib import Path

from tools.lab.cache import key_of

from .findings import Check, Finding


def findings(checks: Iterable[Check], root: Path, names: list[str], memory: Path) -> list[Finding]:
    """All findings of the checks in the files.  `memory` is a JSON file: findings by a hash of all
    that they depend on.  It is written anew with the hashes of this call only."""
    known = _read(memory)
    current = {}
    for check in checks:
        shared = [_code(), type(check).__name__.encode(), check.key(root, names)]
        keys = {
            name: key_of([*shared, name.encode(), (root / name).read_bytes()]) for name in names
        }
        stale = [name for name in names if keys[name] not in known]
        found = check.run(root, stale, names) if stale else []
        # A finding in a header that another file includes stays with each file that was checked.
        elsewhere = [finding for finding in found if finding.file not in stale]
        for name in stale:
            known[keys[name]] = [f for f in found if f.file == name] + elsewhere
        current |= {key: known[key] for key in keys.values()}
    _write(memory, current)
    return sorted({finding for some in current.values() for finding in some})


def _code() -> bytes:
    """The checks as they are now: how they call their programs."""
    return b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))


def _read(memory: Path) -> dict[str, list[Finding]]:
    if not memory.is_file():
        return {}
    known = json.loads(memory.read_text())
    return {key: [Finding(*values) for values in found] for key, found in known.items()}


def _write(memory: Path, known: dict[str, list[Finding]]) -> None:
    memory.parent.mkdir(parents=True, exist_ok=True)
    partial = memory.with_name(f".{memory.name}.{os.getpid()}")
    text = {key: [astuple(finding) for finding in found] for key, found in known.items()}
    partial.write_text(json.dumps(text, indent=1))
    partial.rename(memory)
