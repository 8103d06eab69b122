# SPDX-License-Identifier: GPL-2.0-or-later
"""What an application of this bench is: a class that measure.py runs, one application a module.

    with Spark(bed, mib) as spark:               # prepares its data, by stock Hadoop
        seconds = spark.run("vread", "count")    # a way of WAYS, an operation of OPERATIONS
        spark.digest("vread", "count")           # of the results

Each way has processes of its own, which stay warm.
"""

from abc import ABC, abstractmethod
from contextlib import ExitStack
from dataclasses import dataclass

WAYS = ("stock", "vread")


@dataclass(frozen=True)
class Operation:
    """at_least: the target for the time by stock over the time by vRead; None: there is none."""

    name: str
    what: str
    at_least: float | None = None
    target: str = ""  # where the target is from


class Application(ABC):
    NAME = ""
    OPERATIONS: tuple[Operation, ...] = ()
    WARM_UPS = 1  # runs of each operation by each way that do not count

    def __init__(self, bed, mib):
        self.bed = bed
        self.mib = mib
        self.stack = ExitStack()  # of what ends with the application

    def __enter__(self):
        try:
            self.prepare()
            self.bed.cluster.sync()
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *_):
        self.stack.close()

    @abstractmethod
    def prepare(self):
        """Starts what runs all the time, and makes the data.  HdfsError: something is missing."""

    def ready(self, way):  # noqa: B027 (most have nothing to do)
        """Called right before each run, whose time and CPU time do not include this."""

    @abstractmethod
    def run(self, way, operation) -> float:
        """Runs an operation by its name; the seconds that it took."""

    @abstractmethod
    def digest(self, way, operation) -> str:
        """The digest of the results of the last run, in an order of their own.  BenchError: they
        are wrong."""

    @abstractmethod
    def programs(self, way):
        """The programs that read for this way, whose CPU time counts and whose plug-ins count."""

    @abstractmethod
    def versions(self) -> dict:
        """What ran, in which version."""
