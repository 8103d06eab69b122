# SPDX-License-Identifier: GPL-2.0-or-later
"""xl-vread turbo: it must make a pool and move domains there, and afterwards put everything back,
also after failures.

xl is the fake of xl_with_pools.py; tests/xen/test_turbo.py uses the real xl.
"""

import copy
import signal
import subprocess

import pytest

from tests.cli.conftest import clean_environment
from tests.cli.xl_with_pools import FREE, Xl
from tests.libvread.conftest import BUILD

XL_VREAD = BUILD / "asan/xl-vread"
UUIDS = {3: "6d5b9a4e-0f2f-4b5c-9d7e-2f1a3b4c5d63", 4: "6d5b9a4e-0f2f-4b5c-9d7e-2f1a3b4c5d64"}
QUIET = {"fails": [], "lies": [], "kills": []}


class Host:
    """A host with four CPUs in Pool-0, dom0 and two domains.  "client" is pinned, and has a weight
    and a vread device; "two words" has none of these."""

    def __init__(self, folder, store):
        self.store = store
        self.state = folder / "turbo"
        pinned = {"weight": 512, "cap": 50, "hard": "0,3", "soft": "2-3"}
        self.xl = Xl(
            folder / "bin",
            pools=[{"name": "Pool-0", "scheduler": "credit", "cpus": [0, 1, 2, 3]}],
            slices={},
            domains=[
                {"name": "Domain-0", "id": 0, "pool": "Pool-0", **FREE},
                {"name": "client", "id": 3, "pool": "Pool-0", **pinned},
                {"name": "two words", "id": 4, "pool": "Pool-0", **FREE},
            ],
            **QUIET,
        )
        self.environment = clean_environment() | {
            "PATH": self.xl.path,
            "XENSTORED_PATH": store.path,
            "VREAD_TURBO": str(self.state),
        }
        for domid, name in ((3, "client"), (4, "two words")):
            store.put(f"/local/domain/{domid}/name", name)
            store.put(f"/local/domain/{domid}/vm", f"/vm/{UUIDS[domid]}")
        store.put("/local/domain/0/backend/vread/3/0/state", "4")

    def read(self):
        return copy.deepcopy(self.xl.state)

    def write(self, **changes):
        self.xl.state = copy.deepcopy(self.xl.state | changes)

    def turbo(self, *words):
        return subprocess.run(
            [XL_VREAD, "turbo", *words],
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=300,
        )

    def on(self, *words):
        done = self.turbo("on", *words)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def pools(self):
        """{pool: (CPUs, names of domains)}"""
        host = self.read()
        inside = {pool["name"]: [] for pool in host["pools"]}
        for domain in host["domains"]:
            inside[domain["pool"]].append(domain["name"])
        return {p["name"]: (p["cpus"], inside[p["name"]]) for p in host["pools"]}

    def is_as(self, before):
        def seen(host):
            return {key: host[key] for key in ("pools", "domains")}

        return seen(self.read()) == seen(before) and not self.state.exists()


@pytest.fixture
def host(tmp_path, xenstored):
    host = Host(tmp_path, xenstored)
    with host.xl:
        yield host


def test_on_and_off(host):
    before = host.read()
    assert host.on() == (
        "turbo is on: CPUs 3, time slice 1 ms, rate limit 100 us\n"
        "Name                                        ID  Pool before\n"
        "client                                       3  Pool-0\n"
    )
    assert host.pools() == {
        "Pool-0": ([0, 1, 2], ["Domain-0", "two words"]),
        "vread-turbo": ([3], ["client"]),
    }
    assert host.read()["pools"][1]["scheduler"] == "credit"
    assert host.read()["slices"]["vread-turbo"] == [1, 100]
    client = host.read()["domains"][1]
    assert (client["weight"], client["cap"], client["hard"]) == (512, 50, "all")
    assert host.turbo("status").stdout.startswith("turbo is on: CPUs 3,")
    off = host.turbo("off")
    assert (off.returncode, off.stdout, off.stderr) == (0, "", "")
    assert host.is_as(before)
    assert host.turbo("status").stdout == "turbo is off\n"
    assert host.turbo("off").returncode == 0


def test_cpus_slice_and_domains_of_ones_own(host):
    options = ["--cpus", "1-2", "--slice", "5", "--rate-limit", "0"]
    told = host.on(*options, "two words", "3")
    assert told.startswith("turbo is on: CPUs 1-2, time slice 5 ms, rate limit 0 us\n")
    assert host.pools()["vread-turbo"] == ([1, 2], ["client", "two words"])


def test_a_domain_more(host):
    before = host.read()
    host.on("client")
    host.on("--slice", "2", "two words")
    assert host.pools()["vread-turbo"] == ([3], ["client", "two words"])
    assert host.read()["slices"]["vread-turbo"] == [2, 100]
    assert host.turbo("off").returncode == 0
    assert host.is_as(before)


