/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xenbus.h - the life of a device in xenstore.  main.c registers the driver and creates devices
 * whose work is vread_xenbus_work().
 */
#ifndef VREAD_XENBUS_H
#define VREAD_XENBUS_H

#include <linux/workqueue.h>

int vread_xenbus_register(void); /* 0 or negative errno */
void vread_xenbus_unregister(void);

/* Brings the device into the phase that the backend's state and the link require. */
void vread_xenbus_work(struct work_struct *work);

#endif
