# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the targets file: on which machines the cells run, and how.  docs/benchmarking.md has an
example for bare machines, Xen and KVM.

    targets:
      NAME:
        kind: bare | xen | kvm
        emulated: no             yes: processors are emulated, so no speed is a real one
        hosts: {NAME: {by: local} or {by: ssh, host, user, port, identity, options}
                or {by: command, command}}
        client:                  the JVM that reads and writes
          host, java, options, class-path, folder; or a whole `command`; keep
        ways: {stock: {PROPERTY: VALUE}, ...}
        loads, images: {VALUE: {enter: [COMMAND], leave: [COMMAND]}}
        places: {VALUE: {files: /HDFS/FOLDER, datanodes: [HOST:PORT], enter, leave}}
        settings: {VALUE: {properties: {PROPERTY: VALUE}, enter, leave}}
        cold: [COMMAND]          before each sequential read: empties caches
        cpu: {PART: [COUNTER]}   CPU time by part; see accounting.py
        counters: {copied-bytes: [COUNTER], instructions: [COUNTER]}
        versions: {WHAT: COMMAND}

A COMMAND has `host` and `command`, a line for that host's shell.
"""

import shlex
from dataclasses import dataclass, field

from . import accounting, located
from .hosts import Host, ssh
from .spec import DEFAULT, WAYS

KINDS = ("bare", "xen", "kvm")
PARTS = ("client", "datanode", "host", "network")
COUNTERS = ("copied-bytes", "instructions")
TIMEOUT = 3600  # of a client's round


@dataclass(frozen=True)
class Command:
    host: Host
    line: str

    def run(self):
        return self.host.run(self.line)


@dataclass(frozen=True)
class State:
    """One value of a dimension: the commands that make it so, and those that end it."""

    enter: tuple = ()
    leave: tuple = ()
    files: str = ""  # of places: the HDFS folder of the files
    datanodes: tuple = ()  # of places: where prepare puts their blocks, HOST:PORT
    properties: dict = field(default_factory=dict)  # of settings: of Hadoop, for all ways


@dataclass(frozen=True)
class Client:
    host: Host
    folder: str
    command: str  # for a shell
    jars: bool  # the jars of this package must be put into `folder`
    timeout: int
    keep: bool = False  # one client for all rounds of a run


@dataclass
class Target:
    name: str
    kind: str
    emulated: bool
    client: Client
    ways: dict
    loads: dict
    places: dict
    images: dict
    settings: dict
    cold: list
    cpu: dict = field(default_factory=dict)  # part: [Counter]
    counters: dict = field(default_factory=dict)
    versions: dict = field(default_factory=dict)


def read(path):
    """{name: Target} of the file `path`."""
    document = located.load(path)
    found = {name: _target(name, part) for name, part in document.named("targets").items()}
    document.done()
    return found


def _target(name, part):
    if not located.NAME.fullmatch(name):
        part.fail("", f"target {name!r}: expected letters, digits, `.`, `_`, `-`")
    kind = part.texts("kind", allowed=KINDS)
    if len(kind) != 1:
        part.fail("kind", "expected one of " + ", ".join(KINDS))
    hosts = {key: _host(key, section) for key, section in part.named("hosts").items()}
    target = Target(
        name=name,
        kind=kind[0],
        emulated=part.truth("emulated", False),
        client=_client(part.section("client"), hosts),
        ways=_ways(part),
        loads=_states(part, "loads", hosts),
        places=_states(part, "places", hosts),
        images=_states(part, "images", hosts),
        settings=_settings(part, hosts),
        cold=_commands(part, "cold", hosts),
        cpu=_counters(part, "cpu", hosts, PARTS),
        counters=_counters(part, "counters", hosts, COUNTERS),
        versions=_versions(part, hosts),
    )
    part.done()
    return target


def _host(name, part):
    by = part.text("by")
    if by == "local":
        host = Host(name)
    elif by == "ssh":
        host = ssh(
            name,
            part.text("host"),
            part.text("user", None),
            part.number("port", 1, 65535, 22),
            part.text("identity", None),
            part.texts("options", []),
        )
    elif by == "command":
        host = Host(name, _words(part, "command"))
    else:
        part.fail("by", f"{by!r}: expected local, ssh or command")
    part.done()
    return host


def _words(part, key):
    try:
        words = shlex.split(part.text(key))
    except ValueError as error:
        part.fail(key, str(error))
    return words or part.fail(key, "is empty")


def _client(part, hosts):
    host = _known_host(part, hosts)
    folder = part.text("folder", "/var/tmp/vread-bench")
    timeout = part.number("timeout", 1, 7 * 86400, TIMEOUT)
    keep = part.truth("keep", False)
    command = part.text("command", None)
    jars = command is None
    if jars:
        java = part.text("java", "java")
        options = " ".join(part.texts("options", []))
        class_path = f"{folder}/vread-bench.jar:{folder}/HdrHistogram.jar:{part.text('class-path')}"
        command = f"exec {java} {options} -cp '{class_path}' io.vread.bench.Client"
    part.done()
    return Client(host, folder, command, jars, timeout, keep)


def _ways(part):
    section = part.section("ways")
    for way in section.names():
        if way not in WAYS:
            section.fail(way, f"expected one of {', '.join(WAYS)}")
    return {way: section.pairs(way) for way in section.names()}


def _settings(part, hosts):
    """The default setting changes nothing, unless the file says what it is."""
    return {DEFAULT: State()} | _states(part, "settings", hosts, optional=True)


def _states(part, key, hosts, optional=False):
    states = {}
    for name, section in part.named(key, optional).items():
        if not located.NAME.fullmatch(name):
            section.fail("", f"{name!r}: expected letters, digits, `.`, `_`, `-`")
        place = key == "places"
        files = section.text("files") if place else ""
        if place and not files.startswith("/"):
            section.fail("files", f"{files!r}: expected an absolute path in HDFS")
        datanodes = tuple(section.texts("datanodes", [])) if place else ()
        properties = section.pairs("properties") if key == "settings" else {}
        enter, leave = (tuple(_commands(section, k, hosts)) for k in ("enter", "leave"))
        section.done()
        states[name] = State(enter, leave, files, datanodes, properties)
    return states


def _commands(part, key, hosts):
    return [_command(section, hosts) for section in part.sections(key, optional=True)]


def _command(section, hosts):
    command = Command(_known_host(section, hosts), section.text("command"))
    section.done()
    return command


def _versions(part, hosts):
    return {
        name: _command(section, hosts)
        for name, section in part.named("versions", optional=True).items()
    }


def _counters(part, key, hosts, allowed):
    section = part.section(key, optional=True)
    found = {}
    for name in section.names() if section else ():
        if name not in allowed:
            section.fail(name, f"expected one of {', '.join(allowed)}")
        found[name] = [
            accounting.counter(item, _known_host(item, hosts)) for item in section.sections(name)
        ]
    return found


def _known_host(section, hosts):
    name = section.text("host")
    if name not in hosts:
        section.fail("host", f"{name!r}: expected one of {', '.join(hosts)}")
    return hosts[name]
