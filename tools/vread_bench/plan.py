# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the order of a run: every cell once in each round.

Rounds are interleaved, because the speed of a machine changes from hour to hour and must meet all
cells alike.  Within a round, cells of one state stay together: to change a state may mean to boot
virtual machines.  The order of states, and of cells within a state, comes from the seed.
"""

import random
from dataclasses import dataclass

from .spec import Cell


@dataclass(frozen=True)
class Step:
    index: int
    round: int
    cell: Cell

    def seed(self, seed):
        """The seed of the step's positional reads: the same for all ways of reading."""
        return (seed + self.round) & ((1 << 62) - 1)


def plan(spec):
    steps = []
    for number in range(spec.rounds):
        rng = random.Random(f"{spec.seed}/{number}")
        groups = {}
        for cell in spec.cells:
            groups.setdefault(cell.state, []).append(cell)
        states = list(groups)
        rng.shuffle(states)
        for state in states:
            rng.shuffle(groups[state])
            steps += [Step(len(steps) + i, number, cell) for i, cell in enumerate(groups[state])]
    return steps
