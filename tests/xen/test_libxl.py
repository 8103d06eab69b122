# SPDX-License-Identifier: GPL-2.0-or-later
"""The patches of tools/toolstack/libxl: that they apply to Debian's Xen and compile, and that in
dom0 of an emulated host the patched xl gives domains their devices, with the nodes that xl-vread
writes.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.waiting import eventually
from tests.xen.conftest import PRODUCT_VARIANT
from tools.lab import deployment, libxl, product
from tools.lab.paths import REPOSITORY
from tools.lab.rootfs import tree_of

LINE = "datanodes=dn1, queues=2, pool-size=4M"
# What `xl list -l` says of a device with this line.
LISTED = {"devid": 0, "datanodes": ["dn1"], "queues": 2, "pool_pages": 1024}
SAVED = "/run/saved"
DEBIANS = "/opt/debian"  # in dom0: xl and libxl without the patches
DEVICES = re.compile(r"/(libxl|local/domain)/\d+/(device|backend)/vread/")
PATIENCE, MIGRATE_TIMEOUT = 150.0, 1500.0
# As in shared/test_kernels.py.  Debian's Xen cannot migrate PV domains live.
PVH = ('type="pvh"', 'tsc_mode="native"')


def on_a_host(test):
    return pytest.mark.xen(pytest.mark.slow(test))


# ---- without a host ------------------------------------------------------------------------


def added(name):
    """The lines that the series adds to a file of Xen."""
    text = "".join(path.read_text() for path in libxl.patches())
    parts = re.split(r"^diff --git a/\S+ b/(\S+)\n", text, flags=re.M)
    found = "".join(parts[i + 1] for i in range(1, len(parts), 2) if parts[i] == name)
    return "".join(f"{line[1:]}\n" for line in found.splitlines() if re.match(r"\+(?!\+\+ )", line))


def test_xl_knows_the_keys_of_xl_vread():
    """A line that xl-vread takes must not be a mistake to the patched xl."""
    spec = (REPOSITORY / "tools/xl-vread/spec.c").read_text()
    (table,) = re.findall(r"keys\[NUM_KEYS\] = \{(.*?)\};", spec, re.S)
    (patched,) = re.findall(
        r"vread_keys\[VREAD_NUM_KEYS\] = \{(.*?)\};", added("tools/xl/xl_parse.c"), re.S
    )
    keys = re.compile(r'"([a-z-]+)"')
    by_hand = {"unnamed-datanodes"}  # for `vread cat` by hand; xl-vread alone sets it
    assert set(keys.findall(patched)) == {*keys.findall(table), "backend"} - by_hand


def test_the_limits_are_those_of_the_protocol():
    header = (REPOSITORY / "xenstore-schema/vreadif.h").read_text()
    numbers = re.compile(r"#define (VREAD_M\w+)\s+(\d+)")
    here = dict(numbers.findall(header))
    there = dict(numbers.findall(added("tools/libs/light/libxl_vread.c")))
    for name in ("VREAD_MAX_QUEUES", "VREAD_MIN_POOL_PAGES", "VREAD_MAX_POOL_PAGES"):
        assert there[name] == here[name], name
    assert there["VREAD_MAX_NAME"] == here["VREAD_MAX_POOL_ID"]


@pytest.fixture(scope="module")
def toolstack():
    """{path in dom0: file} of the patched toolstack."""
    try:
        return libxl.patched()
    except libxl.NoSource as error:
        pytest.skip(str(error))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_series_applies_and_compiles(toolstack, tmp_path):
    """The series must apply without fuzz, patch by patch, and compile without a warning.  The Go
    bindings must be those that Xen's generator makes."""
    assert all(path.is_file() for path in toolstack.values())
    tree = libxl.unpack(tmp_path)
    go, light = tree / "tools/golang/xenlight", tree / "tools/libs/light"
    generated = [tmp_path / "types.go", tmp_path / "helpers.go"]
    subprocess.run(
        ["python3", "gengotypes.py", light / "libxl_types.idl", *generated],
        cwd=go,
        env={"LIBXL_SRC_DIR": light},
        check=True,
    )
    for path in generated:
        assert path.read_text() == (go / f"{path.stem}.gen.go").read_text()


