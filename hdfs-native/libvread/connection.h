/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.h - the members of struct vread and struct vread_file, and functions that the .c
 * files of libvread share.
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
	bool check; /* compare bytes with the CRC32C of their READ (check.h) */

	/* the position of vread_read() and vread_seek(); protected by `lock` */
	pthread_mutex_t lock;
	uint64_t position;
	struct readahead readahead;

	/* Chunks from the position on, without gaps.  The first chunk may be partly consumed.
	 * Protected by the engine's lock.  While `busy` is set, only the thread that set it
	 * removes chunks. */
	struct request *chunks[SEQUENTIAL_DEPTH];
	unsigned head, count;
	uint64_t ahead; /* where the last chunk ends */
	bool busy;
	uint64_t last_read; /* v->bytes_read when this file was last read */
	/* With `check`: a private copy of the chunk `copied`, whose bytes matched.  Protected as
	 * the chunks are.  copy: of v->chunk_bytes; NULL: not needed yet. */
	char *copy;
	const struct request *copied;
	struct vread_file *next, *prev; /* v->files, least recently read first */

	struct vread_file *next_closing;
};

struct vread {
	struct engine engine;
	unsigned timeout_ms;
	size_t chunk_bytes;         /* largest piece a long read is cut into */
	size_t readahead_bytes;     /* 0: off */
	struct vread_file files;    /* list head */
	uint64_t bytes_read;        /* by vread_read() and vread_read_to(), of all files */
	struct vread_file *closing; /* closed files whose CLOSE is not sent yet */
	int event_fd;
	unsigned forks; /* of the process that connected; see connection_forked() */
};

/* True in a child of the process that connected.  Nothing of v may be used there. */
bool connection_forked(const struct vread *v);

/* Executes an OPEN, STAT, PUBLISH or KEYS, with the result in *op.  Call it without the engine's
 * lock.  0 or negative errno. */
int connection_execute(struct vread *v, struct op *op);

/* Sends the CLOSEs of closed files, as far as there is room.  Call it with the engine's lock. */
void connection_drop_closing(struct vread *v);

/* Drops everything that a file has read ahead.  Call it with the engine's lock. */
void sequential_drop(struct vread_file *f);

/* The `reclaim` of struct engine.  Files that were read least recently give way first, and none
 * that is being read now. */
bool sequential_reclaim(struct engine *e, bool needed);

#endif
