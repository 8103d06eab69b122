/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attach.h - gives a running domain a device, or takes a device away.  Called by `xl-vread attach`
 * and `detach`, and by provision.c.
 *
 * On failure each function prints for the operator what is wrong and what to do.  Each
 * returns an exit code of cli.h.
 */
#ifndef VREAD_TOOLSTACK_ATTACH_H
#define VREAD_TOOLSTACK_ATTACH_H

#include <stdbool.h>

struct xs_device;
struct xs_device_policy;

int device_attach(struct xs_device *d, const struct xs_device_policy *policy);
/* wait: seconds in which the device must connect.  0: do not wait for the connection. */
int device_await(struct xs_device *d, unsigned wait);
/* wait: seconds in which the device must close.  force: remove the device then in any case. */
int device_detach(struct xs_device *d, unsigned wait, bool force);

#endif
