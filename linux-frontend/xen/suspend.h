/* SPDX-License-Identifier: GPL-2.0 */
/*
 * suspend.h - prepares devices for a save or migration, and removes devices without nodes after
 * one. xenbus itself does the rest.
 */
#ifndef VREAD_SUSPEND_H
#define VREAD_SUSPEND_H

struct xenbus_driver;

/* 0 or negative errno. */
int vread_suspend_register(struct xenbus_driver *driver);
void vread_suspend_unregister(void);

#endif
