// SPDX-License-Identifier: GPL-2.0
/*
 * xen-vreadfront: the frontend of vRead in the kernel of a guest of Xen or KVM.  This file has the
 * module's parameters, and registers the drivers when the kernel loads the module.
 *
 * The host finds HDFS blocks in the disk images of datanode guests, and writes their verified
 * bytes into a pool of pages that this guest shares with the host.  Processes map their slice of
 * the pool through /dev/vread.  vreadif.h describes the protocol, uapi/vread_ioctl.h the system
 * calls.
 *
 * The other files.  Each calls only files below it in this list:
 *
 *   pci.c      devices of KVM and QEMU: shared memory, doorbell, removal
 *   xenbus.c   devices of Xen: nodes in xenstore, event channels, resume
 *   suspend.c  save and migration, beyond what xenbus does
 *   grant.c    rings and pool as pages granted by Xen
 *   connect.c  the state machine: negotiate, connect, close; the nodes in /dev
 *   chardev.c  the device node
 *   file.c     an open file: its handles, slice and READs
 *   request.c  requests that a thread waits for: OPEN, STAT, PUBLISH and KEYS
 *   link.c     all queues together: up, down, dead; handles and CLOSE
 *   device.c   the struct of a device, which the files above share
 *   ring.c     one queue: ring, ids, events
 *   pool.c     the shared pages, slices, quarantine
 *   share.c    what each user of the guest holds of pool and rings
 *   check.c    checks of values from outside; also compiled by unit tests
 */
#define pr_fmt(fmt) "vread: " fmt

#include <linux/init.h>
#include <linux/module.h>
#include <xen/platform_pci.h>
#include <xen/xen.h>

#include "connect.h"
#include "pci.h"
#include "vreadif.h"
#include "xenbus.h"

static bool on_xen;
static struct vread_params params = {.ring_order = 1, .pool_mib = 16};

module_param_named(queues, params.queues, uint, 0444);
MODULE_PARM_DESC(queues, "Queues per device, 1 to 8; 0 (default): one per CPU, at most 4");

module_param_named(ring_order, params.ring_order, uint, 0444);
MODULE_PARM_DESC(ring_order, "log2 of the pages of each ring, 0 to 4; default 1 (64 requests)");

module_param_named(pool_mib, params.pool_mib, uint, 0444);
MODULE_PARM_DESC(pool_mib, "MiB of memory shared with the host, 1 to 128; default 16");

static bool param_ok(const char *name, unsigned int value, unsigned int min, unsigned int max)
{
	if (value >= min && value <= max)
		return true;
	pr_err("parameter %s=%u: must be %u to %u\n", name, value, min, max);
	return false;
}

static int __init vread_init(void)
{
	int err;

	if (!param_ok("queues", params.queues, 0, VREAD_MAX_QUEUES) ||
	    !param_ok("ring_order", params.ring_order, 0, VREAD_MAX_RING_PAGE_ORDER) ||
	    !param_ok("pool_mib", params.pool_mib, 1, 128))
		return -EINVAL;
	vread_connect_init(&params);
	if (xen_domain() && xen_has_pv_devices()) {
		err = vread_xenbus_register();
		if (err)
			return err;
		on_xen = true;
	}
	err = vread_pci_register();
	if (err && on_xen)
		vread_xenbus_unregister();
	return err;
}
module_init(vread_init);

static void __exit vread_exit(void)
{
	vread_pci_unregister();
	if (on_xen)
		vread_xenbus_unregister();
}
module_exit(vread_exit);

MODULE_DESCRIPTION("Frontend of vRead in guests of Xen and KVM: HDFS blocks read through the host");
MODULE_LICENSE("GPL");
MODULE_ALIAS("xen:vread");
