/* SPDX-License-Identifier: Apache-2.0 */
/* A datanode's events of its own replicas. */
#include <errno.h>

#include "connection.h"
#include "open_data.h"

_Static_assert(VREAD_EVENT_FINALIZED == VREAD_PUBLISH_FINALIZED &&
		       VREAD_EVENT_APPEND == VREAD_PUBLISH_APPEND &&
		       VREAD_EVENT_TRUNCATE == VREAD_PUBLISH_TRUNCATE &&
		       VREAD_EVENT_DELETE == VREAD_PUBLISH_DELETE,
	       "events are the protocol's");

int vread_publish(struct vread *v, const struct vread_block *block, unsigned event, uint64_t length)
{
	uint8_t data[VREAD_MAX_OPEN_DATA];
	struct op op = {
		.kind = VREAD_OP_PUBLISH,
		.block_id = block->block_id,
		.genstamp = block->generation_stamp,
		.new_length = length,
		.event = event,
		.data = data,
	};
	int r;

	if (connection_forked(v))
		return -ENOTCONN;
	if (event < VREAD_EVENT_FINALIZED || event > VREAD_EVENT_DELETE ||
	    block->num_storage_ids != 1 || block->token_length)
		return -EINVAL;
	r = open_data_encode(block, data);
	if (r < 0)
		return r;
	op.data_length = (uint32_t)r;
	return connection_execute(v, &op);
}
