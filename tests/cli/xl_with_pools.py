# SPDX-License-Identifier: GPL-2.0-or-later
"""A fake xl for test_turbo.py that knows only CPU pools.  It answers as the xl of Xen 4.17 does.
When a domain moves, it forgets the same settings that Xen forgets.

    with Xl(folder, pools=[...], slices={}, domains=[...], fails=[], lies=[], kills=[]) as xl:
        subprocess.run([...], env={"PATH": xl.path})
        xl.state["pools"]

A command line in "fails" exits with 1.  One in "lies" succeeds without doing anything.  One in
"kills" does its work and then kills its caller.

The tests call xl hundreds of times, so xl is a small shell script that asks a thread of the test.
"""

import contextlib
import copy
import os
import signal
import threading

from tests.support.waiting import eventually

SCRIPT = """#!/bin/sh
{{ echo "$PPID"; printf '%s\\n' "$@"; }} >'{folder}/asked'
exec <'{folder}/answered'
read -r code
while IFS= read -r line; do
    case $line in
    1*) printf '%s\\n' "${{line#1}}" ;;
    2*) printf '%s\\n' "${{line#2}}" >&2 ;;
    esac
done
exit "$code"
"""
FREE = {"weight": 256, "cap": 0, "hard": "all", "soft": "all"}


class Xl:
    def __init__(self, folder, **state):
        self.state = state
        self.folder = folder
        folder.mkdir()
        script = folder / "xl"
        script.write_text(SCRIPT.format(folder=folder))
        script.chmod(0o755)
        self.asked, self.answered = folder / "asked", folder / "answered"
        for pipe in (self.asked, self.answered):
            os.mkfifo(pipe)
        self.thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def path(self):
        return f"{self.folder}:{os.environ['PATH']}"

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        eventually(self._has_ended, what="the end of xl")

    def _has_ended(self):
        with contextlib.suppress(OSError):  # the thread does not read yet, or has ended
            os.close(os.open(self.asked, os.O_WRONLY | os.O_NONBLOCK))
        self.thread.join(0.01)
        return not self.thread.is_alive()

    def _serve(self):
        while words := self.asked.read_text().splitlines():
            code, lines = self._run(int(words[0]), words[1:])
            text = "".join(f"{2 if isinstance(line, Complaint) else 1}{line}\n" for line in lines)
            self.answered.write_text(f"{code}\n{text}")

    def _run(self, caller, words):
        line = " ".join(words)
        if line in self.state["fails"]:
            return 1, []
        if line in self.state["lies"]:
            return 0, []
        state = copy.deepcopy(self.state)
        try:
            lines = list(COMMANDS[words[0]](state, *words[1:]) or ())
        except Exception as problem:  # Refused, or a bug here: the caller must get an answer
            return 1, [Complaint(problem)]
        self.state = state
        if line in state["kills"]:
            os.kill(caller, signal.SIGKILL)
        return 0, lines


class Refused(Exception):
    pass


class Complaint(str):
    """A line of standard error."""


def cpus_of(text):
    found = []
    for item in text.split(","):
        first, _, last = item.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def pool_of(host, name):
    for pool in host["pools"]:
        if pool["name"] == name:
            return pool
    raise Refused(f"unknown cpupool '{name}'")


def domain_of(host, domid):
    return next(d for d in host["domains"] if d["id"] == int(domid))


def cpupool_list(host, *options):
    yield "Name               CPU list" if options else "Name               CPUs   Sched ..."
    for pool in host["pools"]:
        members = sum(d["pool"] == pool["name"] for d in host["domains"])
        what = ",".join(map(str, pool["cpus"]))
        if not options:
            what = f"{len(pool['cpus']):3d}  {pool['scheduler']:>9s}       y       {members:4d}"
        yield f"{pool['name']:<19s}{what}"


