// SPDX-License-Identifier: GPL-2.0-or-later
/* host.c - checks of `xl-vread doctor`: the hypervisor, its device nodes, xenstored and RDMA
 * adapters.  Called by doctor.c. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checks.h"
#include "peer/wire/message.h"

/* Without Xen guests of KVM can be served, and programs of this machine. */
static void tell_no_xen(struct doctor *d)
{
	const struct config *c = d->facts->config;

	d->facts->is_kvm = !getenv("XENSTORED_PATH") &&
			   ((c && c->num_ivshmem) || doctor_exists(d, "/dev/kvm"));
	if (d->facts->is_kvm)
		d->role = "host";
	if (d->facts->is_kvm)
		doctor_ok(d, "/sys/hypervisor/type", "no Xen here: a host of KVM");
	else if (c && c->local.socket[0])
		doctor_skip(d, "/sys/hypervisor/type",
			    "no Xen here, and no KVM: programs of this machine are served");
	else
		doctor_warn(d, "/sys/hypervisor/type",
			    "for guests of Xen boot this machine under Xen; for guests of KVM "
			    "modprobe kvm_intel or kvm_amd; programs of this machine need only "
			    "[local] in vread.conf",
			    "neither Xen nor KVM here");
}

void check_xen(struct doctor *d)
{
	char type[DOCTOR_LINE], major[DOCTOR_LINE], minor[DOCTOR_LINE], caps[DOCTOR_LINE];

	if (!doctor_read_line(d, "/sys/hypervisor/type", type) || strcmp(type, "xen")) {
		d->facts->no_xen = true;
		tell_no_xen(d);
		return;
	}
	if (!doctor_read_line(d, "/proc/xen/capabilities", caps)) {
		doctor_fail(d, "/proc/xen/capabilities", "mount -t xenfs xenfs /proc/xen",
			    "cannot be read: %s", strerror(errno));
		return;
	}
	if (!strstr(caps, "control_d")) {
		doctor_fail(
			d, "/proc/xen/capabilities",
			"run vreadd in dom0, or give this driver domain its disks and the right "
			"to map grants",
			"this is not dom0");
		return;
	}
	if (!doctor_read_line(d, "/sys/hypervisor/version/major", major) ||
	    !doctor_read_line(d, "/sys/hypervisor/version/minor", minor))
		strcpy(major, "?"), strcpy(minor, "?");
	doctor_ok(d, "/sys/hypervisor", "Xen %.8s.%.8s, and this is dom0", major, minor);
}

void check_xen_nodes(struct doctor *d)
{
	static const struct {
		const char *path, *module;
	} nodes[] = {
		{"/dev/xen/gntdev", "xen-gntdev"},
		{"/dev/xen/evtchn", "xen-evtchn"},
		{"/dev/xen/privcmd", "xen-privcmd"},
		{"/dev/xen/xenbus", "xenfs"},
	};
	char path[PATH_MAX], remedy[DOCTOR_LINE];

	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		if (d->facts->no_xen) {
			doctor_skip(d, nodes[i].path, "no Xen here");
		} else if (!doctor_exists(d, nodes[i].path)) {
			snprintf(remedy, sizeof(remedy), "modprobe %s", nodes[i].module);
			doctor_fail(d, nodes[i].path, remedy, "is missing");
		} else if (access(doctor_path(d, nodes[i].path, path), R_OK | W_OK) < 0) {
			doctor_skip(d, nodes[i].path, "exists; run this as root to check more");
		} else {
			doctor_ok(d, nodes[i].path, "is there");
		}
	}
}

void check_xenstore(struct doctor *d)
{
	if (d->facts->no_xen && !getenv("XENSTORED_PATH")) {
		doctor_skip(d, "xenstored", "no Xen here");
		return;
	}
	d->xs = xs_open(0);
	if (d->xs)
		doctor_ok(d, "xenstored", "answers");
	else
		doctor_fail(
			d, "xenstored",
			"run this as root; if it is not running: systemctl restart xenstored, or "
			"reboot",
			"cannot be reached: %s", strerror(errno));
}

/* Counts the names in a folder that do not begin with a dot. */
static unsigned count_entries(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *e;
	unsigned n = 0;

	while (dir && (e = readdir(dir)))
		n += e->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

void check_rdma(struct doctor *d)
{
	static const char adapters[] = "/sys/class/infiniband";
	char path[PATH_MAX];
	unsigned n;

	if (!d->facts->config || !d->facts->config->peers.line ||
	    !(d->facts->config->peers.transports & MESSAGE_TRANSPORT_RDMA)) {
		doctor_skip(d, adapters, "RDMA is not configured");
		return;
	}
	n = count_entries(doctor_path(d, adapters, path));
	if (n)
		doctor_ok(d, adapters, "%u adapter%s", n, n == 1 ? "" : "s");
	else
		doctor_fail(
			d, adapters,
			"load the adapter's driver (modprobe ib_uverbs, mlx5_ib, rdma_rxe ...), "
			"or remove rdma from transports of [peers]",
			"no RDMA adapter, but transports of [peers] has rdma");
}
