/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * connect.h - connects a device with what its frontend offers, and disconnects it; private to the
 * Xen port. device.c calls it.
 */
#ifndef VREAD_XEN_CONNECT_H
#define VREAD_XEN_CONNECT_H

#include "port/xen/device.h"

/* Who must act before another try makes sense. */
enum xen_fault {
	XEN_FAULT_HOST, /* nobody: time */
	XEN_FAULT_TOOLSTACK,
	XEN_FAULT_FRONTEND,
};

/*
 * Maps the frontend's pages, binds its event channels and starts a session. 0, or negative errno
 * with a text in error and whose fault it is; then nothing is mapped, bound or running. A failure
 * of a mapping or of a channel counts as the host's: a reference of the frontend that is none, and
 * a host without room for more mappings, look the same.
 */
int xen_connect(struct xen_device *d, char error[XEN_ERROR_SIZE], enum xen_fault *ret_fault);
/*
 * Unmaps and unbinds everything, and returns true. If a session is running, it cannot be done yet:
 * begins the end of the session if that was not begun, and returns false; xen_device_update() is
 * called for the device when the session has ended. Allowed when there is nothing to end.
 */
bool xen_disconnect(struct xen_device *d);

#endif
