// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements validate.h: checks that a request is well formed. dispatch.c calls it.
 *
 * Each operation has one function, which checks every field of the request: a used field must be in
 * its range, an unused field must be zero.
 */
#include "ring/validate.h"

#include <errno.h>
#include <stddef.h>

bool validate_pool_range(uint32_t page, uint32_t pages, uint32_t pool_pages)
{
	return pages > 0 && pages <= pool_pages && page <= pool_pages - pages;
}

static bool all_zero(const void *data, size_t length)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < length; i++)
		if (p[i])
			return false;
	return true;
}

/* The page range is already checked, so that pages * 4096 cannot overflow 64 bits. */
static bool range_holds(const struct vread_request *r, uint32_t bytes)
{
	return bytes <= (uint64_t)r->pool_pages * VREAD_PAGE_SIZE;
}

static bool data_length_valid(const struct vread_request *r, uint32_t data_length)
{
	return data_length >= sizeof(struct vread_open_data) &&
	       data_length <= VREAD_MAX_OPEN_DATA && range_holds(r, data_length);
}

static bool open_valid(const struct vread_request *r, uint32_t pool_pages)
{
	return r->handle == 0 && validate_pool_range(r->pool_page, r->pool_pages, pool_pages) &&
	       data_length_valid(r, r->u.open.data_length) &&
	       all_zero(r->u.open.reserved, sizeof(r->u.open.reserved));
}

static bool read_valid(const struct vread_request *r, uint32_t pool_pages)
{
	const struct vread_read_request *u = &r->u.read;

	return validate_pool_range(r->pool_page, r->pool_pages, pool_pages) && u->length > 0 &&
	       u->length <= VREAD_MAX_READ && range_holds(r, u->length) &&
	       u->offset <= UINT64_MAX - u->length && all_zero(u->reserved, sizeof(u->reserved));
}

static bool handle_only_valid(const struct vread_request *r)
{
	return r->pool_page == 0 && r->pool_pages == 0 && all_zero(r->u.raw, sizeof(r->u.raw));
}

static bool publish_valid(const struct vread_request *r, uint32_t pool_pages)
{
	const struct vread_publish_request *u = &r->u.publish;

	return r->handle == 0 && validate_pool_range(r->pool_page, r->pool_pages, pool_pages) &&
	       data_length_valid(r, u->data_length) && u->event >= VREAD_PUBLISH_FINALIZED &&
	       u->event <= VREAD_PUBLISH_DELETE && all_zero(u->reserved, sizeof(u->reserved));
}

static bool keys_valid(const struct vread_request *r, uint32_t pool_pages)
{
	const struct vread_keys_request *u = &r->u.keys;

	return r->handle == 0 && validate_pool_range(r->pool_page, r->pool_pages, pool_pages) &&
	       data_length_valid(r, u->data_length) && u->tokens <= 1 &&
	       all_zero(u->reserved, sizeof(u->reserved));
}

int validate_request(const struct vread_request *r, uint32_t pool_pages)
{
	bool valid;

	switch (r->operation) {
	case VREAD_OP_OPEN:
		valid = open_valid(r, pool_pages);
		break;
	case VREAD_OP_READ:
		valid = read_valid(r, pool_pages);
		break;
	case VREAD_OP_CLOSE:
	case VREAD_OP_STAT:
		valid = handle_only_valid(r);
		break;
	case VREAD_OP_PUBLISH:
		valid = publish_valid(r, pool_pages);
		break;
	case VREAD_OP_KEYS:
		valid = keys_valid(r, pool_pages);
		break;
	default:
		return -EOPNOTSUPP;
	}
	return valid && r->reserved == 0 ? 0 : -EINVAL;
}
