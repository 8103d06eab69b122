# SPDX-License-Identifier: GPL-2.0-or-later
"""A host installed only from the packages.  xl-vread makes a datanode and a client from the files
that docs/install.md prints, and a user of the client reads a block.  Other tests do the same
with stock HDFS, and break everything that vread doctor and xl-vread doctor check, one at a time.
All are slow.  `make test` instead runs tests/packages for the packages, tests/cli/test_doctor.py
for the doctor's findings, and test_hadoop.py for HDFS.

In the domains' files the tests replace only kernel, initial root, disks and memory.  The roots of
dom0 and guests hold the contents of the .deb files, and the libraries that their Depends names.

Two parts of the packaging are only in tests/packages/test_packages.py.  Maintainer scripts do not
run here: the group vread exists already, and the module is built as its dkms.conf says.  systemd
does not run here: the tests run the ExecStart= line alone.
"""

import contextlib
import json
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.daemon import Image
from tests.support.guide import GUIDE, printed
from tests.support.hdfs_dir import POOL
from tests.support.waiting import eventually
from tests.support.xen_owner import DataDisk
from tools.lab import hadoop
from tools.lab.deployment import READ_TIMEOUT_MS
from tools.lab.hadoop_guests import DATA_DEVICE, DATA_PARTITION
from tools.lab.host import XenHost
from tools.lab.installed import CONFIG, JAR, InstalledHdfs, Services
from tools.peers import Authority, installed_host, peer

pytestmark = [pytest.mark.xen, pytest.mark.slow, pytest.mark.timeout(2400)]


DATANODE, USER = "dn1", "hdfs"
MIB = 1 << 20
BLOCK_MIB, FILE_MIB = 2, 3
BLOCKS = 2
STATISTICS = "/tmp/statistics.json"
JAVA_SECONDS, HEALTHY_SECONDS = 600.0, 300.0
GUEST_MIB = 384
NODE = "/dev/vread"
NO_ANSWER = (
    "no answer within",
    "no answer in time",
    "the answer is not a JSON object",
    "does not run: Timer expired",
)
KO = "/lib/modules/{}/updates/dkms/xen-vreadfront.ko"
OTHER = "dn9"  # a second datanode, with a layout
OTHER_IMAGE, OTHER_LAYOUT = f"/srv/{OTHER}.img", f"/var/lib/vread/layouts/{OTHER}.json"
NOBODY = "127.0.0.1:1"  # an address where no peer answers


def properties(place):
    """{name: value} of the properties of a hdfs-site.xml in the guide."""
    site = ElementTree.fromstring(f"<configuration>{printed(place)}</configuration>")
    return {p.findtext("name"): p.findtext("value") for p in site}


@pytest.fixture(scope="module")
def host(start_host, packages):
    return start_host(
        "packages",
        memory_mib=hadoop.HOST_MIB,
        dom0_mib=hadoop.DOM0_MIB,
        disks=hadoop.disks(),
        files=packages.dom0(),
        guest_files=packages.guest(users=(USER,)),
    )


@pytest.fixture(scope="module")
def services(host, packages):
    services = Services(host, packages)
    services.start()
    return services


@pytest.fixture(scope="module")
def hdfs(host, services):
    assert f"export HADOOP_CLASSPATH={JAR}\n" in GUIDE
    emulated = {
        "io.vread.timeout.ms": "30000",
        "io.vread.compete": "false",  # the DataNode must serve nothing
    }
    hdfs = InstalledHdfs(
        host,
        services,
        domains={name: printed(f"/etc/xen/{name}.cfg") for name in ("datanode", "client")},
        own={
            "datanode": properties("hdfs-site.xml of the datanode"),
            "client": properties("hdfs-site.xml of the client") | {hadoop.STATISTICS: STATISTICS},
        },
        block_mib=BLOCK_MIB,
        properties=emulated,
    )
    hdfs.start()
    return hdfs


