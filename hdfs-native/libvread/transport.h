/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport.h - what libvread needs of a way to reach a backend.
 *
 * Two implementations: device.c (/dev/vread) and local.c (a UNIX socket, with
 * this library as the frontend of ring and pool).  A transport moves
 * operations; which slot they use, where in the slice their bytes go, who
 * waits for them and for how long is the engine's business (engine.h).
 *
 * All functions but call(), ready() and wait() are made with the engine's
 * lock held and do not sleep.  ready() and wait() are made by one thread at a time,
 * the leader, and nobody reaps meanwhile.
 */
#ifndef LIBVREAD_TRANSPORT_H
#define LIBVREAD_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vread-ring-user.h"

struct vread_options;

/* One operation, VREAD_OP_OPEN to VREAD_OP_KEYS, and its outcome. */
struct op {
	uint8_t kind;
	uint32_t slot;         /* id; the engine's, smaller than max_ops */
	uint32_t handle;       /* in; out of OPEN */
	uint32_t slice_offset; /* bytes, page aligned */
	uint32_t slice_length; /* bytes, whole pages; 0: none */

	/* READ */
	uint64_t offset;
	uint32_t length;

	/* OPEN, PUBLISH and KEYS */
	int64_t block_id;
	uint64_t genstamp;
	uint64_t visible_length; /* OPEN */
	uint64_t new_length;     /* PUBLISH */
	uint32_t event;          /* PUBLISH */
	uint32_t tokens;         /* KEYS */
	const void *data;        /* open_data, must last until start() or call() returns */
	uint32_t data_length;

	/* outcome */
	int32_t status;
	uint32_t flags;
	uint64_t block_length;
	uint64_t block_genstamp;
};

/* A completion as a transport reaps it: already checked against what is in flight. */
struct op_done {
	uint32_t slot;
	int32_t status;
	uint32_t handle;
	uint32_t flags;
	uint64_t block_length;
	uint64_t block_genstamp;
};

struct transport;

struct transport_ops {
	/* Queues an operation; its completion will be reaped.  Never fails: a
	 * transport that cannot take it reaps it as failed. */
	void (*start)(struct transport *t, const struct op *op);
	/* Hands what start() queued to the backend, with one notification at most. */
	void (*flush)(struct transport *t);
	/* Executes an OPEN, STAT, PUBLISH or KEYS without the lock held and waits for it.  NULL: use start(). */
	int (*call)(struct transport *t, struct op *op, uint64_t deadline);
	/* Lets go of a handle without an answer.  NULL: use start(). */
	void (*drop_handle)(struct transport *t, uint32_t handle);
	/* Takes up to max completions.  -ENOTCONN once there are none left and the
	 * backend is gone: whatever is in flight will never be answered. */
	int (*reap)(struct transport *t, struct op_done *done, unsigned max);
	/* Cheap look whether reap() would find something; NULL: there is no cheap look. */
	bool (*ready)(struct transport *t);
	/* Asks for an event with the next completion; true if there already is one. */
	bool (*arm)(struct transport *t);
	/* Sleeps until reap() may find `batch` completions (or fewer: it is a hint that saves
	 * events), kick_fd is readable, or the time is up.  batch is at most what is in flight. */
	void (*wait)(struct transport *t, int kick_fd, unsigned batch, uint64_t deadline);
	/* Adds the descriptors that wake wait() to an epoll. */
	int (*watch)(struct transport *t, int epoll_fd);
	bool (*alive)(struct transport *t);
	/* shared: another process has this connection too (after fork); only
	 * let go of this process's part. */
	void (*destroy)(struct transport *t, bool shared);
};

struct transport {
	const struct transport_ops *ops;
	const uint8_t *slice; /* mapped read-only */
	size_t slice_bytes;
	unsigned max_ops;   /* operations in flight at a time, at most ENGINE_MAX_OPS */
	bool data_in_slice; /* OPEN, PUBLISH and KEYS need room in the slice for their data */
	bool reconnects;    /* a lost backend may come back */
};

#define TRANSPORT_MAX_OPS 256U

/* slice_bytes: whole pages.  0, or negative errno. */
int device_connect(int fd, size_t slice_bytes, struct transport **ret);
int local_connect(const char *path, size_t slice_bytes, unsigned num_queues, uint64_t deadline,
		  struct transport **ret);

#endif
