/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ivshmem.h - the port for guests of KVM, by shared memory and doorbells of QEMU's ivshmem-doorbell
 * device. control/daemon.c starts and stops the port.
 *
 * vread-ivshmem (ivshmem-server/) gives the port the memory and the doorbells of each guest with a
 * QEMU. The port follows the states of vread-ivshmem.h. The operator's [ivshmem NAME] says what the
 * guest NAME may read.
 */
#ifndef VREAD_IVSHMEM_PORT_H
#define VREAD_IVSHMEM_PORT_H

#include <jansson.h>

#include "policy/policy.h"
#include "port/port.h"

struct ivshmem_port;

/* The rights of a guest: one [ivshmem NAME]. */
struct ivshmem_rights {
	const char *name;
	enum policy_role role;
	/* lists as policy_new() takes them */
	const char *allow_datanodes, *allow_pools, *publish_datanodes, *unnamed_datanodes;
};

struct ivshmem_settings {
	const char *socket; /* of vread-ivshmem; "": none. Does not change. */
	const struct ivshmem_rights *guests;
	size_t num_guests;
};

/*
 * Starts the port. With a guest and a socket it connects to vread-ivshmem, again and again until it
 * can. The port copies the array of guests; the strings stay the caller's. 0 or negative errno
 * (logged).
 */
int ivshmem_port_start(struct ivshmem_port **ret, sd_event *event,
		       const struct ivshmem_settings *settings, const struct port_events *events);
/*
 * Replaces the rights of all guests. They count for the next answer, also of open blocks. A guest
 * whose role changes, or who has no rights any more, is disconnected. The strings of the settings
 * before are not used from now on. Returns 0, or negative errno: then no guest, or no new guest, is
 * served.
 */
int ivshmem_port_set(struct ivshmem_port *p, const struct ivshmem_settings *settings);
/* Begins to close every device. NULL is ignored. */
void ivshmem_port_close(struct ivshmem_port *p);
/* Every session must have ended (ring/session.h). NULL is ignored. */
void ivshmem_port_free(struct ivshmem_port *p);

/* New references, for the status document. */
json_t *ivshmem_port_status(const struct ivshmem_port *p);
json_t *ivshmem_port_devices(const struct ivshmem_port *p);

#endif