def test_domains_go_back_to_where_they_were(host):
    other = {"name": "other", "scheduler": "credit", "cpus": [2]}
    pools = [{"name": "Pool-0", "scheduler": "credit", "cpus": [0, 1, 3]}, other]
    domains = host.read()["domains"]
    domains[1] |= {"pool": "other", "hard": "2"}
    host.write(pools=pools, domains=domains)
    before = host.read()
    host.on("client", "two words")
    assert host.turbo("off").returncode == 0
    assert host.is_as(before)


def test_their_pool_is_no_more(host):
    before = host.read()
    host.on("client")
    text = host.state.read_text()
    host.state.write_text(text.replace(" Pool-0\n", " gone\n"))
    assert host.turbo("off").returncode == 0
    assert host.is_as(before)


def test_a_domain_nobody_moved_there_goes_to_dom0s(host):
    host.on()
    domains = host.read()["domains"]
    host.write(domains=[*domains, {"name": "new", "id": 9, "pool": "vread-turbo", **FREE}])
    assert "new" not in host.turbo("status").stdout  # xenstore does not know it
    assert host.turbo("off").returncode == 0
    assert host.pools() == {"Pool-0": ([0, 1, 2, 3], ["Domain-0", "client", "two words", "new"])}


# ---- half done


STEPS = [
    "cpupool-cpu-remove Pool-0 3",
    "sched-credit -s -p vread-turbo -t 1 -r 100",
    "cpupool-migrate 3 vread-turbo",
]
WEIGHT = "sched-credit -d 3 -w 512 -c 50"
CREATE = 'cpupool-create name="vread-turbo" sched="credit" cpus="3"'


@pytest.mark.parametrize("step", [*STEPS, CREATE])
def test_what_fails_is_put_back(host, step):
    before = host.read()
    host.write(fails=[step])
    done = host.turbo("on")
    assert done.returncode == 1
    assert done.stdout == ""
    assert f"xl-vread turbo: xl {step.split()[0]}" in done.stderr
    assert "failed: exit code 1\n" in done.stderr
    assert done.stderr.endswith("xl-vread turbo: everything is restored\n")
    assert host.is_as(before)


@pytest.mark.parametrize("step", [*STEPS, WEIGHT])
def test_killed_halfway(host, step):
    before = host.read()
    host.write(kills=[step])
    assert host.turbo("on").returncode == -signal.SIGKILL
    host.write(**QUIET)
    assert not host.is_as(before)
    assert host.turbo("off").returncode == 0
    assert host.is_as(before)


@pytest.mark.parametrize(
    "how, step",
    [
        ("kills", "cpupool-migrate 3 Pool-0"),
        ("kills", "cpupool-cpu-add Pool-0 3"),
        ("fails", "cpupool-destroy vread-turbo"),
        ("fails", WEIGHT),
    ],
)
def test_off_is_begun_and_ended_later(host, how, step):
    before = host.read()
    host.on()
    host.write(**{how: [step]})
    done = host.turbo("off")
    if how == "fails":
        assert done.returncode == 1
        assert "not everything is restored; correct the error" in done.stderr
    else:
        assert done.returncode == -signal.SIGKILL
    host.write(**QUIET)
    assert host.turbo("off").returncode == 0
    assert host.is_as(before)


def test_half_done_is_told(host):
    host.write(kills=["cpupool-cpu-remove Pool-0 3"])
    host.turbo("on")
    status = host.turbo("status")
    assert status.returncode == 1
    assert status.stderr == (
        f"xl-vread turbo: half done: {host.state} exists, but not pool vread-turbo; "
        "'xl-vread turbo off' restores what was changed\n"
    )
    again = host.turbo("on")
    assert again.returncode == 1
    assert "turbo was not switched off; run 'xl-vread turbo off' first" in again.stderr


# ---- mistakes


def refused(host, *words):
    before = host.read()
    done = host.turbo(*words)
    assert (done.returncode, done.stdout) == (1, "")
    assert host.is_as(before)
    return done.stderr.removeprefix("xl-vread turbo: ").removesuffix("\n")


def test_one_cpu(host):
    host.write(pools=[{"name": "Pool-0", "scheduler": "credit", "cpus": [0]}])
    assert refused(host, "on") == (
        "Pool-0 has CPU 0: turbo takes at least one of a pool, and dom0 needs one"
    )


def test_all_cpus(host):
    text = refused(host, "on", "--cpus", "0-3")
    assert text.startswith("Pool-0 has CPUs 0-3: turbo takes at least one")


