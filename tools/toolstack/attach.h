/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attach.h - giving a running domain a device and taking it away, with what is told to an operator
 * when that fails.  Both return an exit code of cli.h, after printing what is wrong.
 */
#ifndef VREAD_TOOLSTACK_ATTACH_H
#define VREAD_TOOLSTACK_ATTACH_H

#include <stdbool.h>

struct xs_device;
struct xs_device_policy;

/* wait: seconds until it has to be connected; 0: whether it ever is, is not waited for. */
int device_attach(struct xs_device *d, const struct xs_device_policy *policy, unsigned wait);
/* wait: seconds in which both ends have to let go; force: after that it is removed all the same. */
int device_detach(struct xs_device *d, unsigned wait, bool force);

#endif
