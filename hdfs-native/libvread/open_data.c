/* SPDX-License-Identifier: Apache-2.0 */
/* Implements open_data.h. */
#include "open_data.h"

#include <errno.h>
#include <string.h>

#include "vread.h"

struct writer {
	uint8_t *dst;
	size_t used;
};

static int put(struct writer *w, const void *bytes, size_t length)
{
	if (length > VREAD_MAX_OPEN_DATA - w->used)
		return -EINVAL;
	if (length)
		memcpy(w->dst + w->used, bytes, length);
	w->used += length;
	return 0;
}

static int put_storage(struct writer *w, const char *id)
{
	size_t length = id ? strnlen(id, VREAD_MAX_STORAGE_ID + 1) : 0;
	uint8_t prefix = (uint8_t)length;

	if (!length || length > VREAD_MAX_STORAGE_ID)
		return -EINVAL;
	return put(w, &prefix, 1) ?: put(w, id, length);
}

static uint16_t flags_of(unsigned protect)
{
	if (protect == VREAD_PROTECT_ENCRYPT)
		return VREAD_OPEN_ENCRYPT;
	return protect == VREAD_PROTECT_MAC ? VREAD_OPEN_MAC : 0;
}

int open_data_encode(const struct vread_block *block, uint8_t dst[VREAD_MAX_OPEN_DATA])
{
	size_t pool_length = block->pool_id ? strnlen(block->pool_id, VREAD_MAX_POOL_ID + 1) : 0;
	struct vread_open_data header = {
		.pool_id_length = (uint16_t)pool_length,
		.num_storages = (uint16_t)block->num_storage_ids,
		.token_length = (uint16_t)block->token_length,
		.flags = flags_of(block->protect),
	};
	struct writer w = {.dst = dst};
	int r;

	if (!pool_length || pool_length > VREAD_MAX_POOL_ID)
		return -EINVAL;
	if (block->num_storage_ids > VREAD_MAX_STORAGES || block->token_length > VREAD_MAX_TOKEN ||
	    block->protect > VREAD_PROTECT_MAC)
		return -EINVAL;
	if ((block->num_storage_ids && !block->storage_ids) ||
	    (block->token_length && !block->token))
		return -EINVAL;

	r = put(&w, &header, sizeof(header)) ?: put(&w, block->pool_id, pool_length);
	for (size_t i = 0; !r && i < block->num_storage_ids; i++)
		r = put_storage(&w, block->storage_ids[i]);
	r = r ?: put(&w, block->token, block->token_length);
	return r ?: (int)w.used;
}
