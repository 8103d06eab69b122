/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_link.h - the hello and welcome of the local port (vread-local.h).  local.c calls it.
 */
#ifndef LIBVREAD_LOCAL_LINK_H
#define LIBVREAD_LOCAL_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "vread-local.h"
#include "vread-ring-user.h"

#define LOCAL_RING_PAGE_ORDER 2U /* 128 entries */
#define LOCAL_RING_BYTES ((size_t)VREAD_PAGE_SIZE << LOCAL_RING_PAGE_ORDER)

/* The descriptors that a backend handed out, checked.  Whatever a hostile backend passes, using
 * them neither blocks nor raises SIGPIPE or SIGBUS. */
struct local_link {
	int sock;
	int pool;
	int rings; /* of all queues, one after the other */
	unsigned num_queues;
	int request_event[VREAD_MAX_QUEUES];  /* this process writes */
	int response_event[VREAD_MAX_QUEUES]; /* the backend writes */
};

/* Connects to the backend's socket and asks for num_queues queues and a pool of pool_pages.  0 or
 * negative errno, as vread_connect(). */
int local_link_connect(const char *path, uint32_t pool_pages, unsigned num_queues,
		       uint64_t deadline, struct local_link *ret);
void local_link_close(struct local_link *link);

#endif
