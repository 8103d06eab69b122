# SPDX-License-Identifier: GPL-2.0-or-later
"""xl-vread top: rates computed from two status documents, and the screen as a terminal shows it."""

import contextlib
import copy
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

import pyte
import pytest

from tests.cli.conftest import XL_VREAD
from tests.cli.control_socket import ControlSocket
from tests.cli.test_cli_status import FULL
from tests.support.waiting import eventually

BEFORE = {
    **FULL,
    "devices": [
        {
            **{"name": "xen:7/0", "state": "Connected", "role": "client"},
            "counters": {
                **{"opens": 5, "reads": 100, "bytes": 1 << 30, "open_handles": 3},
                **{"remote": {"bytes": 0}, "errors": {"EIO": 2}},
            },
        },
        {
            **{"name": "xen:9/0", "state": "Connected", "role": "datanode"},
            "counters": {"opens": 0, "reads": 0, "bytes": 0, "remote": {"bytes": 0}, "errors": {}},
        },
        {"name": "xen:8/0", "state": "Closed", "role": None, "last_error": "ring overflow"},
    ],
}


def later(document):
    """The document some time later: xen:9/0 got 1 GiB from this host and 3 GiB from others; other
    counters changed, too."""
    after = copy.deepcopy(document)
    counters = after["devices"][1]["counters"]
    counters |= {"opens": 9, "reads": 4000, "bytes": 4 << 30, "remote": {"bytes": 3 << 30}}
    counters["errors"] = {"ENOENT": 1000}
    after["totals"] = {**counters, "errors": {"ENOENT": 1005, "EPERM": 1}}
    after["peers"]["peers"][0] |= {"state": "up", "under_way": 12}
    after["peers"]["peers"][0]["asked"] = {"bytes": (1023 << 50) + (3 << 30)}
    return after


@pytest.fixture
def daemon(endpoint):
    with contextlib.ExitStack() as stack:

        def start(*documents):
            answers = [json.dumps(document).encode() + b"\n" for document in documents]
            return stack.enter_context(ControlSocket(endpoint, *answers))

        yield start


def row(lines, name):
    (found,) = (line for line in lines if line.startswith(name))
    return found


def devices(lines):
    return [line[:7] for line in lines if line.startswith("xen:")]


# Orders of devices by column, and counters in these orders. Each order differs from all others.
ORDERS = {
    "here": "acbd",
    "remote": "dbca",
    "bytes": "cdab",
    "reads": "badc",
    "opens": "cabd",
    "errors": "dacb",
    "open": "bdac",
    "name": "abcd",
}
HERE = {"a": 8, "b": 1, "c": 5, "d": 0}  # GiB
REMOTE = {"a": 0, "b": 6, "c": 5, "d": 9}


def sortable(name):
    def place(column):
        return 4 - ORDERS[column].index(name)

    return {
        "name": f"xen:{name}/0",
        "counters": {
            "bytes": (HERE[name] + REMOTE[name]) << 30,
            "remote": {"bytes": REMOTE[name] << 30},
            "reads": place("reads") * 100,
            "opens": place("opens") * 100,
            "errors": {"EIO": 50, "ENOENT": place("errors") * 100},
            "open_handles": place("open"),
        },
    }


def size(number, unit):
    return float(number) * 1024 ** ["B", "KiB", "MiB", "GiB"].index(unit)


def test_rates(xl_vread, daemon, endpoint):
    daemon(BEFORE, later(BEFORE), later(BEFORE))
    done = xl_vread("top", "--batch", "-n", "2", "-d", "0.1", "--socket", endpoint)
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode()
    assert max(map(len, text.splitlines())) <= 80
    first, second = re.split(r"(?<=\n)\n(?=vreadd )", text)
    lines = first.splitlines()
    rates = re.findall(r"([\d.]+) (\w*B)", row(lines, "xen:9/0"))
    here, remote = (size(*rate) for rate in rates)
    assert (1 << 30) / 600 < here <= 10.3 * (1 << 30)  # 0.1 s or more passed
    assert remote == pytest.approx(3 * here, rel=0.1)  # both are rounded
    assert row(lines, "xen:7/0").split()[3:5] == ["0", "B"]
    assert row(lines, "xen:8/0").split()[1:] == ["-", "Closed", "-", "-", "-", "-", "-", "0"]
    assert devices(lines) == ["xen:9/0", "xen:7/0", "xen:8/0"]
    assert "errors, after which clients read by TCP: ENOENT\n" in first
    assert "ENOENT" not in second  # no further errors
    assert row(lines, "host-b").split()[1:3] == ["up", "rdma"]
    assert row(lines, "host-b").split()[-2:] == ["12", "4"]
    assert row(lines, "dn1").split()[1:6] == ["served", "5", "clean,", "live,", "refused,"]


