// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements hello.h: checks each field of a hello. conn.c calls it.
 */
#include "port/local/hello.h"

#include <errno.h>
#include <string.h>

#include "vread-ring-user.h"

int hello_parse(const void *message, size_t length, uint32_t max_pool_pages,
		struct vread_local_hello *ret_hello, const char **ret_reason)
{
	struct vread_local_hello h;

	if (length != sizeof(h)) {
		*ret_reason = "the message does not have the size of HELLO";
		return -EINVAL;
	}
	memcpy(&h, message, sizeof(h));
	*ret_reason = NULL;
	if (h.magic != VREAD_LOCAL_MAGIC)
		*ret_reason = "wrong magic";
	else if (h.version != VREAD_PROTOCOL_VERSION)
		*ret_reason = "unsupported protocol version";
	else if (h.reserved[0] | h.reserved[1] | h.reserved[2] | h.reserved[3])
		*ret_reason = "reserved fields are not zero";
	else if (h.num_queues < 1 || h.num_queues > VREAD_MAX_QUEUES)
		*ret_reason = "num_queues out of range";
	else if (h.ring_page_order > VREAD_MAX_RING_PAGE_ORDER)
		*ret_reason = "ring_page_order out of range";
	else if (h.pool_pages < VREAD_MIN_POOL_PAGES || h.pool_pages > VREAD_MAX_POOL_PAGES)
		*ret_reason = "pool_pages out of range";
	if (*ret_reason)
		return h.magic == VREAD_LOCAL_MAGIC && h.version != VREAD_PROTOCOL_VERSION
			       ? -EPROTO
			       : -EINVAL;
	if (h.pool_pages > max_pool_pages) {
		*ret_reason = "more pool_pages than max-pool-pages";
		return -ENOSPC;
	}
	*ret_hello = h;
	return 0;
}