# ---- on a host -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def xen_host(start_host, demo, toolstack):
    """A host whose xl, libxl and libxlutil are the patched ones; Debian's are in /opt/debian."""
    files = tree_of(product.dom0_files(PRODUCT_VARIANT))
    for path, file in toolstack.items():
        files.file(path, file)
        files.file(f"{DEBIANS}/{file.name}", Path(path))
    return start_host(
        "libxl",
        disks=[demo.image],
        files=files,
        guest_files=product.guest_files(PRODUCT_VARIANT),
    )


@pytest.fixture(scope="module")
def backend(xen_host, demo):
    """vreadd in dom0 with the demo's image as dn1."""
    datanode = deployment.Datanode("/dev/vda", data_dirs=demo.data_dirs)
    running = deployment.Backend(xen_host, {"dn1": datanode})
    running.start()
    yield running
    if running.running():
        assert running.stop() == 0, running.log()


@pytest.fixture(scope="module")
def idle(xen_host):
    """A domain without a device, in which no module is loaded."""
    with xen_host.create_guest("idle") as guest:
        yield guest


def listed(host, domain):
    """The vread devices of the domain in libxl's JSON."""
    (found,) = json.loads(host.text(["xl", "list", "-l", domain]))
    return found["config"].get("vreads", [])


def nodes(host, guest):
    """The nodes of both directories of device 0 with values and permissions, in order of path:
    xenstored has them in the order in which they were written."""
    paths = [
        f"/local/domain/0/backend/vread/{guest.domid}/0",
        f"/local/domain/{guest.domid}/device/vread/0",
    ]
    found = [host.text(["xenstore-ls", "-f", "-p", path]).splitlines() for path in paths]
    assert all(found)
    return sorted(found[0] + found[1])


def vread_nodes(host):
    """The nodes of all vread devices of all domains, also libxl's own."""
    return [path for path in host.xenstore_ls() if DEVICES.match(path)]


def all_gone(host):
    eventually(lambda: vread_nodes(host) == [], PATIENCE, lambda: str(vread_nodes(host)))


def read(guest, demo):
    guest.put(demo.blocks_file, deployment.BLOCKS)
    assert deployment.file_digest(guest) == demo.sha256


@pytest.mark.parametrize(
    ("spec", "json_of_it"),
    [
        ("datanodes=*", {"datanodes": ["*"]}),
        (" datanodes = dn1 dn2 ,id=7", {"devid": 7, "datanodes": ["dn1", "dn2"]}),
        (
            "role=datanode,datanodes=dn1,publish-datanodes=dn1,pools=BP-1",
            {
                "role": "datanode",
                "datanodes": ["dn1"],
                "publish_datanodes": ["dn1"],
                "pools": ["BP-1"],
            },
        ),
        ("datanodes=dn1,queues=8,pool-size=65536", {"queues": 8, "pool_pages": 16}),
        ("datanodes=dn1,backend=storage", {"backend_domname": "storage"}),
    ],
)
@on_a_host
def test_what_xl_understands(xen_host, spec, json_of_it):
    shown = xen_host.text(["xl", "-N", "vread-attach", "0", spec])
    found = json.loads(shown.removeprefix("vread:"))
    assert {key: found[key] for key in json_of_it} == json_of_it


