# SPDX-License-Identifier: GPL-2.0-or-later
"""vread-bench asks vreadd by which transport bytes came, and takes no round whose place says
another one."""

import json

import pytest

from tools.vread_bench import bytes_by
from tools.vread_bench.errors import BenchError

pytestmark = pytest.mark.spread

MIB = 1 << 20
STATUS = """\
n=$(wc -l 2>/dev/null <{folder}/calls)
cat <<END
{{"pid": 7, "totals": {{"bytes": $((n * {local} + n * {remote})),
 "remote": {{"bytes": $((n * {remote}))}}}},
 "peers": {{"peers": [{{"bytes": $((n * {remote})), "direct": $((n * {rdma})), "bounced": 0,
   "plain": $((n * {plain}))}}]}}}}
END
"""


@pytest.fixture
def counting(bench):
    """counting(transports, local=..., tls=...): the bytes that each round makes vreadd count."""

    def set_up(transports, local=0, rdma=0, tls=0, plain=0):
        script = bench.folder / "status"
        script.write_text(
            STATUS.format(
                folder=bench.folder, local=local, remote=rdma + tls + plain, rdma=rdma, plain=plain
            )
        )
        text = bench.targets.read_text()
        text = text.replace("files: /bench", f"files: /bench, transports: {transports}")
        command = f"[{{host: me, command: sh {script}}}]"
        bench.targets.write_text(text.replace("    cpu:", f"    vreadds: {command}\n    cpu:"))
        return bench

    return set_up


@pytest.mark.parametrize(
    ("transports", "came"),
    [
        ("rdma", {"rdma": 100 * MIB}),
        ("plain", {"plain": MIB}),
        ("tls", {"tls": MIB}),
        ("local", {"local": MIB}),
        ("[local, rdma]", {"local": MIB, "rdma": MIB}),
        ("rdma", {"rdma": 96 * MIB, "tls": 4 * MIB}),
    ],
)
def test_bytes_came_as_the_place_says(counting, transports, came):
    bench = counting(transports, **came)
    done = bench.run()
    assert done.returncode == 0, done.stderr
    assert len(bench.result()["raw"]) == 3 * 8


@pytest.mark.parametrize(
    ("transports", "came", "seen"),
    [
        ("rdma", {"tls": 8 * MIB}, "8388608 by tls"),
        ("rdma", {"rdma": 94 * MIB, "tls": 6 * MIB}, "98566144 by rdma, 6291456 by tls"),
        ("tls", {"local": MIB}, "1048576 by local"),
        ("tls", {}, "none"),
    ],
)
def test_a_place_that_lies(counting, transports, came, seen):
    bench = counting(transports, **came)
    done = bench.run()
    assert done.returncode == 1
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("vread-bench: ")]
    assert (
        f"place local: the bytes of vRead must come by {transports}; vreadd counted {seen}" in said
    )
    assert "/vread: " in said
    assert not bench.out.exists()
    assert not any(record["cell"].endswith("/vread") for record in bench.records()[1:])


def test_a_status_that_is_none(counting):
    bench = counting("tls", tls=MIB)
    (bench.folder / "status").write_text("echo '{}'")
    done = bench.run()
    assert done.returncode == 1
    assert "no status of vreadd in" in done.stderr


def test_a_vreadd_that_was_started_again():
    before = {(0, 7, "tls"): 500}
    assert bytes_by.grown(before, {(0, 8, "tls"): 40, (0, 8, "rdma"): 2}) == {
        "local": 0, "rdma": 2, "tls": 40, "plain": 0,
    }  # fmt: skip


def test_without_peers():
    status = {"pid": 1, "totals": {"bytes": 9, "remote": {"bytes": 0}}, "peers": None}

    class Told:
        class host:
            name = "me"

        line = "status"

        def run(self):
            return json.dumps(status)

    class Target:
        vreadds = (Told(),)

    assert bytes_by.read(Target)[0, 1, "local"] == 9
    del status["totals"]
    with pytest.raises(BenchError, match="me: `status`: no status of vreadd"):
        bytes_by.read(Target)
