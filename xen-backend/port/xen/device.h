/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * device.h - one device and its state machine; private to the Xen port. xenbus.c calls it.
 *
 * xen_device_update() reads the nodes as they are now and does what they require. There is no queue
 * of events, so a watch may fire early, twice or late.
 */
#ifndef VREAD_XEN_DEVICE_H
#define VREAD_XEN_DEVICE_H

#include <stdatomic.h>

#include <xen/io/xenbus.h>
#include <xenstore.h>

#include "base/pace.h"
#include "port/xen/evtchn.h"
#include "port/xen/map.h"
#include "port/xen/xen.h"

/* What a domain has used up with all its devices. Outlives them: a device can be made anew. */
struct xen_domain {
	struct xen_domain *next;
	uint32_t domid;
	unsigned devices;
	struct pace connects, looks;
};

struct xen_device {
	struct port_conn conn;
	struct xen_port *port;
	struct xen_domain *domain;
	struct xen_device *next;
	uint32_t domid, id;
	char *backend_path, *frontend_path;
	char *vm;        /* /local/domain/<domid>/vm; a later domain with this domid has another */
	bool introduced; /* xenstored knew the domain at some time */
	bool dirty;      /* must be updated */
	bool set_anew;   /* something below backend_path has changed since the rights were read */
	bool gone;       /* must be freed */
	enum xenbus_state state; /* ours, as written last; Unknown before the first look */
	bool refused;            /* closed for a fault of the frontend: wait for Initialising */
	bool unwritten;          /* xenstored did not take `state` */
	struct timer *retry;     /* running: a frontend is not yet answered, see device.c */
	uint64_t retry_ms;       /* how long `retry` ran last; 0 after a success */
	struct timer *late;   /* running: the frontend's state is looked at when its time comes */
	uint64_t num_delayed; /* times that the frontend had to wait, since it connects too often */
	struct xen_limits limits; /* as offered last */
	struct policy *policy;
	struct xen_map map;
	struct xen_events events;
	void *session; /* NULL unless connected */
	bool ending;   /* the session ends: nothing is done with the device until it has ended */
	bool ended;    /* the session has ended, and nothing is unmapped yet */
	_Atomic(const char *) failure;
	char last_error[XEN_ERROR_SIZE + 32];
};

struct xen_port {
	sd_event *event;
	struct xs_handle *xs;
	uint32_t domid; /* our own */
	struct xen_limits limits;
	struct port_events events;
	sd_event_source *watch_io, *failed_io, *end_io;
	int end_fd;    /* store_end_fd() */
	int failed_fd; /* eventfd: a worker has set the failure of a device */
	struct xen_device *devices;
	struct xen_domain *domains;
	bool failed;  /* xenstored is gone */
	bool closing; /* the backend ends: a closed device stays closed */
};

/* The domain, new if it is not known. NULL: out of memory. */
struct xen_domain *xen_port_domain(struct xen_port *p, uint32_t domid);

/* NULL: out of memory (logged). */
struct xen_device *xen_device_new(struct xen_port *port, uint32_t domid, uint32_t id);
void xen_device_free(struct xen_device *d);
/* Reads the nodes of the device and acts on them. Sets d->gone if the device no longer exists. */
void xen_device_update(struct xen_device *d);
/* The frontend has written its state: marks the device, now or later if the domain does that too
 * often. */
void xen_device_front_changed(struct xen_device *d);
/* Closes the device after a worker found a protocol violation. */
void xen_device_fail(struct xen_device *d, const char *reason);
/* Orderly end of the backend: a connected device goes to Closing, then Closed. */
void xen_device_shutdown(struct xen_device *d);
/* Goes on with the device after its session has ended. */
void xen_device_ended(struct xen_device *d);

/* Updates every dirty device of the port, and frees those that are gone. */
void xen_port_update(struct xen_port *port);

const char *xen_state_name(enum xenbus_state state);

#endif
