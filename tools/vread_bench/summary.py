# SPDX-License-Identifier: GPL-2.0-or-later
"""Reduces the raw rounds of result files to what pages show: median and spread by cell.

`pages` calls summarise().  Every number of a page comes from here, so that a test can compute it
again from the raw rounds.
"""

import statistics
from collections import Counter
from dataclasses import dataclass, field

GIB = 1 << 30
PARTS = ("client", "datanode", "host", "network")


@dataclass(frozen=True)
class Spread:
    """Values of several rounds."""

    n: int
    median: float
    least: float
    most: float


@dataclass
class Cell:
    """A cell of a result file with its rounds.  by: label of the target."""

    by: str
    key: dict
    rounds: dict = field(default_factory=dict)  # {round: record}, without those of wrong bytes
    wrong: list = field(default_factory=list)

    @property
    def point(self):
        """All but the way: cells of equal points are compared."""
        return (self.by, *(value for name, value in sorted(self.key.items()) if name != "way"))

    def values(self, quantity):
        """{round: value}, without rounds that do not tell."""
        found = {number: quantity(record) for number, record in self.rounds.items()}
        return {number: value for number, value in found.items() if value is not None}

    def spread(self, quantity):
        """None if no round tells."""
        return spread(self.values(quantity).values())


def summarise(results):
    """The Cells of all results, sorted.  results: [(name of the file, document)]."""
    labels = _labels(results)
    cells = []
    for name, result in results:
        found = {}
        for cell in result["cells"]:
            key = {k: cell[k] for k in KEYS}
            found[cell["id"]] = Cell(labels[name, cell["target_name"]], key)
        for record in result["raw"]:
            cell = found[record["cell"]]
            if "wrong" in record:
                cell.wrong.append(record["wrong"])
            else:
                cell.rounds[record["round"]] = record
        cells += found.values()
    return sorted(cells, key=lambda cell: (cell.by, *(str(v).zfill(12) for v in cell.key.values())))


KEYS = ("load", "place", "image", "setting", "workload", "request", "readers", "way")


def _labels(results):
    """{(file, target): label}: the target's name; with the file's name where two files share it."""
    names = Counter(target for _, result in results for target in result["targets"])
    return {
        (name, target): target if names[target] == 1 else f"{target} ({name})"
        for name, result in results
        for target in result["targets"]
    }


def spread(values):
    values = list(values)
    if not values:
        return None
    return Spread(len(values), statistics.median(values), min(values), max(values))


def ratio(over, under, quantity):
    """The Spread of over/under in the rounds that both have: rounds alternate, so that the two of
    a round met the same machine."""
    a, b = over.values(quantity), under.values(quantity)
    return spread(a[number] / b[number] for number in a if b.get(number))


# ---- quantities of a round ---------------------------------------------------


def throughput(record):
    """MB/s."""
    return record["bytes"] / 1e6 / record["seconds"]


def jain(rates):
    """Jain's index of fairness: 1 if all are equal, 1 / len(rates) if one has everything."""
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


def fairness(record):
    """Jain's index of the readers' rates; None of one reader alone."""
    rates = record.get("reader_rates", ())
    return jain(rates) if len(rates) > 1 else None


def delay(record):
    """Milliseconds of a request, on average."""
    return record["latency_us"]["mean"] / 1e3


def percentile(name):
    """Microseconds."""
    return lambda record: record["latency_us"].get(name)


def cpu(*parts):
    """CPU seconds for each GiB, of all parts that the target tells; None if it tells none."""

    def quantity(record):
        told = [record["cpu_seconds"].get(part) for part in parts]
        told = [seconds for seconds in told if seconds is not None]
        return sum(told) * GIB / record["bytes"] if told else None

    return quantity


def each_byte(counter):
    """The growth of a counter for each byte that the client moved."""

    def quantity(record):
        count = record["counters"].get(counter)
        return None if count is None else count / record["bytes"]

    return quantity


def share(by):
    """Per cent of the bytes that came by this way."""
    return lambda record: 100 * record["bytes_by"][by] / record["bytes"]
