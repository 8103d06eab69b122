/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xenbus.h - the driver of devices of Xen, which xenbus announces.  main.c registers the driver
 * when the module is loaded.
 */
#ifndef VREAD_XENBUS_H
#define VREAD_XENBUS_H

/* 0 or negative errno. */
int vread_xenbus_register(void);
void vread_xenbus_unregister(void);

#endif
