/* SPDX-License-Identifier: GPL-2.0 */
/*
 * device.h - one vread device.  Its transport creates it, with a struct of its own around it.
 *
 * Its driver and every open file hold a reference.  The last reference is given up in process
 * context, which frees the device.
 */
#ifndef VREAD_DEVICE_H
#define VREAD_DEVICE_H

#include <linux/device.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "attach.h"
#include "pool.h"
#include "ring.h"
#include "share.h"
#include "vreadif.h"

/* How far the handshake got. */
enum vread_phase {
	VREAD_PHASE_IDLE,      /* no rings */
	VREAD_PHASE_OFFERED,   /* rings offered: Initialised */
	VREAD_PHASE_CONNECTED, /* Connected; the link may be down because the backend died */
	VREAD_PHASE_CLOSING,   /* link down; the backend has not unmapped the rings yet */
};

/* What a device knows of an open file. */
struct vread_waiter {
	struct list_head node;         /* of dev->waiters, while the file is open */
	struct address_space *mapping; /* that processes have mapped the slice through */
	wait_queue_head_t wq;          /* woken when a READ is done or the link changed */
};

/* A device node: /dev/vread for readers, or /dev/vread-publish for publishers. */
struct vread_node {
	struct miscdevice misc;
	struct vread_device *dev;
	char name[24];
	bool publishes;
	bool added;
};

struct vread_device {
	struct kref ref;
	char name[16]; /* "vread", "vread1" */
	struct vread_node node;
	struct vread_node publish_node; /* added when the device first takes events */
	struct vread_pool *pool;        /* NULL before the first connection, then constant */

	/* Constant. */
	const struct vread_attachment *attach;
	struct device *parent; /* of the nodes; a reference */
	char host[16];         /* with whom the device connects: "domain 0" or "the host" */
	struct work_struct work;
	struct delayed_work retry; /* queues `work` */

	/* Held by who takes a step of the state machine: the work, or the driver that begins or
	 * ends something.  It protects the members of this group, opens and closes the queues, and
	 * takes the link up and down. */
	struct mutex step;
	bool held; /* no step by the work: the device begins, sleeps or ends */
	enum vread_phase phase;
	unsigned int failures;
	bool said_waiting; /* for an earlier backend, since it was last connected */
	unsigned long last_failure;

	/* The link. */
	struct vread_queue queue[VREAD_MAX_QUEUES];
	unsigned int num_queues;
	const u8 *alive;           /* the alive byte; NULL: no rings */
	const char *role;          /* static string */
	bool takes_events;         /* PUBLISH and KEYS: role datanode, and feature-publish is 1 */
	bool takes_user;           /* feature-user is 1 */
	bool gone;                 /* the device was removed */
	bool faulty;               /* the backend broke the protocol */
	wait_queue_head_t wq;      /* link up or down, room on a ring */
	wait_queue_head_t control; /* link down, control pages free */

	struct vread_shares shares;
	spinlock_t lock; /* held while up, generation, closes or waiters change */
	bool up;
	u32 generation;
	struct list_head closes; /* handles to be closed at the backend */
	struct list_head waiters;
	/* Held with spinlock by who changes the list; so who holds it may use mappings of files. */
	struct mutex waiters_mutex;
	/* Held while pages of the pool are touched, but never while a process is waited for or its
	 * memory is copied: whoever removes the device waits for it. */
	struct srcu_struct users;
};

/* Makes zeroed memory a device without name, node or pool, with one reference, and held.  work:
 * does dev->work.  0; afterwards attach->free() frees the memory.  -ENOMEM.  -EOPNOTSUPP: pages of
 * this kernel cannot be shared, as the log says. */
int vread_device_init(struct vread_device *dev, const struct vread_attachment *attach,
		      struct device *parent, work_func_t work);
/* Gives up a reference. */
void vread_device_put(struct vread_device *dev);

/* True if a process has a node of the device open. */
bool vread_device_is_open(struct vread_device *dev);

/* The kernel's prefix names the parent, "vread" or "vread1" the node. */
#define vread_info(dev, fmt, ...)                                                   \
	do {                                                                        \
		const struct vread_device *said = (dev);                            \
		dev_info(said->parent, "%s: " fmt "\n", said->name, ##__VA_ARGS__); \
	} while (0)
#define vread_err(dev, fmt, ...)                                                   \
	do {                                                                       \
		const struct vread_device *said = (dev);                           \
		dev_err(said->parent, "%s: " fmt "\n", said->name, ##__VA_ARGS__); \
	} while (0)

#endif
