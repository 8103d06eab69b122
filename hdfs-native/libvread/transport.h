/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport.h - moves operations to a backend and back.  device.c (/dev/vread) and local.c (a UNIX
 * socket; libvread itself is the frontend) implement it.  engine.c and connection.c call it.
 *
 * A transport does not decide which slot an operation uses, where in the slice its bytes go, and
 * who waits for it how long.  The engine decides (engine.h).
 *
 * Threads: the engine's lock is held during all functions except call(), ready(), wait() and
 * destroy().  These functions do not sleep.  Only one thread at a time, the leader, calls ready()
 * and wait(), and no thread calls reap() meanwhile.  destroy() is the last call.
 */
#ifndef LIBVREAD_TRANSPORT_H
#define LIBVREAD_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vread-ring-user.h"

struct vread_options;

/* One operation, VREAD_OP_OPEN to VREAD_OP_KEYS, and its result. */
struct op {
	uint8_t kind;
	uint32_t slot;         /* chosen by the engine, smaller than max_ops */
	uint32_t handle;       /* of the block; a result of OPEN */
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
	const void *data;        /* open_data; valid until start() or call() returns */
	uint32_t data_length;

	/* result */
	int32_t status;
	uint32_t flags;
	uint64_t block_length;
	uint64_t block_genstamp;
	uint32_t crc32c; /* READ with a status larger than 0 */
};

/* A completion.  The transport has checked that the operation of that slot was in flight. */
struct op_done {
	uint32_t slot;
	int32_t status;
	uint32_t handle;
	uint32_t flags;
	uint64_t block_length;
	uint64_t block_genstamp;
	uint32_t crc32c;
};

struct transport;

struct transport_ops {
	/* Queues an operation; reap() returns its completion.  Never fails: an operation that the
	 * transport cannot take completes with an error. */
	void (*start)(struct transport *t, const struct op *op);
	/* Hands the queued operations to the backend, with at most one notification per ring.
	 * True: some wait for room, or have ended with an error.  Then reap() must be called: by
	 * the leader, after the present wait(), or else by the caller. */
	bool (*flush)(struct transport *t);
	/* Executes an OPEN, STAT, PUBLISH or KEYS and waits for its end.  Called without the
	 * lock.  NULL: use start(). */
	int (*call)(struct transport *t, struct op *op, uint64_t deadline);
	/* Closes a handle; there is no completion.  NULL: use start(). */
	void (*drop_handle)(struct transport *t, uint32_t handle);
	/* Takes up to max completions and returns their number.  -ENOTCONN: none is left and the
	 * backend is gone, so operations in flight will never be answered. */
	int (*reap)(struct transport *t, struct op_done *done, unsigned max);
	/* True if reap() would find something.  Cheap; NULL: there is no cheap way to tell. */
	bool (*ready)(struct transport *t);
	/* Asks for an event with the next completion.  True: a completion is already there. */
	bool (*arm)(struct transport *t);
	/* Sleeps until reap() may find `batch` completions, kick_fd is readable, or the deadline;
	 * brief: for at most VCLOCK_BRIEF_NS (clock.h).  batch is at most the number in flight.
	 * batch is only a hint that saves events: wait() may return with fewer completions.
	 * False: nothing has happened in that time. */
	bool (*wait)(struct transport *t, int kick_fd, unsigned batch, uint64_t deadline,
		     bool brief);
	/* Overwrites a range of the slice with zeros.  NULL: the slice never holds data of OPEN,
	 * PUBLISH and KEYS. */
	void (*wipe)(struct transport *t, uint32_t slice_offset, uint32_t slice_length);
	/* Adds the descriptors that wake wait() to an epoll, for all that wait() waits for.  0 or
	 * negative errno. */
	int (*watch)(struct transport *t, int epoll_fd);
	/* Only after watch().  rest: the program knows that there is no backend.  The epoll is then
	 * quiet until the backend is back.  Not rest: as after watch(). */
	void (*rest)(struct transport *t, bool rest);
	/* True if there is a backend. */
	bool (*alive)(struct transport *t);
	/* Frees t.  shared: the parent process still has the connection (after fork), so the
	 * backend must not be told that it ended. */
	void (*destroy)(struct transport *t, bool shared);
};

struct transport {
	const struct transport_ops *ops;
	const uint8_t *slice; /* mapped read-only */
	size_t slice_bytes;
	unsigned max_ops;   /* most operations in flight; at most TRANSPORT_MAX_OPS */
	bool data_in_slice; /* OPEN, PUBLISH and KEYS need room in the slice for their data */
	bool reconnects;    /* a lost backend may come back */
};

#define TRANSPORT_MAX_OPS 256U

/* slice_bytes: whole pages.  device_connect() takes over fd, also on failure.  0 or negative
 * errno, as vread_connect(). */
int device_connect(int fd, size_t slice_bytes, struct transport **ret);
int local_connect(const char *path, size_t slice_bytes, unsigned num_queues, uint64_t deadline,
		  struct transport **ret);

#endif
