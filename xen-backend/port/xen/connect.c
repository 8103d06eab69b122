// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements connect.h: reads rights and offer, maps, binds and starts the session. device.c calls
 * it.
 *
 * The rights come from the backend directory (rights.h). The offer comes from the frontend
 * directory, which is read once in one transaction.
 */
#include "port/xen/connect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/log.h"
#include "policy/policy.h"
#include "port/xen/rights.h"
#include "port/xen/store.h"

/* ---- what workers call ----------------------------------------------------- */

static struct xen_device *device_of(struct port_conn *conn)
{
	return (struct xen_device *)((char *)conn - offsetof(struct xen_device, conn));
}

static int event_fd(struct port_conn *conn, unsigned q)
{
	return xen_event_fd(&device_of(conn)->events.queue[q]);
}

static int event_take(struct port_conn *conn, unsigned q)
{
	return xen_event_take(&device_of(conn)->events.queue[q]);
}

static void event_rearm(struct port_conn *conn, unsigned q)
{
	xen_event_rearm(&device_of(conn)->events.queue[q]);
}

static void notify(struct port_conn *conn, unsigned q)
{
	xen_event_notify(&device_of(conn)->events.queue[q]);
}

static void fail(struct port_conn *conn, const char *reason)
{
	struct xen_device *d = device_of(conn);
	const char *none = NULL;

	atomic_compare_exchange_strong(&d->failure, &none, reason);
	eventfd_write(d->port->failed_fd, 1);
}

static void ended(struct port_conn *conn)
{
	struct xen_device *d = device_of(conn);

	d->session = NULL;
	d->ending = false;
	d->ended = true;
	xen_device_ended(d);
}

static const struct port_conn_ops conn_ops = {
	.event_fd = event_fd,
	.event_take = event_take,
	.event_rearm = event_rearm,
	.notify = notify,
	.fail = fail,
	.ended = ended,
};

/* ---- offer ------------------------------------------------------------------------ */

struct offer_reader {
	struct xen_device *device;
	xs_transaction_t transaction;
};

static char *read_offer_node(void *ctx, const char *node)
{
	struct offer_reader *reader = ctx;
	char *value = NULL;

	store_read(reader->device->port->xs, reader->transaction, &value, "%s/%s",
		   reader->device->frontend_path, node);
	return value;
}

static int read_offer(struct xen_device *d, struct xen_offer *ret, char *error,
		      enum xen_fault *ret_fault)
{
	struct xs_handle *xs = d->port->xs;
	struct offer_reader reader = {d, xs_transaction_start(xs)};
	int r;

	if (reader.transaction == XBT_NULL) {
		snprintf(error, XEN_ERROR_SIZE, "cannot start a xenstore transaction: %m");
		return -EIO;
	}
	r = xen_offer_parse(read_offer_node, &reader, &d->limits, policy_role(d->policy), ret,
			    error);
	if (r)
		*ret_fault = XEN_FAULT_FRONTEND;
	xs_transaction_end(xs, reader.transaction, true); /* nothing was written */
	return r;
}

/* ---- session --------------------------------------------------------------------- */

static int start_session(struct xen_device *d, const struct xen_offer *o, char *error)
{
	struct port_events *events = &d->port->events;
	int err = ENOMEM;

	d->conn.ops = &conn_ops;
	d->conn.policy = d->policy;
	atomic_store(&d->conn.may_publish, true); /* the policy says for which datanodes */
	d->conn.pool = d->map.pool;
	d->conn.pool_pages = d->map.pool_pages;
	d->conn.num_queues = o->num_queues;
	for (unsigned q = 0; q < o->num_queues; q++) {
		d->conn.queue[q].sring = d->map.ring[q];
		d->conn.queue[q].ring_bytes = d->map.ring_pages * VREAD_PAGE_SIZE;
	}
	atomic_store(&d->failure, NULL);
	d->session = events->connect(events->ctx, &d->conn, &err);
	if (d->session)
		return 0;
	snprintf(error, XEN_ERROR_SIZE, "cannot start a session: %s", strerror(err));
	return -err;
}

int xen_connect(struct xen_device *d, char error[XEN_ERROR_SIZE], enum xen_fault *ret_fault)
{
	struct xen_offer offer;
	int r = xen_rights_read(d, &d->policy, error);

	*ret_fault = r ? XEN_FAULT_TOOLSTACK : XEN_FAULT_HOST;
	if (!r)
		r = read_offer(d, &offer, error, ret_fault);
	if (!r)
		r = xen_map_create(&d->map, d->domid, &offer, error);
	if (!r)
		r = xen_events_bind(&d->events, d->domid, &offer, error);
	if (!r)
		r = xen_map_alive(&d->map, d->domid, &offer, d->events.queue[0].port, error);
	if (!r)
		r = start_session(d, &offer, error);
	if (r)
		xen_disconnect(d);
	return r;
}

bool xen_disconnect(struct xen_device *d)
{
	uint32_t pages;

	if (d->session && !d->ending) {
		d->ending = true;
		d->port->events.disconnect(d->port->events.ctx, d->session);
	}
	if (d->session)
		return false;
	pages = xen_map_destroy(&d->map);
	xen_events_close(&d->events);
	policy_free(d->policy);
	d->policy = NULL;
	d->conn.num_queues = 0;
	d->conn.pool_pages = 0;
	if (d->ended)
		log_device(LOG_LEVEL_INFO, d->conn.name, "disconnected, %u pages unmapped", pages);
	d->ended = false;
	return true;
}
