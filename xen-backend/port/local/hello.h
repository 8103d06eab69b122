/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hello.h - judges the first and only message of a local frontend; pure. */
#ifndef VREAD_LOCAL_HELLO_H
#define VREAD_LOCAL_HELLO_H

#include <stddef.h>
#include <stdint.h>

#include "vread-local.h"

/*
 * 0 and *ret_hello, or the status to answer: -EPROTO for a version not spoken
 * here, -ENOSPC for more pages than max_pool_pages, -EINVAL for everything else, with *ret_reason
 * (static string).
 */
int hello_parse(const void *message, size_t length, uint32_t max_pool_pages,
		struct vread_local_hello *ret_hello, const char **ret_reason);

#endif
