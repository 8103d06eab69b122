/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * connect.h - connects a device with what its frontend offers, and disconnects it; private to the
 * Xen port. device.c calls it.
 */
#ifndef VREAD_XEN_CONNECT_H
#define VREAD_XEN_CONNECT_H

#include "port/xen/device.h"

/*
 * Maps the frontend's pages, binds its event channels and starts a session. 0, or negative errno
 * with a text in error; then nothing is mapped, bound or running.
 */
int xen_connect(struct xen_device *d, char error[XEN_ERROR_SIZE]);
/*
 * Unmaps and unbinds everything, and returns true. If a session is running, it cannot be done yet:
 * begins the end of the session if that was not begun, and returns false; xen_device_update() is
 * called for the device when the session has ended. Allowed when there is nothing to end.
 */
bool xen_disconnect(struct xen_device *d);

#endif
