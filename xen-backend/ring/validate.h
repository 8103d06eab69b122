/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * validate.h - checks that a request is well formed. dispatch.c calls it before anything else looks
 * at a request.
 *
 * The functions are pure and take a private copy of a request. They know the wire format and
 * nothing of handles, policy or blocks.
 */
#ifndef VREAD_VALIDATE_H
#define VREAD_VALIDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "vread-ring-user.h"

/* 0, -EOPNOTSUPP (unknown operation) or -EINVAL. */
int validate_request(const struct vread_request *r, uint32_t pool_pages);

/* True if every page of [page, page + pages) exists and pages is not 0. */
bool validate_pool_range(uint32_t page, uint32_t pages, uint32_t pool_pages);

#endif