@on_a_host
@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("", 'vread: "": expected KEY=VALUE'),
        ("datanodes", "expected KEY=VALUE"),
        ("datanode=dn1", 'vread: unknown key "datanode"'),
        ("datanodes=dn1,datanodes=dn2", "vread: datanodes: given twice"),
        ("role=client", "vread: expected the datanodes that the device may read"),
        ("datanodes=", "vread: datanodes: expected names"),
        ("datanodes=dn1,pools= ", "vread: pools: expected names"),
        ("datanodes=dn1 *", 'vread: datanodes: "*": expected a name'),
        ("datanodes=a/b", 'vread: datanodes: "a/b": expected a name'),
        ("datanodes=dn1,role=both", "vread: role=both: expected client or datanode"),
        ("datanodes=dn1,publish-datanodes=dn1", "only a device of role datanode publishes"),
        ("datanodes=dn1 dn2,role=datanode", "expected the datanodes that the device publishes for"),
        ("datanodes=dn1,queues=9", "vread: queues=9: expected a number from 1 to 8"),
        ("datanodes=dn1,queues=2x", "vread: queues=2x: expected a number from 1 to 8"),
        ("datanodes=dn1,pool-size=4097", "vread: pool-size=4097: expected a size like 4M"),
        ("datanodes=dn1,pool-size=256M", "vread: a pool of 65536 pages: expected 16 to 32768"),
        ("datanodes=dn1,id=256", "vread: id=256: expected a number from 0 to 255"),
    ],
)
def test_what_xl_refuses(xen_host, idle, spec, said):
    """A mistake must be named, and nothing may be written."""
    refused = xen_host.run(["xl", "vread-attach", "idle", spec])
    assert refused.rc != 0
    assert said in refused.stderr.decode()
    assert vread_nodes(xen_host) == []
    assert listed(xen_host, "idle") == []


@on_a_host
def test_keys_for_vreadd_are_ignored_with_a_warning(xen_host):
    spec = "role=datanode,datanodes=dn1,data-dirs=/dfs/data,disks=xvdb,tokens=auto"
    done = xen_host.run(["xl", "-N", "vread-attach", "0", spec]).check()
    for key in ("data-dirs", "disks", "tokens"):
        assert f'WARNING: vread: ignoring "{key}"' in done.stderr.decode()
    assert "data" not in done.stdout.decode().replace("datanode", "")


@on_a_host
@pytest.mark.parametrize(
    "spec",
    [
        "datanodes=dn1",
        "datanodes=*,pools=BP-1 BP-2",
        LINE,
        "role=datanode,datanodes=dn1",
        "role=datanode,datanodes=dn1 dn2,publish-datanodes=dn2,pools=BP-1",
    ],
)
def test_xl_writes_the_nodes_of_xl_vread(xen_host, backend, idle, spec):
    """Both tools must write the same nodes with the same permissions, and vreadd must answer with
    the same, for the same line."""

    def attached(attach, detach):
        xen_host.run([*attach, spec]).check()
        backend.wait_states(idle, "2", "1")
        found = nodes(xen_host, idle)
        xen_host.run(detach).check()
        assert backend.states(idle) == ("", "")
        return found

    domid = str(idle.domid)
    by_xl = attached(["xl", "vread-attach", domid], ["xl", "vread-detach", domid, "0"])
    by_xl_vread = attached(
        ["xl-vread", "attach", "--temporary", domid], ["xl-vread", "detach", "--wait", "120", domid]
    )
    assert by_xl == by_xl_vread
    assert vread_nodes(xen_host) == []


@on_a_host
def test_a_domain_keeps_its_device(xen_host, backend, demo):
    """A line in the configuration is all: the domain starts without waiting for vreadd, reads when
    vreadd is there, and has its device after a reboot and after save and restore.  An xl without
    the patches restores the domain without the device.  The end of the domain removes all nodes."""
    config = (f'vread = [ "{LINE}" ]', 'on_reboot="restart"')
    assert backend.stop() == 0
    with xen_host.create_guest("client", config=config) as guest:
        assert backend.states(guest) == ("1", "1")
        backend.start()
        backend.connect(guest)
        read(guest, demo)
        (device,) = listed(xen_host, "client")
        assert device == LISTED

        first = guest.domid
        guest.reboot()
        assert guest.domid != first
        backend.connect(guest)
        read(guest, demo)
        assert listed(xen_host, "client") == [LISTED]

        guest.save(SAVED)
        all_gone(xen_host)
        plain = f"LD_LIBRARY_PATH={DEBIANS} {DEBIANS}/xl"
        xen_host.run(f"{plain} restore {SAVED}", PATIENCE).check()
        guest.restored()
        assert vread_nodes(xen_host) == []
        guest.destroy()

        xen_host.run(f"xl restore {SAVED} && rm {SAVED}", PATIENCE).check()
        guest.restored()
        backend.wait_connected(guest)
        read(guest, demo)
        assert listed(xen_host, "client") == [LISTED]
        problems = xen_host.run("xl-vread xenstore check")
        assert problems.rc == 0, problems.stdout
    all_gone(xen_host)


