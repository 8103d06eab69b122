// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes validate_request() with a request of a ring, and open_data_parse() with the variable part
 * of OPEN, PUBLISH and KEYS.  The input is pool_pages (4 bytes), one request, and the variable
 * part.
 */
#include <string.h>

#include "fuzz.h"
#include "ring/open_data.h"
#include "ring/validate.h"

static void check_request(const struct vread_request *r, uint32_t pool_pages)
{
	uint64_t room = (uint64_t)r->pool_pages * VREAD_PAGE_SIZE;

	check((uint64_t)r->pool_page + r->pool_pages <= pool_pages);
	switch (r->operation) {
	case VREAD_OP_READ:
		check(r->u.read.length <= room && r->u.read.length <= VREAD_MAX_READ);
		check(r->u.read.offset + r->u.read.length >= r->u.read.offset);
		break;
	case VREAD_OP_OPEN:
		check(r->u.open.data_length <= room &&
		      r->u.open.data_length <= VREAD_MAX_OPEN_DATA);
		break;
	case VREAD_OP_PUBLISH:
		check(r->u.publish.data_length <= room);
		break;
	case VREAD_OP_KEYS:
		check(r->u.keys.data_length <= room &&
		      r->u.keys.data_length <= VREAD_MAX_OPEN_DATA);
		check(r->u.keys.tokens <= 1);
		break;
	default:
		break;
	}
}

static void check_name(const char *name, size_t max)
{
	check(name[0] && strlen(name) <= max && !strchr(name, '/') && strcmp(name, ".."));
}

static void parse_open_data(struct bytes in)
{
	uint8_t *raw = bytes_of(in.at, in.left);
	struct open_data open;

	if (open_data_parse(raw, in.left, &open) == 0) {
		check_name(open.pool_id, VREAD_MAX_POOL_ID);
		check(open.num_storages <= VREAD_MAX_STORAGES);
		for (unsigned i = 0; i < open.num_storages; i++)
			check_name(open.storage_ids[i], VREAD_MAX_STORAGE_ID);
		check(open.token_length == 0 ||
		      (open.token >= raw && open.token + open.token_length <= raw + in.left));
	}
	free(raw);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = {data, size};
	uint32_t pool_pages = take32(&in);
	struct vread_request request;

	for (size_t i = 0; i < sizeof(request); i++)
		((uint8_t *)&request)[i] = take8(&in);
	if (validate_request(&request, pool_pages) == 0)
		check_request(&request, pool_pages);
	parse_open_data(in);
	return 0;
}
