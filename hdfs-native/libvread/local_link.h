/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_link.h - the hello and welcome of the local port (vread-local.h).
 */
#ifndef LIBVREAD_LOCAL_LINK_H
#define LIBVREAD_LOCAL_LINK_H

#include <stdint.h>

#include "vread-local.h"

#define LOCAL_RING_PAGE_ORDER 2U /* 128 entries */

/* What a backend handed out for one queue, checked: a stray or hostile
 * descriptor can neither block, signal nor truncate under us. */
struct local_link {
	int sock;
	int pool;
	int ring;
	int request_event;  /* we write */
	int response_event; /* the backend writes */
};

int local_link_connect(const char *path, uint32_t pool_pages, unsigned timeout_ms,
		       struct local_link *ret);
void local_link_close(struct local_link *link);

#endif
