# SPDX-License-Identifier: GPL-2.0-or-later
"""Each service has limits of memory and tasks.  Those of vreadd and vread-ivshmem hold what their
comments count, and the comments count what the code allows."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BACKEND = REPOSITORY / "xen-backend"
UNIT = (BACKEND / "control/vreadd.service").read_text()
IVSHMEM = (BACKEND / "ivshmem-server/vread-ivshmem.service").read_text()
MIB = 1 << 20


def constant(path, pattern):
    return int(re.search(pattern, (REPOSITORY / path).read_text())[1])


def limit(name, unit=UNIT):
    value, giga = re.search(rf"^{name}=(\d+)(G?)$", unit, re.M).groups()
    return int(value) << (30 if giga else 0)


@pytest.mark.parametrize(
    "path",
    [path for top in ("tools", "xen-backend") for path in (REPOSITORY / top).rglob("*.service")],
    ids=lambda path: path.stem,
)
@pytest.mark.parametrize("name", ["MemoryMax", "TasksMax"])
def test_each_service_has_limits(path, name):
    assert re.search(rf"^{name}=\d+[MG]?$", path.read_text(), re.M)


def test_memory_max_holds_all_budgets():
    terms = re.findall(r"^#   (?:(\d+) [a-z ]+ of )?(\d+) MiB", UNIT, re.M)
    assert len(terms) == 5
    assert sum(int(count or 1) * int(mib) * MIB for count, mib in terms) <= limit("MemoryMax")
    whole, device, peer, datanode, pools = [int(mib) * MIB for _, mib in terms]

    handles = MIB * constant("xen-backend/control/config.c", r"handle_memory = (\d+)U << 20")
    cache = MIB * constant("xen-backend/read/cache_size.h", r"CACHE_SIZE_LEAST \((\d+)U << 20\)")
    replicas = MIB * constant("xen-backend/read/replica_cache.c", r"MAX_BYTES \((\d+)U << 20\)")
    queues = constant("xenstore-schema/vreadif.h", r"VREAD_MAX_QUEUES (\d+)U")
    channels = constant("xen-backend/parser-protocol/protocol.h", r"PARSER_CHANNELS (\d+)U")
    answer = MIB * constant("xen-backend/parser-protocol/wire.h", r"WIRE_MAX_BYTES \((\d+)U << 20")
    pool = 4096 * constant("xenstore-schema/vreadif.h", r"VREAD_MAX_POOL_PAGES (\d+)U")
    assert whole >= cache + replicas + 33 * MIB + 256 * MIB
    spare = constant("xen-backend/ring/session.c", r"SPARE_HANDS (\d+)U")
    assert device >= handles + (queues + spare) * 3 * MIB // 2
    assert peer >= handles
    assert datanode >= 2 * 64 * MIB + channels * answer
    assert pools >= 8 * pool


def test_tasks_max_holds_all_threads():
    terms = re.findall(r"^#   (\d+) (?:[a-z]+ of (\d+) each|for all: workers)", UNIT, re.M)
    assert len(terms) == 4
    assert sum(int(count) * int(each or 1) for count, each in terms) <= limit("TasksMax")
    queues = constant("xenstore-schema/vreadif.h", r"VREAD_MAX_QUEUES (\d+)U")
    channels = constant("xen-backend/parser-protocol/protocol.h", r"PARSER_CHANNELS (\d+)U")
    spare = constant("xen-backend/ring/session.c", r"SPARE_HANDS (\d+)U")
    assert int(terms[0][1]) >= queues + spare + 1
    assert int(terms[1][1]) >= 3 * channels + 2


def test_memory_max_of_vread_ivshmem():
    ((count, each),) = re.findall(r"^#   (\d+) guests of (\d+) MiB", IVSHMEM, re.M)
    (own,) = re.findall(r"^#   (\d+) MiB for the program", IVSHMEM, re.M)
    needed = (int(count) * int(each) + int(own)) * MIB
    assert needed <= limit("MemoryMax", IVSHMEM)
    sections = "xen-backend/control/config/sections.c"
    assert int(count) == constant(sections, r"MAX_IVSHMEM (\d+)U")
    assert int(each) == constant(sections, r"\.memory = (\d+)U << 20")
    guest = "xen-backend/ivshmem-server/guest.c"
    assert int(own) >= constant(guest, r"OWN_MEMORY \((\d+) << 20\)")
