# SPDX-License-Identifier: GPL-2.0-or-later
"""The dashboard for Grafana: a real Prometheus must have an answer to every expression.

The counters come to Prometheus as an operator collects them: `xl-vread metrics` writes a file for
the textfile collector of node_exporter.  Two hosts have a real vreadd, and the first reads from the
second.  The third host has a guest of Xen; a control socket of the test answers in place of its
vreadd.
"""

import contextlib
import errno
import itertools
import json
import os
import re
import subprocess

import pytest

from tests.cli.conftest import XL_VREAD
from tests.cli.control_socket import ControlSocket
from tests.libvread import vreadlib
from tests.libvread.conftest import lib  # noqa: F401
from tests.protocol.test_peer_reads import HERE, THERE, make_disk
from tests.support.block_token import Key, make_token
from tests.support.hdfs_dir import POOL
from tests.support.peers import free_address
from tests.support.prometheus import NodeExporter, Prometheus
from tests.support.waiting import eventually
from tools.peers import Authority, peer
from tools.vreadd import REPOSITORY, Vreadd

DASHBOARD = REPOSITORY / "tools/xl-vread/grafana/vread.json"
# What Grafana puts in for "All", and for an interval that has several scrapes.
VARIABLES = {"$host": ".*", "$client": ".*", "$__rate_interval": "5m"}
MIB = 1 << 20
KEY = Key(7)
# A device of Xen has counters that a connection of the local port has not.
XEN_HOST = {
    "version": "9.9",
    "totals": {"opens": 0, "reads": 0, "bytes": 0, "remote": {"bytes": 0}},
    "devices": [{"name": "xen:7/0", "state": "Connected", "connects_delayed": 3}],
}
# Titles of panels with rates that read() makes greater than 0.
RATES_OF_READS = {
    "Bytes per second, by client",
    "Reads per second, by client",
    "Opens per second, by client",
    "Bytes per second, by place",
    "Share of requests that failed",
    "Errors per second, by reason",
    "Errors per second, by client",
    "Refused block tokens per second, by reason",
    "Hits",
    "Errors of other hosts per second, by reason",
}


@pytest.fixture(scope="module")
def dashboard():
    return json.loads(DASHBOARD.read_text())


def panels(dashboard):
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def expressions(dashboard, titles=None):
    """The expressions of all panels, or of those with these titles, as Grafana asks for them."""
    for panel in panels(dashboard):
        for target in panel["targets"] if not titles or panel["title"] in titles else ():
            expression = target["expr"]
            for name, value in VARIABLES.items():
                expression = expression.replace(name, value)
            yield expression


def test_the_file(dashboard):
    """What Grafana does not tell at an import: it draws one panel over the other, and asks another
    data source than the chosen one."""
    everything = dashboard["panels"]
    assert len({panel["id"] for panel in everything}) == len(everything)
    places = [panel["gridPos"] for panel in everything]
    for one, other in itertools.combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below, (one, other)
    assert all(place["x"] + place["w"] <= 24 for place in places)
    source = {"type": "prometheus", "uid": "${datasource}"}
    for panel in panels(dashboard):
        for asking in (panel, *panel["targets"]):
            assert asking["datasource"] == source, panel["title"]
        for target in panel["targets"]:
            for selector in re.findall(r"\w+\{([^}]*)\}", target["expr"]):
                assert 'instance=~"$host"' in selector, target["expr"]
    assert {variable["name"] for variable in dashboard["templating"]["list"]} == {
        "datasource", "host", "client",
    }  # fmt: skip


class Host:
    """A host's vreadd, or what takes its place, and its node_exporter."""

    def __init__(self, folder, control_socket, stack):
        self.file = folder / "vread.prom"
        self.control_socket = control_socket
        self.write_counters()
        self.exporter = stack.enter_context(NodeExporter(folder))

    def write_counters(self):
        """What vread-metrics.timer does every 15 seconds."""
        command = [XL_VREAD, "metrics", "--output", self.file, "--socket", self.control_socket]
        subprocess.run(command, check=True)


