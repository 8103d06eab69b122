/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * device.h - private to the Xen port: one device and its state machine.
 *
 * xen_device_update() looks at the nodes as they are now and does what they
 * call for.  It keeps no queue of what happened, so it does not matter whether
 * a watch fires early, twice or late.
 */
#ifndef VREAD_XEN_DEVICE_H
#define VREAD_XEN_DEVICE_H

#include <stdatomic.h>

#include <xen/io/xenbus.h>
#include <xenstore.h>

#include "port/xen/evtchn.h"
#include "port/xen/map.h"
#include "port/xen/xen.h"

struct xen_device {
	struct port_conn conn;
	struct xen_port *port;
	struct xen_device *next;
	uint32_t domid, id;
	char *backend_path, *frontend_path;
	char *vm;                 /* /local/domain/<domid>/vm: tells a domain from a successor */
	bool introduced;          /* xenstored has known the domain */
	bool dirty;               /* to be updated */
	bool gone;                /* to be freed */
	enum xenbus_state state;  /* ours, as written last; Unknown before the first look */
	bool refused;             /* closed for a fault of the frontend: wait for Initialising */
	struct timer *retry;      /* running: a refused frontend is not answered yet */
	struct xen_limits limits; /* as offered last */
	struct policy *policy;
	struct xen_map map;
	struct xen_events events;
	void *session; /* NULL unless connected */
	_Atomic(const char *) failure;
	char last_error[XEN_ERROR_SIZE + 32];
};

struct xen_port {
	sd_event *event;
	struct xs_handle *xs;
	uint32_t domid; /* our own */
	struct xen_limits limits;
	struct port_events events;
	sd_event_source *watch_io, *failed_io;
	int failed_fd; /* eventfd: a worker has set some device's failure */
	struct xen_device *devices;
	bool failed; /* xenstored is gone */
};

/* NULL: out of memory (logged). */
struct xen_device *xen_device_new(struct xen_port *port, uint32_t domid, uint32_t id);
void xen_device_free(struct xen_device *d);
/* Sets d->gone when there is no such device any more. */
void xen_device_update(struct xen_device *d);
/* A worker found the protocol broken. */
void xen_device_fail(struct xen_device *d, const char *reason);
/* Orderly end of the backend: Closing, Closed if there is a connection. */
void xen_device_shutdown(struct xen_device *d);

/* Updates every dirty device of the port, and frees those that are gone. */
void xen_port_update(struct xen_port *port);

const char *xen_state_name(enum xenbus_state state);

#endif