@pytest.mark.thorough
def test_one_device_on_its_way(xl_vread, daemon, endpoint):
    """The longest name of a state must fit, and one device must be "1 device", not plural."""
    device = {**BEFORE["devices"][0], "state": "Initialising"}
    daemon({**BEFORE, "devices": [device], "datanodes": FULL["datanodes"][:1]})
    done = xl_vread("top", "--batch", "-n", "1", "--socket", endpoint)
    lines = done.stdout.decode().splitlines()
    assert lines[0].endswith(", 1 device, 1 datanode")
    assert row(lines, "xen:7/0").split()[:3] == ["xen:7/0", "client", "Initialising"]
    assert max(map(len, lines)) <= 80


def test_another_vreadd_counts_anew(xl_vread, daemon, endpoint):
    daemon(BEFORE, {**later(BEFORE), "pid": 13})
    done = xl_vread("top", "-b", "-n", "1", "-d", "0.1", "--socket", endpoint)
    assert b"per second: - from here, - from other hosts, - reads, - opens" in done.stdout


@pytest.mark.parametrize("odd", [{}, {"devices": [3, {"counters": 5}], "peers": {"peers": [[]]}}])
def test_unexpected_members_are_no_reason_to_fail(xl_vread, daemon, endpoint, odd):
    daemon(odd)
    done = xl_vread("top", "-b", "-n", "1", "-d", "0.1", "--socket", endpoint)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("column", ORDERS)
def test_sort(xl_vread, daemon, endpoint, column):
    idle = {"bytes": 0, "remote": {"bytes": 0}, "reads": 0, "opens": 0, "errors": {}}
    after = [sortable(name) for name in "dbac"]
    before = [{"name": device["name"], "counters": idle} for device in after]
    daemon({**BEFORE, "devices": before}, {**BEFORE, "devices": after})
    options = () if column == "bytes" else ("--sort", column)
    done = xl_vread("top", "-b", "-n", "1", "-d", "0.1", *options, "--socket", endpoint)
    assert (done.returncode, done.stderr) == (0, b"")
    found = devices(done.stdout.decode().splitlines())
    assert found == [f"xen:{name}/0" for name in ORDERS[column]]


def test_sort_by_an_unknown_column(xl_vread, endpoint):
    done = xl_vread("top", "-b", "--sort", "read", "--socket", endpoint)
    assert done.returncode == 2
    assert b"--sort read: expected bytes, here, remote, reads, opens, errors, open or name" in (
        done.stderr
    )


def plot(done):
    """The plot, and the text behind it."""
    line = row(done.stdout.decode().splitlines(), "last minute: ")
    return line[13:43], line[43:]


@pytest.mark.parametrize(
    ("locale", "full", "none"),
    [
        ({"LC_ALL": "C.UTF-8"}, "█", "▁"),
        ({"LC_ALL": "", "LC_CTYPE": "", "LANG": "C.UTF-8"}, "█", "▁"),
        ({"LC_ALL": "C"}, "#", "_"),
        ({"LC_ALL": "C", "LANG": "C.UTF-8"}, "#", "_"),
        ({"LC_ALL": "xx_XX.UTF-8"}, "#", "_"),  # a locale that this machine has not
    ],
)
def test_the_last_minute(xl_vread, daemon, endpoint, locale, full, none):
    """Rounds of 0.1 s are less than a column; tests/unit/test_top_plot.c has the others."""
    with daemon(BEFORE, {**BEFORE, "totals": {"bytes": 9 << 30}}):
        done = xl_vread("top", "-b", "-n", "1", "-d", "0.1", "--socket", endpoint, env=locale)
        assert (done.returncode, done.stderr) == (0, b"")
        bars, highest = plot(done)
        assert bars == " " * 29 + full
        assert re.fullmatch(r"  at most [\d.]+ [KMG]iB per second", highest)
    os.unlink(endpoint)
    daemon(BEFORE)
    done = xl_vread("top", "-b", "-n", "1", "-d", "0.1", "--socket", endpoint, env=locale)
    assert plot(done) == (" " * 29 + none, "  at most 0 B per second")


def test_the_last_minute_of_another_vreadd(xl_vread, daemon, endpoint):
    daemon(BEFORE, {**later(BEFORE), "pid": 13})
    done = xl_vread("top", "-b", "-n", "1", "-d", "0.1", "--socket", endpoint)
    assert plot(done) == (" " * 30, "  at most - per second")