class Hosts:
    """Hosts a, b and xen.  connection: a client of a."""

    def __init__(self, folder, endpoint, lib, stack):  # noqa: F811
        for name in ("here", "there", "a", "b", "xen"):
            (folder / name).mkdir()
        self.here = make_disk(folder / "here", HERE, 1073741825)
        self.there = make_disk(folder / "there", THERE, 1073745921)
        direct = self.require_o_direct()
        authority, address = Authority(folder), free_address()
        answers = authority.host("b", listen=address) + peer("a", allow_datanodes="dn-there")
        asks = authority.host("a", answer_timeout=60_000)
        asks += peer("b", address=address, storages=f"dn-there/{THERE}")
        self.b = stack.enter_context(
            Vreadd({"dn-there": self.there.served}, "asan", sections=answers)
        )
        self.a = stack.enter_context(
            Vreadd({"dn-here": self.here.served}, "asan", ("dn-here",), sections=direct + asks)
        )
        self.connection = stack.enter_context(vreadlib.Connection(lib, self.a.endpoint))
        self.connection.publish_keys(POOL, HERE, [KEY])
        stack.enter_context(ControlSocket(endpoint, json.dumps(XEN_HOST).encode() + b"\n"))
        self.read()
        self.hosts = {
            name: Host(folder / name, control_socket, stack)
            for name, control_socket in (
                ("a", self.a.control_socket),
                ("b", self.b.control_socket),
                ("xen", endpoint),
            )
        }
        exporters = {name: host.exporter for name, host in self.hosts.items()}
        self.prometheus = stack.enter_context(Prometheus(folder, exporters))

    def require_o_direct(self):
        """The line that has the image read with O_DIRECT, for the verified cache."""
        image = self.here.served[0]
        try:
            os.close(os.open(image, os.O_RDONLY | os.O_DIRECT))
        except OSError as error:
            pytest.skip(f"{image}: {error}")
        return "image-mode = direct\n"

    def read(self):
        """Reads 2 MiB of this host and 1 MiB of the other, and fails to open two blocks."""
        ours, theirs = self.here.blocks[0], self.there.blocks[0]
        token = make_token(KEY, POOL, ours.id)
        with self.open(ours, HERE, token) as file:
            for _ in range(2):
                assert file.pread(MIB, 0) == ours.content()[:MIB]
        with self.open(theirs, THERE) as file:
            assert file.pread(MIB, 0) == theirs.content()[:MIB]
        self.expect(errno.EPERM, lambda: self.open(ours, HERE))
        self.expect(errno.ENOENT, lambda: self.connection.open(POOL, 1, 1, storages=[THERE]))

    def open(self, block, storage, token=None):
        return self.connection.open(POOL, block.id, block.genstamp, 0, [storage], token)

    @staticmethod
    def expect(number, call):
        with pytest.raises(OSError) as caught:
            call()
        assert caught.value.errno == number, caught.value

    def write_counters(self):
        for host in self.hosts.values():
            host.write_counters()

    def value(self, expression):
        """The value of the only series; None: there is none yet."""
        found = self.prometheus.query(expression)
        assert len(found) <= 1, found
        return found[0][1] if found else None


@pytest.fixture(scope="module")
def hosts(tmp_path_factory, lib):  # noqa: F811
    """Prometheus has the counters of before and after a read."""
    folder = tmp_path_factory.mktemp("hosts")
    with contextlib.ExitStack() as stack:
        socket_folder = tmp_path_factory.mktemp("s")
        all_hosts = Hosts(folder, socket_folder / "socket", lib, stack)
        total = 'vread_bytes_total{instance="a"}'
        eventually(lambda: all_hosts.value(total) == 3 * MIB, what=all_hosts.prometheus.log)
        all_hosts.read()
        all_hosts.write_counters()
        eventually(lambda: all_hosts.value(total) == 6 * MIB, what=all_hosts.prometheus.log)
        yield all_hosts


def test_every_expression_has_an_answer(hosts, dashboard):
    asked = list(expressions(dashboard))
    assert len(asked) >= 30

    def unanswered():
        return [expression for expression in asked if not hosts.prometheus.query(expression)]

    eventually(lambda: not unanswered(), what=lambda: "\n".join(unanswered()))


def test_reads_show_in_the_rates(hosts, dashboard):
    assert {panel["title"] for panel in panels(dashboard)} >= RATES_OF_READS
    asked = list(expressions(dashboard, RATES_OF_READS))

    def still():
        return [e for e in asked if not any(value > 0 for _, value in hosts.prometheus.query(e))]

    eventually(lambda: not still(), what=lambda: "\n".join(still()))


def test_bytes_are_those_of_the_status(hosts, dashboard):
    (expression,) = expressions(dashboard, {"Bytes given to readers"})
    expected = {name: getattr(hosts, name).status()["totals"]["bytes"] for name in ("a", "b")}
    assert expected == {"a": 6 * MIB, "b": 0}
    found = {labels["instance"]: value for labels, value in hosts.prometheus.query(expression)}
    assert found == {**expected, "xen": 0}
    (device,) = hosts.a.status()["devices"]
    of_device = f'vread_device_bytes_total{{instance="a", device="{device["name"]}"}}'
    assert hosts.value(of_device) == device["counters"]["bytes"] == 6 * MIB
    (asked,) = hosts.a.status()["peers"]["peers"]
    assert hosts.value('vread_peer_asked_bytes_total{instance="a"}') == asked["asked"]["bytes"]
    assert asked["asked"]["bytes"] == 2 * MIB


def test_what_the_variables_offer(hosts, dashboard):
    offered = {}
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(
                r"label_values\((.*), (\w+)\)", variable["query"]["query"]
            ).groups()
            metric = metric.replace("$host", VARIABLES["$host"])
            offered[variable["name"]] = hosts.prometheus.label_values(metric, label)
    assert offered["host"] == ["a", "b", "xen"]
    assert hosts.a.status()["devices"][0]["name"] in offered["client"]
    assert "xen:7/0" in offered["client"]


def test_a_vreadd_that_is_gone(hosts, dashboard, tmp_path):
    (expression,) = expressions(dashboard, {"vreadd"})

    def found():
        return {labels["instance"]: value for labels, value in hosts.prometheus.query(expression)}

    def await_up(**expected):
        eventually(lambda: found() == expected, what=lambda: f"{expected}, not {found()}")

    done = subprocess.run(
        [XL_VREAD, "metrics", "--output", hosts.hosts["xen"].file, "--socket", tmp_path / "none"],
        capture_output=True,
    )
    assert done.returncode == 3
    await_up(a=1, b=1, xen=0)
    hosts.write_counters()
    await_up(a=1, b=1, xen=1)
