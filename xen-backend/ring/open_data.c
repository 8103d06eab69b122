// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements open_data.h: parses the variable part of OPEN, PUBLISH and KEYS. dispatch.c calls it.
 *
 * A cursor walks over the bytes. Each take checks first how many bytes are left. At the end no
 * bytes may be left: the lengths must add up exactly.
 */
#include "ring/open_data.h"

#include <errno.h>
#include <stdbool.h>

struct cursor {
	const uint8_t *at;
	size_t left;
};

static const uint8_t *take(struct cursor *c, size_t length)
{
	const uint8_t *start = c->at;

	if (length > c->left)
		return NULL;
	c->at += length;
	c->left -= length;
	return start;
}

static bool take_name(struct cursor *c, size_t length, size_t max, char *ret)
{
	const uint8_t *name;

	if (length == 0 || length > max)
		return false;
	name = take(c, length);
	if (!name)
		return false;
	for (size_t i = 0; i < length; i++)
		if (name[i] < 0x21 || name[i] > 0x7e || name[i] == '/')
			return false;
	memcpy(ret, name, length);
	ret[length] = '\0';
	return strcmp(ret, ".") != 0 && strcmp(ret, "..") != 0;
}

int open_data_parse(const uint8_t *raw, size_t length, struct open_data *ret)
{
	struct cursor c = {raw, length};
	struct vread_open_data header;
	const uint8_t *p = take(&c, sizeof(header));

	if (!p || length > VREAD_MAX_OPEN_DATA)
		return -EINVAL;
	memcpy(&header, p, sizeof(header));
	if ((header.flags & ~(VREAD_OPEN_ENCRYPT | VREAD_OPEN_MAC)) ||
	    header.num_storages > VREAD_MAX_STORAGES || header.token_length > VREAD_MAX_TOKEN)
		return -EINVAL;
	if (!take_name(&c, header.pool_id_length, VREAD_MAX_POOL_ID, ret->pool_id))
		return -EINVAL;

	ret->flags = header.flags;
	ret->num_storages = header.num_storages;
	for (unsigned i = 0; i < header.num_storages; i++) {
		const uint8_t *id_length = take(&c, 1);

		if (!id_length || !take_name(&c, *id_length, VREAD_MAX_STORAGE_ID, ret->storage[i]))
			return -EINVAL;
		ret->storage_ids[i] = ret->storage[i];
	}

	ret->token_length = header.token_length;
	ret->token = header.token_length ? take(&c, header.token_length) : NULL;
	if (header.token_length && !ret->token)
		return -EINVAL;
	return c.left ? -EINVAL : 0;
}
