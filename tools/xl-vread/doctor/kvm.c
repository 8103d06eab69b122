// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kvm.c - checks of `xl-vread doctor`: guests of KVM: their sections in vread.conf(5), the sockets
 * of vread-ivshmem(8), and whether their QEMUs are connected.  Called by doctor.c.
 *
 * The sockets are looked at, and not connected to: vread-ivshmem would take that for a QEMU.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../kvm.h"
#include "checks.h"
#include "cli/text.h"

/* ---- sockets -------------------------------------------------------------------------- */

/* True if a process listens at the path, as the kernel lists it. */
static bool is_listening(const struct doctor *d, const char *path)
{
	char file[PATH_MAX], line[PATH_MAX + 128];
	FILE *f = fopen(doctor_path(d, "/proc/net/unix", file), "re");
	bool found = !f; /* it cannot be found out */

	while (f && !found && fgets(line, sizeof(line), f)) {
		unsigned long flags = 0;
		int at = 0;

		line[strcspn(line, "\n")] = '\0';
		sscanf(line, "%*x: %*x %*x %lx %*x %*x %*u %n", &flags, &at);
		found = at && (flags & 0x10000) && !strcmp(line + at, path);
	}
	if (f)
		fclose(f);
	return found;
}

#define RELOAD_SERVER                                                                          \
	"systemctl enable --now vread-ivshmem, or systemctl reload vread-ivshmem if it runs; " \
	"journalctl -u vread-ivshmem"

/* True if a QEMU can connect. */
static bool check_socket(struct doctor *d, const char *object, const struct config_ivshmem *g)
{
	char path[PATH_MAX];
	struct stat st;

	if (stat(doctor_path(d, g->socket, path), &st) < 0) {
		doctor_fail(d, object, RELOAD_SERVER, "%.200s: %s", g->socket, strerror(errno));
		return false;
	}
	if (!S_ISSOCK(st.st_mode)) {
		doctor_fail(d, object, "remove the file, then systemctl reload vread-ivshmem",
			    "%.200s is no socket", g->socket);
		return false;
	}
	if (!is_listening(d, g->socket)) {
		doctor_fail(d, object, RELOAD_SERVER, "%.200s: nobody listens there", g->socket);
		return false;
	}
	return true;
}

/* ---- devices -------------------------------------------------------------------------- */

static void tell_no_qemu(struct doctor *d, const char *object, const struct config_ivshmem *g)
{
	char remedy[512];

	snprintf(remedy, sizeof(remedy),
		 "start the guest with -chardev socket,id=vread,path=%.108s -device "
		 "ivshmem-doorbell,chardev=vread,vectors=%u (xl-vread attach %.64s prints "
		 "libvirt's XML); if it was refused: journalctl -u vread-ivshmem",
		 g->socket, g->queues + 1, g->name);
	doctor_warn(d, object, remedy, "no QEMU is connected");
}

static void check_device(struct doctor *d, const char *object, const json_t *device)
{
	const char *state = text_member(device, "state");
	const char *error = json_string_value(json_object_get(device, "last_error"));

	if (!strcmp(state, "Connected"))
		doctor_ok(d, object, "connected");
	else if (!strcmp(state, "InitWait") || !strcmp(state, "Initialised"))
		doctor_warn(d, object, "in the guest: modprobe vread-ivshmem, then `vread doctor`",
			    "its QEMU is connected; waits for the guest: its module is not loaded, "
			    "or not done");
	else if (!strcmp(state, "Initialising"))
		doctor_fail(d, object,
			    "xl-vread reload, if the guest's section is new; else check the disks "
			    "of this host: a read of an image hangs",
			    "its QEMU is connected, and nothing is offered to the guest: %.400s",
			    error ?: "no reason was given");
	else
		doctor_fail(d, object,
			    "in the guest: modprobe -r vread-ivshmem, then modprobe it again",
			    "closed: %.400s", error ?: "no reason was given");
}

/* ---- all of them ----------------------------------------------------------------------- */

static void check_rights(struct doctor *d, const char *object, const struct config_ivshmem *g)
{
	char *list = strdup(g->allow_datanodes ?: "");

	if (list && !*list)
		doctor_fail(d, object,
			    "set allow-datanodes in its section of vread.conf, then xl-vread "
			    "reload",
			    "no datanode is allowed: it can read nothing");
	else if (list && strcmp(list, "*"))
		check_names(d, object, list,
			    "correct allow-datanodes in its section, or add [datanode NAME] or "
			    "datanodes of a [peer] to vread.conf; then xl-vread reload");
	free(list);
}

/* Its failure was told as that of the port. */
static bool is_server_missing(const struct doctor *d)
{
	const json_t *ports = json_object_get(d->facts->status, "ports");

	return !strcmp(text_member(json_object_get(ports, "kvm"), "state"), "unavailable");
}

static void check_guest(struct doctor *d, const struct config_ivshmem *g)
{
	char object[80];
	const json_t *device;
	bool reachable;

	snprintf(object, sizeof(object), "kvm:%.64s", g->name);
	device = status_entry(d, "devices", "name", object);
	reachable = device || is_server_missing(d) || check_socket(d, object, g);
	if (device)
		check_device(d, object, device);
	else if (reachable && d->facts->status && !is_server_missing(d))
		tell_no_qemu(d, object, g);
	check_rights(d, object, g);
}

void check_kvm(struct doctor *d)
{
	const struct config *c = d->facts->config;

	if (!c)
		doctor_skip(d, "guests of KVM", "there is no valid configuration");
	else if (!c->num_ivshmem && d->facts->is_kvm)
		doctor_warn(d, "guests of KVM",
			    "xl-vread init --datanode NAME=IMAGE --client GUEST writes them",
			    "vread.conf has no [ivshmem NAME]: no guest can read");
	else if (!c->num_ivshmem)
		doctor_skip(d, "guests of KVM", "none is configured");
	else if (!c->ivshmem_socket[0])
		doctor_fail(d, "guests of KVM",
			    "remove ivshmem-socket from vread.conf, and restart vread-ivshmem and "
			    "vreadd",
			    "ivshmem-socket is empty in vread.conf: vreadd serves none of them");
	for (size_t i = 0; c && i < c->num_ivshmem; i++)
		check_guest(d, &c->ivshmem[i]);
	if (d->facts->is_kvm && c && c->num_ivshmem && !doctor_exists(d, "/dev/kvm"))
		doctor_warn(d, "/dev/kvm",
			    "modprobe kvm_intel or kvm_amd; is virtualization on in the firmware?",
			    "is missing: QEMU emulates the guests' processors");
}
