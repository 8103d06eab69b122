# SPDX-License-Identifier: GPL-2.0-or-later
"""The order in which test modules run; called by tests/conftest.py.

Modules must pass in any order, since they share hosts, clusters and this machine.  Tests within a
module keep their order: some modules tell the story of one domain.
"""

import itertools
import random


def shuffle_modules(items, seed):
    """Puts the modules of `items`, a list of pytest items, in an order that follows from `seed`.

    The same seed and the same modules give the same order in every process.
    """
    modules = [list(tests) for _, tests in itertools.groupby(items, key=lambda item: item.path)]
    random.Random(seed).shuffle(modules)
    items[:] = itertools.chain.from_iterable(modules)
