/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * share.h - what a local connection shares with its frontend: pool, rings, events. conn.c creates
 * and destroys it.
 *
 * The memory is in memfds that are sealed against resizing, so that access cannot fault, whatever
 * the frontend does. The frontend holds the same open eventfds as vreadd and can change their
 * flags. So vreadd never reads the eventfds. A private edge-triggered epoll, which needs no read,
 * reports requests.
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
		int epoll_fd;    /* watches request_fd; not shared */
	} queue[VREAD_MAX_QUEUES];
};

#define SHARE_MAX_FDS (2 + 2 * VREAD_MAX_QUEUES)

/* 0 or negative errno. On failure nothing is left to destroy. */
int share_create(struct share *s, const struct vread_local_hello *hello);
/*
 * Does nothing if there is no share. free_pages: frees the pages of the memory, also if the
 * frontend keeps its descriptors and mappings. A page that the frontend touches from then on is
 * zero, and counts against the frontend.
 */
void share_destroy(struct share *s, bool free_pages);
/*
 * Fills fds with the descriptors for the frontend, in the order of vread-local.h. Returns their
 * number.
 */
unsigned share_fds(const struct share *s, int fds[SHARE_MAX_FDS]);
/*
 * Closes our descriptors of the memory, which stays mapped. Call after the frontend has its
 * descriptors.
 */
void share_close_memory_fds(struct share *s);
/* Number of pages that a share for this hello takes. */
uint32_t share_pages(const struct vread_local_hello *hello);

/* True if the pool of this hello is a small share; see VREAD_SMALL_SHARES in vreadif.h. */
bool share_is_small(const struct vread_local_hello *hello);
/*
 * Of max_pages, the pages that shares that are not small may use. The rest is kept for small ones.
 */
uint32_t share_large_pages(uint32_t max_pages);

#endif
