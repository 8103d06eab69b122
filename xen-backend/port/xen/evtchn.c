// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements evtchn.h with libxenevtchn. connect.c calls it.
 */
#include "port/xen/evtchn.h"

#include <errno.h>
#include <stdio.h>

static int bind_one(struct xen_event *e, uint32_t domid, uint32_t remote_port)
{
	xenevtchn_port_or_error_t port;

	e->handle = xenevtchn_open(NULL, 0);
	if (!e->handle)
		return errno ? -errno : -EIO;
	port = xenevtchn_bind_interdomain(e->handle, domid, remote_port);
	if (port < 0)
		return errno ? -errno : -EIO;
	e->port = (evtchn_port_t)port;
	return 0;
}

int xen_events_bind(struct xen_events *e, uint32_t domid, const struct xen_offer *o,
		    char error[XEN_ERROR_SIZE])
{
	*e = (struct xen_events){0};
	for (unsigned q = 0; q < o->num_queues; q++) {
		int r = bind_one(&e->queue[q], domid, o->event_channel[q]);

		if (!r)
			continue;
		snprintf(error, XEN_ERROR_SIZE, "cannot bind event channel %u of queue %u: %s",
			 o->event_channel[q], q, strerror(-r));
		return r;
	}
	return 0;
}

/* Closing a handle unbinds its channel. */
void xen_events_close(struct xen_events *e)
{
	for (unsigned q = 0; q < VREAD_MAX_QUEUES; q++)
		if (e->queue[q].handle)
			xenevtchn_close(e->queue[q].handle);
	*e = (struct xen_events){0};
}

int xen_event_fd(const struct xen_event *e)
{
	return xenevtchn_fd(e->handle);
}

int xen_event_take(const struct xen_event *e)
{
	xenevtchn_port_or_error_t port = xenevtchn_pending(e->handle);

	if (port < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -errno;
	return (evtchn_port_t)port == e->port ? 0 : -EBADMSG;
}

void xen_event_rearm(const struct xen_event *e)
{
	xenevtchn_unmask(e->handle, e->port);
}

void xen_event_notify(const struct xen_event *e)
{
	xenevtchn_notify(e->handle, e->port);
}
