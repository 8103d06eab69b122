/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * connect.h - private to the Xen port: from a frontend's offer to a session
 * and back.
 */
#ifndef VREAD_XEN_CONNECT_H
#define VREAD_XEN_CONNECT_H

#include "port/xen/device.h"

/* 0: mapped, bound and with a session; or negative errno with the text, and
 * nothing mapped, bound or running. */
int xen_connect(struct xen_device *d, char error[XEN_ERROR_SIZE]);
/* Ends the session, then unmaps and unbinds.  Nothing to do is fine. */
void xen_disconnect(struct xen_device *d);

#endif
