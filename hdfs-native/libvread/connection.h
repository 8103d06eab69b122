/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.h - what a struct vread and a struct vread_file are made of.
 */
#ifndef LIBVREAD_CONNECTION_H
#define LIBVREAD_CONNECTION_H

#include <pthread.h>
#include <stdbool.h>

#include "engine.h"
#include "readahead.h"
#include "vread.h"

#define SEQUENTIAL_DEPTH 32U /* chunks a file may have in flight or read ahead */

struct vread_file {
	struct vread *v;
	uint32_t handle;
	uint32_t flags;
	uint64_t genstamp;
	uint64_t length;
	uint64_t visible_length;

	/* the position, shared by vread_read and vread_seek; covered by `lock` */
	pthread_mutex_t lock;
	uint64_t position;
	struct readahead readahead;

	/* Chunks from the position on, without gaps, the first one perhaps partly
	 * consumed.  Covered by the engine's lock; while `busy` only the
	 * thread that set it takes them away. */
	struct request *chunks[SEQUENTIAL_DEPTH];
	unsigned head, count;
	uint64_t ahead; /* where the last chunk ends */
	bool busy;
	struct vread_file *next, *prev; /* v->files, least recently read first */

	struct vread_file *next_closing;
};

struct vread {
	struct engine engine;
	unsigned timeout_ms;
	size_t chunk_bytes;         /* largest piece a long read is cut into */
	size_t readahead_bytes;     /* 0: off */
	struct vread_file files;    /* list head */
	struct vread_file *closing; /* closed, but the backend could not be told yet */
	int event_fd;
	unsigned forks;
};

/* True in a child of the process that connected: nothing of v may be used there. */
bool connection_forked(const struct vread *v);

/* Executes an OPEN, STAT or PUBLISH; its outcome is in *op.  Not locked. */
int connection_execute(struct vread *v, struct op *op);

/* Tells the backend of closed files as far as there is room; engine locked. */
void connection_drop_closing(struct vread *v);

/* Forgets everything a file has read ahead; engine locked. */
void sequential_drop(struct vread_file *f);

/* engine_take's callback: drops the read-ahead of the file least recently read. */
bool sequential_reclaim(struct engine *e);

#endif