@pytest.fixture
def domains(host, services):
    """(datanode, client): domains made from the printed files, without Hadoop."""
    disks = {"datanode": [f"phy:{DATA_DEVICE},xvdb,w"], "client": []}
    with contextlib.ExitStack() as stack:
        made = {
            name: stack.enter_context(
                host.create_guest(
                    name,
                    memory_mib=GUEST_MIB,
                    disks=disks[name],
                    printed=printed(f"/etc/xen/{name}.cfg"),
                    create="xl-vread create",
                )
            )
            for name in disks
        }
        for guest in made.values():
            has_node(services, guest)
        yield made["datanode"], made["client"]
        host.run("xl-vread detach --wait 0 --force datanode").check()


def shown(text, *guests):
    """The status must fit into 80 columns, and show the datanode and the guests' devices."""
    assert max(map(len, text.splitlines())) <= 80
    words = re.sub(r"\s+", " ", text)
    assert f"{DATANODE} served" in words, text
    assert f"{DATA_DEVICE}" in words, text
    for guest in guests:
        assert re.search(rf"xen:{guest.domid}/0 .*Connected", text), text


def test_a_block_is_read(host, services, domains, tmp_path):
    """A user of the client reads a block that the datanode wrote; the doctor must find nothing.
    Packages, guide and toolstack need a hypervisor, and a kernel that loads the module by itself.
    The test takes more than a minute: it makes the packages."""
    datanode, client = domains
    datanode.run(f"mkdir /data && mount -t ext4 /dev/{DATA_PARTITION} /data").check()
    disk = DataDisk(datanode, "/data/dfs", tmp_path, "DS-1")
    disk.format()
    block = disk.write(MIB + 1)
    datanode.run("sync").check()
    spec = f"{POOL}/blk_{block.id}_{block.genstamp}@{block.storage}"
    cat = f"vread cat --timeout {READ_TIMEOUT_MS} {spec}"

    def read():
        """None until vreadd looks again and finds the data directory."""
        answer = client.run(["su", USER, "-c", cat])
        return answer.stdout if answer.rc == 0 else None

    assert eventually(read, HEALTHY_SECONDS, "the block") == block.content()
    shown(services.status_text(), datanode, client)
    assert failures(host) == failures(client) == {}
    datanode.run("rm -r /data/dfs && umount /data").check()


@pytest.mark.hadoop
def test_a_read_goes_through_vread(host, services, hdfs):
    """A user reads a file by `hdfs dfs`; all bytes must come by vRead.  Stock HDFS, in domUs of its
    own, must find the packages' jar and libraries."""
    client = hdfs.client
    client.run(f"dd if=/dev/urandom of=/tmp/file bs=1M count={FILE_MIB}").check()
    digest = client.text("sha256sum /tmp/file").split()[0]
    client.run("hdfs dfs -put /tmp/file /file", JAVA_SECONDS).check()
    hdfs.wait_published(BLOCKS)
    by_tcp, by_vread = hdfs.bytes_served(), services.bytes_read(client)
    read = f"su {USER} -c 'hdfs dfs -cat /file' | sha256sum"
    assert client.text(read, JAVA_SECONDS).split()[0] == digest
    counted = json.loads(client.text(f"cat {STATISTICS}"))
    assert counted["vread"]["bytes"] == FILE_MIB * MIB, counted
    assert counted["fallback"]["blocks"] == 0, counted
    assert hdfs.bytes_served() == by_tcp
    assert services.bytes_read(client) - by_vread >= FILE_MIB * MIB


@pytest.mark.hadoop
def test_status_shows_it(services, hdfs):
    """Status must show the datanode and both devices, which belong to real domains."""
    shown(services.status_text(), hdfs.client, hdfs.datanode)


# ---- vread doctor and xl-vread doctor -------------------------------------------------------


def failures(machine, *words, env=()):
    """{(check, what it found): remedy} of the doctor's failures.  Repeats while vreadd does not
    answer: the doctor waits only a few seconds, too little on a busy machine."""
    program = "xl-vread" if isinstance(machine, XenHost) else "vread"

    def told():
        done = machine.run(["env", *env, program, "doctor", "--json", *words], JAVA_SECONDS)
        found = {
            (f["check"], f"{f['object']}: {f['found']}"): f["remedy"]
            for f in json.loads(done.stdout)["findings"]
            if f["result"] == "failed"
        }
        late = any(text in said for _, said in found for text in NO_ANSWER)
        return None if late else (found,)

    (found,) = eventually(told, HEALTHY_SECONDS, "an answer of vreadd to the doctor")
    return found


