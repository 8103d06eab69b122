/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xenbus.h - the driver of xenbus devices: the life of each device in xenstore.  main.c registers
 * the driver when the module is loaded.
 */
#ifndef VREAD_XENBUS_H
#define VREAD_XENBUS_H

/* The module's parameters; main.c describes and checks them. */
struct vread_params {
	unsigned int queues; /* 0: one per CPU, at most 4 */
	unsigned int ring_order;
	unsigned int pool_mib;
};

/* Uses params until vread_xenbus_unregister().  0 or negative errno. */
int vread_xenbus_register(const struct vread_params *params);
void vread_xenbus_unregister(void);

#endif
