/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * validate.h - is a request well formed?
 *
 * Pure functions over a private copy of a request; the ring calls them before
 * anything else looks at it.  They know the wire format and nothing of
 * handles, policy or blocks.
 */
#ifndef VREAD_VALIDATE_H
#define VREAD_VALIDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "vread-ring-user.h"

/* 0, -EOPNOTSUPP (unknown operation) or -EINVAL. */
int validate_request(const struct vread_request *r, uint32_t pool_pages);

/* Every page of [page, page + pages) exists, and there is at least one. */
bool validate_pool_range(uint32_t page, uint32_t pages, uint32_t pool_pages);

#endif
