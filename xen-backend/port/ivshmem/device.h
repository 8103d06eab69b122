/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * device.h - one guest of KVM and its state machine; private to the port. ivshmem.c makes a device
 * for each QEMU that vread-ivshmem tells of.
 *
 * ivshmem_device_update() reads the frontend's word as it is now and does what the word requires.
 * There is no queue of events, so a doorbell may ring early, twice or late.
 */
#ifndef VREAD_IVSHMEM_DEVICE_H
#define VREAD_IVSHMEM_DEVICE_H

#include <stdatomic.h>

#include <xen/io/xenbus.h>

#include "base/bell.h"
#include "base/pace.h"
#include "port/ivshmem/ivshmem.h"
#include "port/ivshmem/offer.h"
#include "port/ivshmem/server.h"
#include "port/ivshmem/share.h"

/* What holds for all QEMUs of a guest, one after the other. */
struct ivshmem_guest {
	struct ivshmem_guest *next;
	char name[64];     /* NAME of [ivshmem NAME] */
	struct pace rings; /* of vector 0 */
	struct pace offers;
	struct pace violations;
	uint64_t num_delayed; /* times that the frontend had to wait for an offer */
};

struct ivshmem_device {
	struct port_conn conn;
	struct ivshmem_port *port;
	struct ivshmem_device *next;
	struct ivshmem_guest *guest;
	uint64_t connection; /* number of the QEMU's connection */
	struct ivshmem_share share;
	struct ivshmem_offer offer;
	sd_event_source *doorbell; /* of vector 0 */
	struct timer *calm;        /* running: vector 0 is not watched, as it rang too often */
	struct timer *retry;       /* running: nothing is offered yet */
	enum xenbus_state state;   /* ours; Initialising before the first offer */
	uint32_t epoch;            /* of the newest offer */
	uint32_t ring_pages;       /* of each ring; 0 unless connected */
	struct policy *policy;     /* since the offer */
	void *session;             /* NULL unless connected */
	bool ending;               /* the session ends */
	bool gone;                 /* the device must be freed */
	bool qemu_ended;           /* the memory is free then, too */
	_Atomic(const char *) failure;
	char last_error[IVSHMEM_ERROR_SIZE + 32];
};

struct ivshmem_port {
	sd_event *event;
	struct port_events events;
	struct ivshmem_server server;
	struct bell *bell;
	struct ivshmem_rights *rights;
	size_t num_rights;
	struct ivshmem_guest *guests;   /* those that a QEMU was there for */
	struct ivshmem_device *devices; /* the newest first */
	sd_event_source *failed_io;
	int failed_fd; /* eventfd: a worker has set the failure of a device */
	bool closing;  /* the backend ends: a closed device stays closed */
};

/* Takes over the descriptors. guest stays the port's. NULL: failed (logged). */
struct ivshmem_device *ivshmem_device_new(struct ivshmem_port *port, struct ivshmem_guest *guest,
					  const struct ivshmem_message *come, int *fds,
					  unsigned num_fds);
/* The session must have ended. */
void ivshmem_device_free(struct ivshmem_device *d);
/*
 * Acts on the frontend's word and on the rights as they are now. Frees the device if it is gone and
 * its session has ended.
 */
void ivshmem_device_update(struct ivshmem_device *d);
/* Closes the device after a worker found a protocol violation. */
void ivshmem_device_fail(struct ivshmem_device *d, const char *reason);
/*
 * Frees the device, at once or when its session has ended. A device that comes for the same guest
 * meanwhile gets no offer until then. qemu_ended: nobody uses the memory any more, so its pages are
 * freed.
 */
void ivshmem_device_leave(struct ivshmem_device *d, bool qemu_ended);
/* Follows the rights of the port's settings. */
void ivshmem_device_follow_rights(struct ivshmem_device *d);
/* Orderly end of the backend: the device goes to Closed. */
void ivshmem_device_shutdown(struct ivshmem_device *d);

const char *ivshmem_state_name(enum xenbus_state state);

#endif
