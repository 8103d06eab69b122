/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * port.h - the interface of a port: where devices come from. port/xen/, port/ivshmem/ and
 * port/local/ implement it. ring/session.c serves the connections.
 *
 * A port finds frontends, negotiates with them and maps what they share. The port hands on a struct
 * port_conn: a pool, rings, and a way to wait and notify. No code above this header knows whether
 * Xen, QEMU or a UNIX socket is below it.
 *
 * Life of a connection, all on the control thread:
 *   port -> port_events.connect()     everything is mapped; the session starts its workers
 *   port -> port_events.disconnect()  the session tells its workers to stop, and does not wait
 *   session -> port_conn.ops->ended() no worker runs any more; nothing touches the port_conn and
 *                                     its pages from now on. Only now may the port unmap.
 *
 * A worker whose disk hangs ends when the disk answers. Until then the pages of its device stay
 * mapped, and the control thread does not wait.
 *
 * Between connect() and ended(), workers (any thread) use port_conn's other ops. A worker that
 * finds the frontend breaking the protocol calls fail() and stops. The port then closes the device
 * from the control thread.
 */
#ifndef VREAD_PORT_H
#define VREAD_PORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "vread-ring-user.h"

struct policy; /* policy/policy.h: what this device may read; owned by the port_conn */

struct port_queue {
	void *sring;         /* shared; 1 << order pages, page aligned */
	uint32_t ring_bytes; /* power of two pages */
};

struct port_conn;

struct port_conn_ops {
	/* File descriptor that is readable when queue q may have requests. */
	int (*event_fd)(struct port_conn *c, unsigned q);
	/* Takes the pending event; returns 0, or -errno if the channel is broken. */
	int (*event_take)(struct port_conn *c, unsigned q);
	/*
	 * Allows the next event of q. Call only after the ring has been drained: this bounds an
	 * event storm (XSA-332).
	 */
	void (*event_rearm)(struct port_conn *c, unsigned q);
	/* Tells the frontend there are responses on queue q. */
	void (*notify)(struct port_conn *c, unsigned q);
	/*
	 * Reports a protocol violation found by a worker: the port closes this device. reason is a
	 * static string. Does not wait.
	 */
	void (*fail)(struct port_conn *c, const char *reason);
	/*
	 * The session has ended, and is freed. Called once, by the event loop, some time after
	 * port_events.disconnect() and never inside that call.
	 */
	void (*ended)(struct port_conn *c);
};

struct port_conn {
	const struct port_conn_ops *ops;
	char name[80]; /* "xen:7/0", "kvm:guest1", "local:1000/12"; for logs and status */
	const struct policy *policy;
	/*
	 * False: PUBLISH and KEYS get EACCES, whatever the policy says. A port may change it during
	 * a connection.
	 */
	atomic_bool may_publish;
	/* The uid of whoever opens blocks, plus 1.  0: each OPEN says. */
	uint32_t user;
	uint8_t *pool; /* shared with the frontend: hostile, may change at any time */
	uint32_t pool_pages;
	unsigned num_queues;
	struct port_queue queue[VREAD_MAX_QUEUES];
};

struct port_events {
	/* Returns the session, or NULL with *ret_errno set: the port then refuses the frontend. */
	void *(*connect)(void *ctx, struct port_conn *c, int *ret_errno);
	/* Begins the end of a session; ended() follows. Call it once for each session. */
	void (*disconnect)(void *ctx, void *session);
	void *ctx;
};

#endif
