# SPDX-License-Identifier: GPL-2.0-or-later
"""vread-provision in dom0, where operators run it.  libguestfs starts its appliance there without
hardware virtualization.  dom0 itself is emulated here, so this takes minutes.

The appliance starts once.  The layout must equal the layout found on this machine, and vreadd must
serve the image with the layout.
"""

import json
import time

import pytest

from tools.hdfs.demo_data import provision
from tools.lab import deployment, product
from tools.lab.appliance import SETTINGS, Appliance
from tools.lab.paths import REPOSITORY
from tools.patience import Patience

RELEASE = "release"
LAYOUT = "/tmp/layout.json"
PROVISION_TIMEOUT = 2100  # s, longer on a busy machine; a slow machine alone takes seven minutes
NEWS_EVERY = 30

pytestmark = [pytest.mark.xen, pytest.mark.slow, pytest.mark.timeout(9000)]


@pytest.fixture(scope="module")
def say(request):
    """say(text): prints a line at once, with the time, so that the terminal shows progress during
    the minutes of the test."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    started = time.monotonic()

    def print_now(text):
        with capture.global_and_fixture_disabled():
            print(f"\n[{time.monotonic() - started:6.1f} s] {text}", end="", flush=True)

    return print_now


@pytest.fixture(scope="module")
def host(start_host, demo, say):
    """A host with the datanode's disk as /dev/vda and the appliance's disk as /dev/vdb."""
    provision(demo)
    say("making libguestfs's appliance")
    appliance = Appliance()
    provisioner = {"/usr/bin/vread-provision": REPOSITORY / "build" / RELEASE / "vread-provision"}
    host = start_host(
        "provision",
        memory_mib=3584,
        dom0_mib=2560,
        disks=[demo.image, appliance.disk],
        files=product.dom0_files(RELEASE) | provisioner | appliance.files,
        guest_files=product.guest_files(RELEASE),
        progress=say,
    )
    appliance.install(host, "/dev/vdb")
    return host


@pytest.fixture(scope="module")
def provisioned(host, say):
    """Runs vread-provision in dom0 and returns its result.  A failure shows the end of libguestfs's
    log."""
    command = ["vread-provision", "--summary", "--output", LAYOUT, "/dev/vda"]
    say("dom0: vread-provision /dev/vda")
    running = host.popen(["env", *SETTINGS, *command])
    patience = Patience(PROVISION_TIMEOUT)
    while True:
        try:
            done = running.wait(NEWS_EVERY)
            break
        except TimeoutError:
            assert not patience.is_over(), running.stderr.decode(errors="replace")
            log = running.stderr.decode(errors="replace").splitlines() or ["nothing yet"]
            say(f"dom0: {log[-1][:90]}")
    say(f"dom0: vread-provision ended with status {done.rc}\n")
    return done.check()


@pytest.fixture(scope="module")
def layout(host, provisioned, tmp_path_factory):
    path = tmp_path_factory.mktemp("layout") / "layout.json"
    host.get(LAYOUT, path)
    return path


def test_the_layout_is_the_one_found_outside(layout, demo):
    """Both layouts must be equal, although the appliance starts inside a PV domain.  The test takes
    minutes: an emulator runs in another."""
    assert json.loads(layout.read_text()) == json.loads(demo.layout.read_text())


def test_the_summary_names_what_is_there(provisioned, demo):
    """The summary must name the disk, a block device of dom0, its file system and its data
    directories."""
    summary = provisioned.stdout.decode()
    image = demo.image_facts
    assert summary.startswith("/dev/vda: ")
    assert f"ext4 {image.uuid}" in summary
    for data_dir in image.data_dirs:
        assert f"data directory  {data_dir.path}\n" in summary
        assert data_dir.storage_id in summary and data_dir.cluster_id in summary
        assert all(pool in summary for pool in data_dir.pools)


def test_vread_inspect_hands_over_to_it(host):
    """`xl-vread inspect` must start vread-provision; both are installed in a dom0."""
    answer = host.run("xl-vread inspect /dev/no-such-disk")
    assert answer.rc == 66
    assert answer.stderr.startswith(b"vread-provision: ")


def test_vreadd_serves_the_image_by_that_layout(host, layout, demo):
    """A client domU must read the whole file when vreadd uses the layout that dom0 found."""
    backend = deployment.Backend(host, {"dn1": deployment.Datanode("/dev/vda", layout)})
    backend.start()
    client = deployment.start_client(backend, "reader", demo.blocks_file)
    assert deployment.file_digest(client) == demo.sha256
