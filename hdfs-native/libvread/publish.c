/* SPDX-License-Identifier: Apache-2.0 */
/* Implements vread_publish_sized() and vread_publish_keys() of vread.h. */
#include <errno.h>
#include <string.h>

#include "cancel.h"
#include "connection.h"
#include "open_data.h"
#include "sized.h"

_Static_assert(VREAD_EVENT_FINALIZED == VREAD_PUBLISH_FINALIZED &&
		       VREAD_EVENT_APPEND == VREAD_PUBLISH_APPEND &&
		       VREAD_EVENT_TRUNCATE == VREAD_PUBLISH_TRUNCATE &&
		       VREAD_EVENT_DELETE == VREAD_PUBLISH_DELETE,
	       "events are the protocol's");

int vread_publish_sized(struct vread *v, const struct vread_block *block, size_t size,
			unsigned event, uint64_t length)
{
	NO_CANCEL;
	uint8_t data[VREAD_MAX_OPEN_DATA];
	struct op op = {
		.kind = VREAD_OP_PUBLISH,
		.new_length = length,
		.event = event,
		.data = data,
	};
	struct vread_block b;
	int r;

	if (connection_forked(v))
		return -ENOTCONN;
	r = sized_block(&b, block, size);
	if (r)
		return r;
	if (event < VREAD_EVENT_FINALIZED || event > VREAD_EVENT_DELETE || b.num_storage_ids != 1 ||
	    b.token_length)
		return -EINVAL;
	r = open_data_encode(&b, data);
	if (r < 0)
		return r;
	op.block_id = b.block_id;
	op.genstamp = b.generation_stamp;
	op.data_length = (uint32_t)r;
	return connection_execute(v, &op);
}

/* ---- keys -------------------------------------------------------------------------- */

_Static_assert(VREAD_HMAC_SHA1 == VREAD_KEY_HMAC_SHA1 &&
		       VREAD_HMAC_SHA256 == VREAD_KEY_HMAC_SHA256 &&
		       VREAD_HMAC_SHA384 == VREAD_KEY_HMAC_SHA384 &&
		       VREAD_HMAC_SHA512 == VREAD_KEY_HMAC_SHA512,
	       "algorithms are the protocol's");

/* The keys as KEYS carries them; room for the most and longest keys. */
struct packed {
	size_t length;
	uint8_t bytes[VREAD_MAX_KEYS * (sizeof(struct vread_key) + VREAD_MAX_KEY)];
};

static int pack(struct packed *p, const struct vread_signing_key *k)
{
	struct vread_key header = {
		.id = k->id,
		.algorithm = (uint8_t)k->algorithm,
		.length = (uint8_t)k->length,
		.expiry = k->expiry,
	};

	if (k->algorithm < VREAD_HMAC_SHA1 || k->algorithm > VREAD_HMAC_SHA512 || !k->bytes ||
	    k->length == 0 || k->length > VREAD_MAX_KEY)
		return -EINVAL;
	memcpy(p->bytes + p->length, &header, sizeof(header));
	memcpy(p->bytes + p->length + sizeof(header), k->bytes, k->length);
	p->length += sizeof(header) + k->length;
	return 0;
}

static int send_keys(struct vread *v, const struct vread_block *packed, int tokens)
{
	uint8_t data[VREAD_MAX_OPEN_DATA];
	struct op op = {.kind = VREAD_OP_KEYS, .tokens = (uint32_t)tokens, .data = data};
	int r = open_data_encode(packed, data);

	if (r >= 0) {
		op.data_length = (uint32_t)r;
		r = connection_execute(v, &op);
	}
	explicit_bzero(data, sizeof(data));
	return r;
}

int vread_publish_keys(struct vread *v, const char *pool_id, const char *storage_id, int tokens,
		       const struct vread_signing_key *keys, size_t count)
{
	NO_CANCEL;
	struct packed p = {.length = 0};
	struct vread_block block = {
		.pool_id = pool_id,
		.storage_ids = &storage_id,
		.num_storage_ids = 1,
		.token = p.bytes,
	};
	int r = 0;

	if (connection_forked(v))
		return -ENOTCONN;
	if (tokens < 0 || tokens > 1 || count > VREAD_MAX_KEYS || (count && (!keys || !tokens)))
		return -EINVAL;
	for (size_t i = 0; i < count && !r; i++)
		r = pack(&p, &keys[i]);
	block.token_length = p.length;
	if (!r)
		r = send_keys(v, &block, tokens);
	explicit_bzero(&p, sizeof(p));
	return r;
}
