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
        places: {VALUE: {files: /HDFS/FOLDER, datanodes: [HOST:PORT], transports: [TRANSPORT],
                 enter, leave}}
        settings: {VALUE: {properties: {PROPERTY: VALUE}, enter, leave}}
        cold: [COMMAND]          before each sequential read: empties caches
        vreadds: [COMMAND]       prints the status of a vreadd that the client reads through
        cpu: {PART: [COUNTER]}   CPU time by part; see accounting.py
        counters: {copied-bytes: [COUNTER], instructions: [COUNTER]}
        versions: {WHAT: COMMAND}

A COMMAND has `host` and `command`, a line for that host's shell.
"""

import shlex
from dataclasses import dataclass, field

from . import accounting, located
from .bytes_by import TRANSPORTS
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
    transports: tuple = ()  # of places: ways by which vreadd must have had the bytes; (): any
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
    vreadds: list  # commands that print the status of each vreadd
    cpu: dict = field(default_factory=dict)  # part: [Counter]
    counters: dict = field(default_factory=dict)
    versions: dict = field(default_factory=dict)


def read(path):
    """{name: Target} of the file `path`."""
    document = located.load(path)
    parts = document.noted(document.named, "targets") or {}
    found = {name: document.noted(_target, name, part) for name, part in parts.items()}
    document.done()
    document.end()
    return found


def _target(name, part):
    if not located.NAME.fullmatch(name):
        part.fail("", f"target {name!r}: expected letters, digits, `.`, `_`, `-`")
    noted = part.noted
    sections = noted(part.named, "hosts") or {}
    hosts = {key: noted(_host, key, section) for key, section in sections.items()}
    target = Target(
        name=name,
        kind=noted(_kind, part),
        emulated=noted(part.truth, "emulated", False),
        client=noted(_client, part, hosts),
        ways=noted(_ways, part),
        loads=noted(_states, part, "loads", hosts),
        places=noted(_states, part, "places", hosts),
        images=noted(_states, part, "images", hosts),
        settings=noted(_settings, part, hosts),
        cold=noted(_commands, part, "cold", hosts),
        vreadds=noted(_commands, part, "vreadds", hosts),
        cpu=noted(_counters, part, "cpu", hosts, PARTS),
        counters=noted(_counters, part, "counters", hosts, COUNTERS),
        versions=noted(_versions, part, hosts),
    )
    part.done()
    return target


def _kind(part):
    kind = part.texts("kind", allowed=KINDS)
    if len(kind) != 1:
        part.fail("kind", "expected one of " + ", ".join(KINDS))
    return kind[0]


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


def _client(target, hosts):
    part = target.section("client")
    host = part.noted(_known_host, part, hosts)
    folder = part.text("folder", "/var/tmp/vread-bench")
    timeout = part.noted(part.number, "timeout", 1, 7 * 86400, TIMEOUT)
    keep = part.noted(part.truth, "keep", False)
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
            section.noted(section.fail, way, f"expected one of {', '.join(WAYS)}")
    return {way: section.noted(section.pairs, way) for way in section.names()}


def _settings(part, hosts):
    """The default setting changes nothing, unless the file says what it is."""
    return {DEFAULT: State()} | _states(part, "settings", hosts, optional=True)


def _states(part, key, hosts, optional=False):
    sections = part.named(key, optional).items()
    return {name: section.noted(_state, name, section, key, hosts) for name, section in sections}


def _state(name, section, key, hosts):
    noted = section.noted
    if not located.NAME.fullmatch(name):
        noted(section.fail, "", f"{name!r}: expected letters, digits, `.`, `_`, `-`")
    place = key == "places"
    state = State(
        *(tuple(noted(_commands, section, k, hosts) or ()) for k in ("enter", "leave")),
        files=noted(_files, section) if place else "",
        datanodes=tuple(noted(section.texts, "datanodes", []) or ()) if place else (),
        transports=tuple(noted(section.texts, "transports", [], TRANSPORTS) or ()) if place else (),
        properties=noted(section.pairs, "properties") if key == "settings" else {},
    )
    section.done()
    return state


def _files(section):
    files = section.text("files")
    if not files.startswith("/"):
        section.fail("files", f"{files!r}: expected an absolute path in HDFS")
    return files


def _commands(part, key, hosts):
    sections = part.sections(key, optional=True)
    return [section.noted(_command, section, hosts) for section in sections]


def _command(section, hosts):
    host = section.noted(_known_host, section, hosts)
    command = Command(host, section.noted(section.text, "command"))
    section.done()
    return command


def _versions(part, hosts):
    return {
        name: section.noted(_command, section, hosts)
        for name, section in part.named("versions", optional=True).items()
    }


def _counters(part, key, hosts, allowed):
    section = part.section(key, optional=True)
    found = {}
    for name in section.names() if section else ():
        if name not in allowed:
            section.noted(section.fail, name, f"expected one of {', '.join(allowed)}")
        found[name] = [
            section.noted(accounting.counter, item, item.noted(_known_host, item, hosts))
            for item in section.noted(section.sections, name) or ()
        ]
    return found


def _known_host(section, hosts):
    name = section.text("host")
    if name not in hosts:
        section.fail("host", f"{name!r}: expected one of {', '.join(hosts)}")
    return hosts[name]