def test_a_cpu_that_is_not_there(host):
    assert refused(host, "on", "--cpus", "2,7") == "CPU 7: not in Pool-0, which has 0-3"


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_domain_that_could_not_reboot(host, number):
    """A domain is pinned to CPUs that would leave Pool-0; turbo must refuse.  At a reboot xl makes
    every domain again in Pool-0, pinned as before, whether turbo moved it or not."""
    domains = host.read()["domains"]
    domains[number]["hard"] = "2-3"
    host.write(domains=domains)
    text = refused(host, "on", "--cpus", "2,3", "client")
    name = domains[number]["name"]
    assert text.startswith(f"domain {name}: pinned to CPUs 2-3, of which Pool-0 would have none")
    host.on("--cpus", "3", "client")


def test_no_such_domain(host):
    assert refused(host, "on", "nobody") == "domain nobody: no such domain (see xl list)"


def test_its_own_pool_has_another_scheduler(host):
    """Pool-0 has scheduler credit2, Xen's default; turbo must refuse.  A domain that reboots would
    be lost."""
    host.write(pools=[{"name": "Pool-0", "scheduler": "credit2", "cpus": [0, 1, 2, 3]}])
    assert refused(host, "on") == (
        "domain client: its pool Pool-0 has scheduler credit2, and a domain that reboots out of one"
        " with credit cannot be created there; boot Xen with sched=credit (see docs/tuning.md)"
    )


@pytest.mark.parametrize("name", ["0", "Domain-0"])
def test_dom0(host, name):
    assert refused(host, "on", name).startswith(f"domain {name}: dom0 cannot leave Pool-0")


def test_nobody_has_a_device(host):
    host.store.remove("/local/domain/0/backend/vread/3")
    assert refused(host, "on").startswith("no domain has a vread device; name the domains")


def test_a_pool_of_that_name(host):
    pool = {"name": "vread-turbo", "scheduler": "credit", "cpus": [3]}
    host.write(pools=[{"name": "Pool-0", "scheduler": "credit", "cpus": [0, 1, 2]}, pool])
    for verb in ("on", "off", "status"):
        text = refused(host, verb)
        assert text.startswith(f"pool vread-turbo exists, but no {host.state} says")


def test_cpus_that_xl_does_not_take(host):
    text = refused(host, "on", "--cpus", "0,2")
    assert "CPUs 0,2: xl did not take them out of Pool-0" in text
    assert text.endswith("everything is restored")


def test_a_xen_without_credit(host):
    host.write(scheduler="credit2")
    assert "pool vread-turbo got scheduler credit2, which has no time slice" in refused(host, "on")


def test_cpus_xl_only_says_it_gave_back(host):
    host.on()
    host.write(lies=["cpupool-cpu-add Pool-0 3"])
    done = host.turbo("off")
    assert done.returncode == 1
    assert "CPUs 3: xl did not give them to Pool-0\n" in done.stderr
    assert host.state.exists()


def test_other_cpus_while_it_is_on(host):
    host.on()
    before = host.read()
    done = host.turbo("on", "--cpus", "1")
    assert done.returncode == 1
    assert "--cpus: turbo is on; run 'xl-vread turbo off' first" in done.stderr
    assert host.read() == before


def test_a_spoilt_state(host):
    host.state.write_text("cpus 3\ndomain x\n")
    done = host.turbo("off")
    assert (done.returncode, done.stderr) == (
        1,
        f"xl-vread turbo: {host.state}:2: cannot understand 'domain x';"
        " correct or remove the line\n",
    )


def test_an_xl_that_talks_otherwise(host):
    xl = host.xl.folder / "xl"
    xl.write_text("#!/bin/sh\necho heading\necho Pool-0\n")
    done = host.turbo("status")
    assert (done.returncode, done.stderr) == (
        1,
        "xl-vread turbo: xl cpupool-list: cannot understand 'Pool-0'\n",
    )


def test_no_xl(host):
    host.environment["PATH"] = "/nonexistent"
    done = host.turbo("status")
    assert done.returncode == 1
    assert done.stderr.endswith("xl-vread turbo: xl cpupool-list: failed: exit code 127\n")


@pytest.mark.parametrize(
    "words, text",
    [
        ([], "expected on, off or status"),
        (["up"], "up: expected on, off or status"),
        (["off", "client"], "client: unexpected argument"),
        (["status", "--json"], "--json: unexpected argument"),
        (["on", "--cpus", "3-1"], "--cpus 3-1: expected numbers and ranges, as in 2-3,6"),
        (["on", "--cpus", ""], "--cpus : expected numbers and ranges"),
        (["on", "--slice", "0"], "--slice 0: expected milliseconds, from 1 to 1000"),
        (["on", "--slice", "1001"], "--slice 1001: expected a number from 0 to 1000"),
        (["on", "--rate-limit", "50"], "--rate-limit 50: expected microseconds, 0 or from 100"),
        (["on", "--rate-limit", "2000"], "expected no more than the time slice (1 ms)"),
    ],
)
def test_wrong_command_lines(host, words, text):
    done = host.turbo(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr
    assert "Try 'xl-vread help turbo'" in done.stderr
