/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hello.h - checks the first and only message of a local frontend; pure. conn.c calls it.
 */
#ifndef VREAD_LOCAL_HELLO_H
#define VREAD_LOCAL_HELLO_H

#include <stddef.h>
#include <stdint.h>

#include "vread-local.h"

/*
 * 0 and *ret_hello. Otherwise the status to answer and *ret_reason (static string): -EPROTO for a
 * protocol version that is not supported, -ENOSPC for more pages than max_pool_pages, -EINVAL for
 * everything else.
 */
int hello_parse(const void *message, size_t length, uint32_t max_pool_pages,
		struct vread_local_hello *ret_hello, const char **ret_reason);

#endif
