/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rights.h - reads what a device may do: role and lists of its backend directory; private to the
 * Xen port. connect.c reads the rights for a new connection, device.c when the directory has
 * changed.
 */
#ifndef VREAD_XEN_RIGHTS_H
#define VREAD_XEN_RIGHTS_H

#include "port/xen/device.h"

/*
 * 0 and a new policy; otherwise negative errno with a text in error. Nodes that are absent have the
 * defaults of vreadif.h.
 */
int xen_rights_read(struct xen_device *d, struct policy **ret, char error[XEN_ERROR_SIZE]);

#endif