def wait_healthy(host):
    """Waits until the doctor finds nothing: vreadd notices repairs of its images only when it next
    looks."""
    eventually(lambda: not failures(host), HEALTHY_SECONDS, "that the doctor finds nothing")


def in_guest(hdfs, env=()):
    return failures(hdfs.client, "--user", USER, "--datanode", DATANODE, env=env)


def but_for_java(hdfs):
    """in_guest() without the check of Java.  A JVM starts slowly on an emulated machine, so a wrong
    JAVA_HOME makes this check fail at once."""
    found = in_guest(hdfs, env=["JAVA_HOME=/none"])
    del found["java", "/none/bin/java: does not run: No such file or directory"]
    return found


def has_node(services, client):
    """Waits until the client's device is connected, and udev has given the node to the group."""
    services.wait_connected(client)
    of_group(client)


def of_group(client):
    """Waits for the node's group and mode.  `udevadm settle` fails if udevd hangs up on it."""
    said = f'test "$(stat -c %G:%a {NODE})" = vread:660'
    eventually(lambda: client.run(said).rc == 0, HEALTHY_SECONDS, "the node of the group vread")


@pytest.mark.hadoop
def test_the_doctor_finds_nothing(host, hdfs):
    """The doctor must find nothing on a healthy host, and nothing in healthy domUs."""
    assert failures(host) == {}
    assert in_guest(hdfs) == {}
    assert failures(hdfs.datanode) == {}


@pytest.mark.hadoop
def test_module_missing(services, hdfs):
    """The module is unloaded in a real kernel; the doctor must say so, and its remedy must load the
    module."""
    client = hdfs.client
    client.run("modprobe -r xen_vreadfront").check()
    ko = KO.format(client.text("uname -r").strip())
    said = ("module", f"xen-vreadfront: not loaded; its file is there: {ko}")
    remedy = but_for_java(hdfs)[said]
    assert remedy == "modprobe xen-vreadfront; if that fails, see dmesg"
    client.run(remedy.split(";")[0]).check()
    has_node(services, client)
    assert but_for_java(hdfs) == {}


@pytest.mark.hadoop
def test_wrong_permission(hdfs):
    """The node has a wrong mode, then the group lacks the user; the doctor must say so.  Its
    remedy, udevadm, must repair the node: a real udev does that."""
    client = hdfs.client
    client.run(f"chown root:root {NODE} && chmod 600 {NODE}").check()
    said = f"{NODE}: user {USER} may not read and write it (mode 0600, group root)"
    remedy = but_for_java(hdfs)["node", said]
    assert remedy.endswith(f"; udevadm trigger {NODE}")
    client.run(f"udevadm trigger {NODE}").check()
    of_group(client)
    client.run("sed -i.as-was 's/^\\(vread:.*:\\).*/\\1/' /etc/group").check()
    said = f"{NODE}: user {USER} may not read and write it (mode 0660, group vread)"
    remedy = but_for_java(hdfs)["node", said]
    assert remedy == f"usermod -aG vread {USER}, then restart its processes"
    client.run("mv /etc/group.as-was /etc/group").check()
    assert but_for_java(hdfs) == {}


@pytest.mark.hadoop
def test_datanode_not_allowed(host, services, hdfs):
    """The device allows another datanode; the doctor must say so in the guest and in dom0.  The
    device is attached again by xl-vread, as the remedy says."""
    client = hdfs.client

    def device(text):
        host.run(["xl-vread", "detach", "--wait", "120", "client"]).check()
        host.run(["xl-vread", "attach", "client", text]).check()
        has_node(services, client)

    device(f"datanodes={OTHER}")
    said = f"device/vread/0: datanode {DATANODE} is not allowed; allowed are: {OTHER}"
    remedy = but_for_java(hdfs)["allowed", said]
    assert remedy.startswith("in dom0: xl-vread detach DOMAIN; xl-vread attach DOMAIN with ")
    said = f"xen:{client.domid}/0: allows datanode {OTHER}, which vread.conf does not name"
    assert list(failures(host)) == [("devices", said)]
    device(f"datanodes={DATANODE}")
    assert but_for_java(hdfs) == {}


