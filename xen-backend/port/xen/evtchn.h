/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * evtchn.h - the event channels of one connection. connect.c calls these functions.
 *
 * Each queue has its own handle, so that a worker can wait on its own file descriptor and no two
 * threads share a handle.
 */
#ifndef VREAD_XEN_EVTCHN_H
#define VREAD_XEN_EVTCHN_H

#include <xenevtchn.h>

#include "port/xen/parse.h"

struct xen_events {
	struct xen_event {
		xenevtchn_handle *handle;
		evtchn_port_t port; /* ours */
	} queue[VREAD_MAX_QUEUES];
};

/* 0, or negative errno with a text in error; then not all channels are bound. */
int xen_events_bind(struct xen_events *e, uint32_t domid, const struct xen_offer *offer,
		    char error[XEN_ERROR_SIZE]);
/* Closes all handles, in any state that xen_events_bind() left. */
void xen_events_close(struct xen_events *e);

int xen_event_fd(const struct xen_event *e);
/* Takes the pending event and leaves the channel masked. 0 or negative errno. */
int xen_event_take(const struct xen_event *e);
void xen_event_rearm(const struct xen_event *e);
void xen_event_notify(const struct xen_event *e);

#endif
