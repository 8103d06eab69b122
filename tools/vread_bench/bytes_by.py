# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks the client's vreadd by which transport its bytes came, and compares that with the place.

A place names its `transports`, and the commands of the key `vreadds` print the status documents
(`xl-vread status --json`).  Without both nothing is compared.  A state that was not entered as its
commands say would give good numbers under a wrong name: so such a round ends the run.
"""

import json

from .errors import BenchError

TRANSPORTS = ("local", "rdma", "tls", "plain")
MOST_ASTRAY = 0.05  # of a round's bytes: others may read at the same time


def read(target):
    """{(vreadd, transport): bytes so far} of all vreadds of a target."""
    found = {}
    for number, command in enumerate(target.vreadds):
        text = command.run()
        try:
            status = json.loads(text)
            amounts = _amounts(status)
        except (ValueError, KeyError, TypeError) as error:
            raise BenchError(
                f"{command.host.name}: `{command.line}`: no status of vreadd in {text[:200]!r}"
            ) from error
        # A vreadd that was started again counts from 0.
        found |= {(number, status["pid"], way): amount for way, amount in amounts.items()}
    return found


def _amounts(status):
    totals, peers = status["totals"], (status["peers"] or {"peers": []})["peers"]
    rdma = sum(peer["direct"] + peer["bounced"] for peer in peers)
    plain = sum(peer["plain"] for peer in peers)
    return {
        "local": totals["bytes"] - totals["remote"]["bytes"],
        "rdma": rdma,
        "tls": sum(peer["bytes"] for peer in peers) - rdma - plain,
        "plain": plain,
    }


def grown(before, after):
    """{transport: bytes} between two readings."""
    found = dict.fromkeys(TRANSPORTS, 0)
    for key, amount in after.items():
        found[key[-1]] += amount - before.get(key, 0)
    return found


def check(cell, place, came, by_client):
    """Raises an error if a round's bytes did not come as its place says.  came: of grown();
    by_client: the bytes of each way by the client's own count."""
    wanted = sum(came[way] for way in place.transports)
    astray = sum(came.values()) - wanted
    if wanted > 0 and astray <= MOST_ASTRAY * (wanted + astray):
        return
    seen = ", ".join(f"{amount} by {way}" for way, amount in came.items() if amount)
    raise BenchError(
        f"{cell.id}: place {cell.place}: the bytes of vRead must come by "
        f"{' or '.join(place.transports)}; vreadd counted {seen or 'none'}, the client "
        f"{by_client.get('vread', 0)} by vRead and {by_client.get('stock', 0)} by stock. Correct "
        "the commands of the place, or its `transports`; the same command goes on from here"
    )
