/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xenbus.h - the device's life in xenstore.
 */
#ifndef VREAD_XENBUS_H
#define VREAD_XENBUS_H

#include <linux/workqueue.h>

int vread_xenbus_register(void);
void vread_xenbus_unregister(void);

/* Does whatever the backend's state and the link's health ask for. */
void vread_xenbus_work(struct work_struct *work);

#endif
