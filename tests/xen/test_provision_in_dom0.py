# SPDX-License-Identifier: GPL-2.0-or-later
"""vread-provision where operators run it: libguestfs starts its appliance inside dom0, where
there is no hardware virtualization.  Here dom0 is emulated, too, so this takes minutes.

The appliance starts once; its layout must be the one found on this machine, and vreadd must
serve the image by it.
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
PROVISION_TIMEOUT = 2100  # of a machine that is not busy; a quiet one takes four minutes
NEWS_EVERY = 30

pytestmark = [pytest.mark.xen, pytest.mark.slow, pytest.mark.timeout(9000)]


@pytest.fixture(scope="module")
def say(request):
    """Prints a line at once, with the time: nobody looks at a silent terminal for minutes."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    started = time.monotonic()

    def print_now(text):
        with capture.global_and_fixture_disabled():
            print(f"\n[{time.monotonic() - started:6.1f} s] {text}", end="", flush=True)

    return print_now


@pytest.fixture(scope="module")
def host(start_host, demo, say):
    """The datanode's disk is /dev/vda, the appliance's /dev/vdb."""
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
    """What vread-provision did in dom0; a failure shows the end of libguestfs's log."""
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
    """The appliance starts inside a PV domain.  It takes minutes: an emulator in another."""
    assert json.loads(layout.read_text()) == json.loads(demo.layout.read_text())


def test_the_summary_names_what_is_there(provisioned, demo):
    """The disk is a block device of dom0."""
    summary = provisioned.stdout.decode()
    image = demo.image_facts
    assert summary.startswith("/dev/vda: ")
    assert f"ext4 {image.uuid}" in summary
    for data_dir in image.data_dirs:
        assert f"data directory  {data_dir.path}\n" in summary
        assert data_dir.storage_id in summary and data_dir.cluster_id in summary
        assert all(pool in summary for pool in data_dir.pools)


def test_vread_inspect_hands_over_to_it(host):
    """Both are installed in a dom0."""
    answer = host.run("vread inspect /dev/no-such-disk")
    assert answer.rc == 66
    assert answer.stderr.startswith(b"vread-provision: ")


def test_vreadd_serves_the_image_by_that_layout(host, layout, demo):
    """A client domU reads through what dom0 found by itself."""
    backend = deployment.Backend(host, {"dn1": deployment.Datanode("/dev/vda", layout)})
    backend.start()
    client = deployment.start_client(backend, "reader", demo.blocks_file)
    assert deployment.file_digest(client) == demo.sha256
