/* SPDX-License-Identifier: GPL-2.0 */
/*
 * suspend.h - what a save or migration needs beyond what xenbus does for every device.
 */
#ifndef VREAD_SUSPEND_H
#define VREAD_SUSPEND_H

struct xenbus_driver;

int vread_suspend_register(struct xenbus_driver *driver);
void vread_suspend_unregister(void);

#endif