def list_domains(host, *options):
    yield "Name                                        ID   Mem VCPUs\tState\tTime(s)    Cpupool"
    for d in host["domains"]:
        yield f"{d['name']:<40s} {d['id']:5d}   192     1     -b----      17.2 {d['pool']:>15s}"


def cpupool_create(host, *lines):
    words = {key: value.strip('"') for key, _, value in (line.partition("=") for line in lines)}
    cpus = cpus_of(words["cpus"])
    for pool in host["pools"]:
        for cpu in set(pool["cpus"]) & set(cpus):
            raise Refused(f"cpu {cpu} illegal or not free")
    scheduler = host.get("scheduler", words["sched"])
    host["pools"].append({"name": words["name"], "scheduler": scheduler, "cpus": cpus})
    host["slices"][words["name"]] = [30, 1000]
    yield 'Using config file "command line"'


def cpupool_destroy(host, name):
    if any(d["pool"] == name for d in host["domains"]):
        raise Refused(f"Can't destroy cpupool '{name}'")
    host["pools"].remove(pool_of(host, name))


def cpupool_cpu_add(host, name, cpu):
    if any(int(cpu) in pool["cpus"] for pool in host["pools"]):
        yield Complaint("libxl: error: Error moving cpu to cpupool: No such device")
        return
    pool_of(host, name)["cpus"].append(int(cpu))
    pool_of(host, name)["cpus"].sort()


def cpupool_cpu_remove(host, name, cpu):
    if cpu == "0":  # the real xl prints an error, and succeeds
        yield Complaint("libxl: error: Error removing cpu 0 from cpupool: Invalid argument")
        return
    pool_of(host, name)["cpus"].remove(int(cpu))


def cpupool_migrate(host, domid, name):
    pool_of(host, name)
    domain_of(host, domid).update(FREE | {"pool": name})


def sched_credit(host, *options):
    words = dict(zip(options[::2], options[1::2], strict=False))
    if options[0] == "-s":
        name = options[2]
        if "-t" in options:
            host["slices"][name] = [int(options[4]), int(options[6])]
        else:
            slice_ms, limit = host["slices"][name]
            yield f"Cpupool {name}: tslice={slice_ms}ms ratelimit={limit}us migration-delay=0us"
        return
    d = domain_of(host, words["-d"])
    if pool_of(host, d["pool"])["scheduler"] != "credit":
        raise Refused(f"domain {d['id']}: Invalid argument")
    if "-w" in words:
        d.update(weight=int(words["-w"]), cap=int(words["-c"]))
    else:
        yield "Name                                ID Weight  Cap"
        yield f"{d['name']:<33s} {d['id']:4d} {d['weight']:6d} {d['cap']:4d}"


def vcpu_list(host, *domids):
    heading = "Name                                ID  VCPU   CPU State   Time(s)"
    yield heading + " Affinity (Hard / Soft)"
    for d in host["domains"]:
        if not domids or str(d["id"]) in domids:
            affinity = f"{d['hard']} / {d['soft']}"
            yield f"{d['name']:<32s} {d['id']:5d} {0:5d} {1:4d}   -b-      17.3  {affinity}"


def vcpu_pin(host, domid, _vcpu, hard, soft):
    d = domain_of(host, domid)
    if hard != "all" and not set(cpus_of(hard)) & set(pool_of(host, d["pool"])["cpus"]):
        raise Refused("Could not set affinity for vcpu `0'.")
    d.update(hard=hard, soft=soft)


COMMANDS = {
    "cpupool-list": cpupool_list,
    "list": list_domains,
    "cpupool-create": cpupool_create,
    "cpupool-destroy": cpupool_destroy,
    "cpupool-cpu-add": cpupool_cpu_add,
    "cpupool-cpu-remove": cpupool_cpu_remove,
    "cpupool-migrate": cpupool_migrate,
    "sched-credit": sched_credit,
    "vcpu-list": vcpu_list,
    "vcpu-pin": vcpu_pin,
}