@on_a_host
def test_a_domain_migrates(xen_host, backend, demo):
    """`xl migrate` moves a running domain to the host on which it is, by the protocol and with the
    programs that move it to another.  The new domain must have the device and read."""
    config = (f'vread = [ "{LINE}" ]', *PVH)
    with xen_host.create_guest("mover", memory_mib=128, config=config) as guest:
        backend.connect(guest)
        read(guest, demo)
        # xl runs "exec SHELL HOST xl migrate-receive".
        migrate = ["xl", "migrate", "-s", "env", "mover", "HOST=here"]
        xen_host.run(migrate, MIGRATE_TIMEOUT).check()
        guest.wait_gone()
        guest.restored()
        backend.wait_connected(guest)
        read(guest, demo)
        assert listed(xen_host, "mover") == [LISTED]
    all_gone(xen_host)


@on_a_host
def test_a_domain_ends_without_vreadd(xen_host, backend):
    """vreadd does not answer.  The domain must end all the same, and leave no node."""
    assert backend.stop() == 0
    with xen_host.create_guest("orphan", config=(f'vread = [ "{LINE}" ]',)):
        pass
    assert vread_nodes(xen_host) == []
    backend.start()


@on_a_host
def test_attached_listed_and_detached(xen_host, backend, demo):
    """A running domain gets a device, reads by it, and loses it; libxl's configuration of the
    domain follows."""
    with xen_host.create_guest("client") as guest:
        xen_host.run(["xl", "vread-attach", "client", LINE]).check()
        backend.connect(guest)
        read(guest, demo)
        assert listed(xen_host, "client") == [LISTED]
        (line,) = xen_host.text("xl vread-list client").splitlines()[1:]
        path = f"/local/domain/0/backend/vread/{guest.domid}/0"
        # The guest has one processor, and so it uses one queue.
        assert line.split() == ["0", "0", "4", "client", "1", "1024", path, "dn1"]
        assert xen_host.run("xl vread-detach client 1").rc != 0
        xen_host.run("xl vread-detach client 0", PATIENCE).check()
        assert backend.states(guest) == ("", "")
        assert listed(xen_host, "client") == []
        assert vread_nodes(xen_host) == []


@on_a_host
def test_xl_vread_beside_it(xen_host, backend, demo):
    """xl-vread goes on working with the patched xl: xl makes the devices of the domain, one for
    each line, and xl-vread writes the keys of the datanode into one of them."""
    found = " ".join(demo.data_dirs)
    config = (f'vread = [ "role=datanode,datanodes=dn2,data-dirs={found}", "id=3,datanodes=dn1" ]',)
    with xen_host.create_guest(
        "datanode", disks=["phy:/dev/vda,xvdb,w"], config=config, create="xl-vread create"
    ) as guest:
        assert [device["devid"] for device in listed(xen_host, "datanode")] == [0, 3]
        eventually(
            lambda: "dn2" in [d["datanode"] for d in backend.status()["datanodes"]],
            PATIENCE,
            "dn2",
        )
        lines = xen_host.text("xl-vread list").splitlines()
        assert [line.split()[:4] for line in lines if str(guest.domid) in line.split()] == [
            ["datanode", str(guest.domid), "0", "datanode"],
            ["datanode", str(guest.domid), "3", "client"],
        ]
        made = re.findall(r"/backend/vread/\d+/(\d+) ", " ".join(vread_nodes(xen_host)))
        assert sorted(made) == ["0", "3"]
