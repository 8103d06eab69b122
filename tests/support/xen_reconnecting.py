# SPDX-License-Identifier: GPL-2.0-or-later
"""A client domU that loses its device and its module, and gets both back.  The tests of other
kernels (tests/xen/shared/test_kernels.py) and of Debian 13 (tests/xen/test_debian13.py) call this.
"""

from tools.lab import product

GONE = 3  # exit status of `vread` without a device


def detach_attach_unload_load(client, backend, spec):
    """Each step must have its effect: without the device a read of block `spec` fails, and at the
    end both ends are connected.  The caller reads afterwards."""
    backend.host.run(["xl-vread", "detach", str(client.domid), "--wait", "120"]).check()
    assert backend.states(client) == ("", "")
    gone = client.run(["vread", "cat", spec])
    assert (gone.rc, gone.stdout) == (GONE, b"")
    backend.attach(client)
    backend.wait_connected(client)
    client.run(product.unload()).check()
    backend.wait_states(client, "2", "6")
    backend.connect(client)