def test_no_daemon(xl_vread, endpoint):
    done = xl_vread("top", "-b", "--socket", endpoint)
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"no such socket; is vreadd running" in done.stderr


def test_no_terminal(xl_vread, endpoint):
    done = xl_vread("top", "--socket", endpoint, stdin=b"")
    assert done.returncode == 1
    assert b"standard input: not a terminal; use --batch" in done.stderr


class Terminal:
    """Runs xl-vread top on a terminal of that size, and keeps what the terminal shows."""

    def __init__(self, endpoint, rows, columns, environment):
        self.master, slave = pty.openpty()
        self.resize(rows, columns, slave)
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        command = [XL_VREAD, "top", "-d", "0.2", "--socket", endpoint]
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=environment
        )
        os.close(slave)

    def resize(self, rows, columns, fd=None):
        fcntl.ioctl(fd or self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, condition):
        def shows():
            if select.select([self.master], [], [], 0)[0]:
                piece = os.read(self.master, 65536)
                self.raw += piece
                self.stream.feed(piece)
            return condition(self.screen.display)

        eventually(shows, what="on the screen")
        return self.screen.display

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def terminal(endpoint):
    opened = []

    def start(rows=24, columns=80, locale="C.UTF-8"):
        opened.append(Terminal(endpoint, rows, columns, os.environ | {"LC_ALL": locale}))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def test_a_terminal_of_24_lines(daemon, terminal):
    daemon(BEFORE, later(BEFORE))
    shown = terminal()
    lines = shown.until(lambda lines: any(line.startswith("host-c") for line in lines))
    assert lines[0].startswith("vreadd 9.9, up 1d 01:01:01, 3 devices, 3 datanodes")
    assert row(lines, "DEVICE").split()[-1] == "OPEN"

    def is_idle(lines):
        """True if the rates are 0 and the devices are drawn, by name, since none is busier."""
        idle = lines[1].startswith("per second: 0 B from here")
        return idle and devices(lines) == ["xen:7/0", "xen:8/0", "xen:9/0"]

    lines = shown.until(is_idle)
    assert row(lines, "xen:7/0").split()[1:3] == ["client", "Connected"]
    assert [line.rstrip() for line in lines].count("") >= 3
    os.write(shown.master, b"q")
    assert shown.process.wait(60) == 0
    shown.until(lambda _: b"\x1b[?1049l" in shown.raw)  # the earlier screen is restored


def test_a_smaller_terminal(daemon, terminal):
    document = {**BEFORE, "devices": [{"name": f"xen:{n}/0"} for n in range(100)]}
    daemon(document)
    shown = terminal(rows=12, columns=60)
    more = r"\.\.\. \d+ more lines: enlarge the window"
    lines = shown.until(lambda lines: re.match(more, lines[10]))
    assert row(lines, "DEVICE").rstrip().endswith("READS/s")
    shown.screen.resize(30, 80)
    shown.resize(30, 80)
    shown.process.send_signal(signal.SIGWINCH)
    lines = shown.until(lambda lines: lines[28].startswith("..."))
    assert row(lines, "DEVICE").rstrip().endswith("OPEN")
    shown.process.send_signal(signal.SIGINT)
    assert shown.process.wait(60) == 0


@pytest.mark.parametrize(("locale", "full"), [("C.UTF-8", "█"), ("C", "#")])
def test_a_plot_on_a_narrow_terminal(daemon, terminal, locale, full):
    """Lines are cut by columns, which a character of several bytes takes one of."""
    daemon(BEFORE, {**BEFORE, "totals": {"bytes": 9 << 30}})
    shown = terminal(columns=43, locale=locale)
    shown.until(lambda lines: any(full in line for line in lines))

    def is_whole(lines):
        """True if the rates are 0 by now, and the last column has a bar."""
        plots = [line for line in lines if line.startswith("last minute: ")]
        return lines[1].startswith("per second: 0 B from here") and plots and plots[0][42] != " "

    lines = shown.until(is_whole)
    assert "\N{REPLACEMENT CHARACTER}" not in "".join(lines)  # no character was cut in two
    assert row(lines, "DEVICE").rstrip().endswith("HERE/s")


def test_a_daemon_that_goes_away(daemon, terminal):
    one = daemon(BEFORE)
    shown = terminal()
    shown.until(lambda lines: any(line.startswith("xen:9/0") for line in lines))
    one.close()
    lines = shown.until(lambda lines: "vreadd is not running; start it" in lines[0])
    assert row(lines, "xen:9/0")
