/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * share.h - what a local connection shares: pool, rings, events.
 *
 * Memory is in memfds sealed against resizing, so that touching it cannot
 * fault whatever the frontend does.  The frontend holds the same open eventfds
 * as we do and can change their flags: nothing here reads them.  Requests are
 * noticed through a private edge-triggered epoll, which needs no read.
 */
#ifndef VREAD_LOCAL_SHARE_H
#define VREAD_LOCAL_SHARE_H

#include "port/port.h"
#include "vread-local.h"

struct share {
	uint8_t *pool, *rings;
	size_t pool_bytes, rings_bytes;
	int pool_fd, rings_fd;
	unsigned num_queues;
	struct share_queue {
		int request_fd;  /* written by the frontend */
		int response_fd; /* written by us */
		int epoll_fd;    /* watches request_fd; ours alone */
	} queue[VREAD_MAX_QUEUES];
};

#define SHARE_MAX_FDS (2 + 2 * VREAD_MAX_QUEUES)

/* 0 or negative errno; on failure nothing is left. */
int share_create(struct share *s, const struct vread_local_hello *hello);
void share_destroy(struct share *s);
/* The descriptors a frontend is to get, in order; how many. */
unsigned share_fds(const struct share *s, int fds[SHARE_MAX_FDS]);
/* Once the frontend has its descriptors: ours of the memory, which stays mapped. */
void share_close_memory_fds(struct share *s);
/* Pages a share for this hello takes. */
uint32_t share_pages(const struct vread_local_hello *hello);

#endif
