# SPDX-License-Identifier: GPL-2.0-or-later
"""xl-vread turbo with the real xl, on a host with two processors and the scheduler credit."""

import pytest

from tools.lab import XenHost

pytestmark = [pytest.mark.xen, pytest.mark.slow]

SLICE = "Cpupool vread-turbo: tslice=1ms ratelimit=100us"


@pytest.fixture(scope="module")
def host(start_host, product_files) -> XenHost:
    dom0_files, _ = product_files
    return start_host(
        "turbo",
        memory_mib=1280,
        dom0_mib=768,
        cpus=2,
        xen_options=["sched=credit"],
        files=dom0_files,
    )


def pools(host):
    """{pool: CPUs}, {domain: pool}"""
    cpus = [line.split() for line in host.text("xl cpupool-list -c").splitlines()[1:]]
    domains = [line.split() for line in host.text("xl list -c").splitlines()[1:]]
    return {words[0]: words[1] for words in cpus}, {words[0]: words[-1] for words in domains}


def settings(host, name):
    weight = host.text(["xl", "sched-credit", "-d", name]).split()[-2:]
    return weight, host.text(["xl", "vcpu-list", name]).split()[-3:]


def test_on_and_off(host):
    """Turbo is switched on and off, with a reboot between.  Pools, CPUs and slices must be as told,
    and as before afterwards.  They are those of the real Xen."""
    config = ['cpus="0"', "cpu_weight=512", 'on_reboot="restart"']
    with host.create_guest("reader", config=config) as guest:
        host.run(["xl-vread", "attach", "--temporary", "reader", "datanodes=*"]).check()
        before, kept = pools(host), settings(host, "reader")
        assert before == ({"Pool-0": "0,1"}, {"Domain-0": "Pool-0", "reader": "Pool-0"})
        assert kept == (["512", "0"], ["0", "/", "all"])

        told = host.text("xl-vread turbo on", timeout=120)
        assert told.startswith("turbo is on: CPUs 1, time slice 1 ms, rate limit 100 us\n")
        assert pools(host) == (
            {"Pool-0": "0", "vread-turbo": "1"},
            {"Domain-0": "Pool-0", "reader": "vread-turbo"},
        )
        assert host.text("xl sched-credit -s -p vread-turbo").startswith(SLICE)
        assert guest.text("echo runs").strip() == "runs"

        guest.reboot()
        assert pools(host)[1]["reader"] == "Pool-0"
        assert settings(host, "reader") == kept
        host.text("xl-vread turbo on reader", timeout=120)
        assert pools(host)[1]["reader"] == "vread-turbo"

        host.run("xl-vread turbo off", timeout=120).check()
        assert pools(host) == before
        assert settings(host, "reader") == kept
        assert guest.text("echo runs").strip() == "runs"
        assert host.text("xl-vread turbo status", timeout=120) == "turbo is off\n"


def test_what_xl_refuses_is_put_back(host):
    """xl-vread must put everything back when it fails.  The real Xen keeps CPU 0 in Pool-0, and xl
    reports success without moving it."""
    with host.create_guest("other"):
        before = pools(host)
        host.run("xl vcpu-pin other 0 1").check()
        failed = host.run("xl-vread turbo on other", timeout=120)
        assert failed.rc == 1
        assert b"domain other: pinned to CPUs 1, of which Pool-0 would have none" in failed.stderr
        host.run("xl vcpu-pin other 0 all").check()
        failed = host.run("xl-vread turbo on --cpus 0 other", timeout=120)
        assert failed.rc == 1
        assert b"CPUs 0: xl did not take them out of Pool-0" in failed.stderr
        assert failed.stderr.endswith(b"xl-vread turbo: everything is restored\n")
        assert pools(host) == before