@pytest.mark.hadoop
def test_missing_jar(hdfs):
    """The jar is missing; the doctor must say so.  The class path is that of stock Hadoop in a
    domU."""
    client = hdfs.client
    client.run(f"mv {JAR} {JAR}.away").check()
    remedy = in_guest(hdfs)["java", f"{JAR}: is on Hadoop's class path, but does not exist"]
    assert remedy.startswith("install vread-hdfs, and set HADOOP_CLASSPATH=")
    client.run(f"mv {JAR}.away {JAR}").check()
    assert in_guest(hdfs) == {}


@pytest.mark.hadoop
def test_image_moved(host):
    """The image, a domain's disk, is moved away; the doctor must say so, and nothing after it is
    back."""
    host.run(f"mv {DATA_DEVICE} {DATA_DEVICE}.away").check()
    remedy = failures(host)["images", f"{DATA_DEVICE}: No such file or directory"]
    assert remedy.startswith(f"put the image of datanode {DATANODE} there, or ")
    host.run(f"mv {DATA_DEVICE}.away {DATA_DEVICE}").check()
    wait_healthy(host)


@pytest.fixture
def configured(host, services, hdfs):
    """configured(text): appends text to vread.conf until the test ends, and restarts vreadd."""
    host.run(f"cp {CONFIG} {CONFIG}.as-was").check()

    def restart():
        services.restart()
        for guest in (hdfs.datanode, hdfs.client):
            services.wait_connected(guest)

    def add(text):
        host.run(f"cat >>{CONFIG}", stdin=text.encode()).check()
        restart()

    yield add
    host.run(f"mv {CONFIG}.as-was {CONFIG}").check()
    restart()
    wait_healthy(host)


@pytest.mark.hadoop
def test_peer_down_and_stale_layout(host, configured, tmp_path):
    """A peer is down, and a layout is older than its image; the doctor in dom0 must report both.
    It must also report that libguestfs is missing: a layout needs vread-provision, which needs
    libguestfs."""
    for path, source in Authority(tmp_path).installed("a").items():
        host.put(source, path)
    image = Image(tmp_path)
    size = os.path.getsize(image.path)
    host.put(Path(image.path), OTHER_IMAGE)
    host.put(image.layout, OTHER_LAYOUT)
    host.run(f"truncate -s {size + MIB} {OTHER_IMAGE}").check()
    layout = f"[datanode {OTHER}]\nimage = {OTHER_IMAGE}\nlayout = {OTHER_LAYOUT}\n"
    configured(installed_host("a") + peer("b", address=NOBODY, datanodes="dn2") + layout)
    down = ("peers", f"b: peer down: {NOBODY}: Connection refused")
    stale = (
        "datanodes",
        f"{OTHER}: waiting: its layout does not fit: layout {OTHER_LAYOUT} is for an image of "
        f"{size} bytes, but {OTHER_IMAGE} has {size + MIB}: the image was grown or replaced; "
        "run vread-provision again",
    )
    program = "/usr/sbin/vread-provision"
    guestfs = ("libguestfs", f"{program}: does not start: are its libraries installed?")
    failed = eventually(
        lambda: stale in (found := failures(host)) and found,
        HEALTHY_SECONDS,
        "vreadd's first look at the layout",
    )
    assert failed.keys() == {down, stale, guestfs}
    assert failed[down].startswith("does vreadd run there, with listen in [peers]?")
    again = f"{OTHER_IMAGE} -o {OTHER_LAYOUT}; vreadd picks up the new file"
    assert failed[stale] == f"write the layout again: vread-provision {again}"
    assert failed[guestfs].startswith("install libguestfs0; ")
