/* SPDX-License-Identifier: GPL-2.0 */
/*
 * device.h - one vread device.
 *
 * Held by its xenbus binding and by every open file; freed with the last of them, in
 * process context.
 */
#ifndef VREAD_DEVICE_H
#define VREAD_DEVICE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/printk.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <xen/interface/io/xenbus.h>

#include "pool.h"
#include "ring.h"
#include "vreadif.h"

struct xenbus_device;

/* How far the xenbus handshake got. */
enum vread_phase {
	VREAD_PHASE_IDLE,      /* no rings */
	VREAD_PHASE_OFFERED,   /* rings offered: Initialised */
	VREAD_PHASE_CONNECTED, /* Connected (the link may be down: the backend died) */
	VREAD_PHASE_CLOSING,   /* link down, rings waiting to be unmapped */
};

struct vread_device {
	struct kref ref;
	char name[16]; /* of the device node */
	struct miscdevice misc;
	struct vread_pool *pool; /* NULL before the first connection, then constant */

	/* xenbus.c: process context, one at a time (work, or remove and resume when no
	 * work runs). */
	struct xenbus_device *xbdev;
	char *otherend; /* our copy: kernels differ in how long theirs lives */
	enum vread_phase phase;
	bool state_hidden;
	unsigned int failures;
	unsigned long last_failure;
	struct work_struct work;
	enum xenbus_state backend_state; /* as the watch saw it last */

	/* The link. */
	struct vread_queue queue[VREAD_MAX_QUEUES];
	unsigned int num_queues;
	const u8 *alive;      /* the alive byte, while there are rings */
	const char *role;     /* static string */
	bool takes_events;    /* role datanode, and the backend knows PUBLISH */
	bool gone;            /* for good */
	bool faulty;          /* the backend broke the protocol */
	wait_queue_head_t wq; /* link up or down, room on a ring, control pages free */

	spinlock_t lock;
	bool up;
	u32 generation;
	struct list_head closes; /* handles to be closed at the backend */
	struct list_head files;
};

struct vread_device *vread_device_create(void);
void vread_device_put(struct vread_device *dev);

/* Limits of the module's parameters; see main.c. */
extern unsigned int vread_param_queues;
extern unsigned int vread_param_ring_order;
extern unsigned int vread_param_pool_mib;
/* Completed once insmod stopped looking at our devices' states. */
extern struct completion vread_registered;

/* The node's name, "vread" or "vread1", says both who speaks and of what. */
#define vread_info(dev, fmt, ...) printk(KERN_INFO "%s: " fmt "\n", (dev)->name, ##__VA_ARGS__)
#define vread_err(dev, fmt, ...) printk(KERN_ERR "%s: " fmt "\n", (dev)->name, ##__VA_ARGS__)

#endif
