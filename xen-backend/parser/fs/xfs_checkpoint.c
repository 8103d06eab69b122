// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Collects the regions of each checkpoint and passes them on as log items at the checkpoint's
 * COMMIT; see xfs_checkpoint.h.  xfs_log.c calls these functions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parser/fs/xfs_checkpoint.h"
#include "parser/fs/xfs_format.h"

#define OPERATION_BYTES 12U
#define HEADER_BYTES 16U /* length of a checkpoint's first region */
#define HEADER_MAGIC 0x5452414eU

enum operation_flag {
	OPERATION_START = 0x01,
	OPERATION_COMMIT = 0x02,
	OPERATION_CONTINUES = 0x04, /* the region goes on in the next record */
	OPERATION_CONTINUED = 0x08, /* the region began in an earlier record */
	OPERATION_END = 0x10,       /* last piece of a continued region */
	OPERATION_UNMOUNT = 0x20,
};

struct operation {
	uint32_t id, length;
	uint8_t flags;
	const uint8_t *data;
};

struct piece {
	size_t at;
	uint32_t length;
};

struct xfs_open_checkpoint {
	uint32_t id;
	struct xfs_place start;
	uint8_t *bytes; /* of all regions, one after the other */
	size_t length, capacity;
	struct piece *regions;
	size_t count, room;
};

static void close_checkpoint(struct xfs_open_checkpoint **slot)
{
	if (!*slot)
		return;
	free((*slot)->bytes);
	free((*slot)->regions);
	free(*slot);
	*slot = NULL;
}

void xfs_checkpoints_clear(struct xfs_checkpoints *c)
{
	for (unsigned i = 0; i < XFS_MAX_OPEN; i++)
		close_checkpoint(&c->open[i]);
	c->missed = false;
}

static struct xfs_open_checkpoint **find(struct xfs_checkpoints *c, uint32_t id)
{
	for (unsigned i = 0; i < XFS_MAX_OPEN; i++)
		if (c->open[i] && c->open[i]->id == id)
			return &c->open[i];
	return NULL;
}

/* Returns a free slot.  If there is none, closes the oldest checkpoint and returns its slot.
 * Checkpoints that were open when the owner crashed are never committed, but keep their slots. */
static struct xfs_open_checkpoint **free_slot(struct xfs_checkpoints *c)
{
	struct xfs_open_checkpoint **oldest = &c->open[0];

	for (unsigned i = 0; i < XFS_MAX_OPEN; i++) {
		if (!c->open[i])
			return &c->open[i];
		if (xfs_place_before(c->open[i]->start, (*oldest)->start))
			oldest = &c->open[i];
	}
	close_checkpoint(oldest);
	return oldest;
}

static int begin(struct xfs_checkpoints *c, uint32_t id, struct xfs_place start)
{
	struct xfs_open_checkpoint **slot = find(c, id);

	if (slot)
		close_checkpoint(slot);
	else
		slot = free_slot(c);
	*slot = calloc(1, sizeof(**slot));
	if (!*slot)
		return -ENOMEM;
	(*slot)->id = id;
	(*slot)->start = start;
	return 0;
}

static int append(struct xfs_open_checkpoint *o, const struct operation *op)
{
	size_t end = o->length + op->length;

	if (end > XFS_CHECKPOINT_MAX_BYTES)
		return -EOPNOTSUPP;
	if (end > o->capacity) {
		size_t capacity = 2 * end;
		uint8_t *bytes = realloc(o->bytes, capacity);

		if (!bytes)
			return -ENOMEM;
		o->bytes = bytes;
		o->capacity = capacity;
	}
	memcpy(o->bytes + o->length, op->data, op->length);
	o->length = end;
	return 0;
}

static int add_region(struct xfs_open_checkpoint *o, const struct operation *op)
{
	if (op->length == 0)
		return 0;
	if (o->count == o->room) {
		size_t room = o->room ? 2 * o->room : 64;
		struct piece *regions = reallocarray(o->regions, room, sizeof(*regions));

		if (!regions)
			return -ENOMEM;
		o->regions = regions;
		o->room = room;
	}
	o->regions[o->count++] = (struct piece){o->length, op->length};
	return append(o, op);
}

static int continue_region(struct xfs_open_checkpoint *o, const struct operation *op)
{
	if (o->count == 0)
		return op->length ? -EOPNOTSUPP : 0;
	o->regions[o->count - 1].length += op->length;
	return append(o, op);
}

/* Passes on one item.  *index: its first region; afterwards the first region of the next item. */
static int commit_item(const struct xfs_open_checkpoint *o, size_t *index,
		       const struct xfs_checkpoint_ops *ops, void *ctx)
{
	struct xfs_region regions[XFS_ITEM_MAX_REGIONS];
	const struct piece *first = &o->regions[*index];
	unsigned count;

	if (first->length < 4)
		return -EOPNOTSUPP;
	count = xfs_item_get16(o->bytes + first->at + 2);
	if (count == 0 || count > XFS_ITEM_MAX_REGIONS || count > o->count - *index)
		return -EOPNOTSUPP;
	for (unsigned i = 0; i < count; i++)
		regions[i] = (struct xfs_region){o->bytes + first[i].at, first[i].length};
	*index += count;
	return ops->item(ctx, regions, count);
}

static int commit(const struct xfs_open_checkpoint *o, const struct xfs_checkpoint_ops *ops,
		  void *ctx)
{
	size_t index = 1;

	if (o->count == 0)
		return 0;
	if (o->regions[0].length != HEADER_BYTES ||
	    xfs_item_get32(o->bytes + o->regions[0].at) != HEADER_MAGIC)
		return -EOPNOTSUPP;
	while (index < o->count) {
		int r = commit_item(o, &index, ops, ctx);

		if (r < 0)
			return r;
	}
	return ops->commit(ctx);
}

bool xfs_record_is_unmount(const struct xfs_record *r, const uint8_t *data)
{
	return r->operations == 1 && r->length >= OPERATION_BYTES &&
	       (data[r->header_bytes + 9] & OPERATION_UNMOUNT);
}

static int take_operation(struct xfs_checkpoints *c, const struct xfs_record *r,
			  const struct operation *op, const struct xfs_checkpoint_ops *ops,
			  void *ctx)
{
	struct xfs_open_checkpoint **slot;
	int result;

	if (op->flags & OPERATION_UNMOUNT)
		return ops->unmount(ctx);
	if (op->flags & OPERATION_START)
		return begin(c, op->id, r->at);
	slot = find(c, op->id);
	if (!slot) {
		if ((op->flags & OPERATION_COMMIT) && !xfs_place_equal(r->at, c->first))
			c->missed = true;
		return 0;
	}
	if (op->flags & OPERATION_COMMIT) {
		result = commit(*slot, ops, ctx);
		close_checkpoint(slot);
		return result;
	}
	return op->flags & OPERATION_CONTINUED ? continue_region(*slot, op) : add_region(*slot, op);
}

int xfs_checkpoints_take(struct xfs_checkpoints *c, const struct xfs_record *r, const uint8_t *data,
			 const struct xfs_checkpoint_ops *ops, void *ctx)
{
	const uint8_t *at = data + r->header_bytes, *end = at + r->length;

	for (uint32_t i = 0; i < r->operations; i++) {
		struct operation op;
		int result;

		if ((size_t)(end - at) < OPERATION_BYTES)
			return -EOPNOTSUPP;
		op = (struct operation){xfs_get32(at), xfs_get32(at + 4), at[9],
					at + OPERATION_BYTES};
		if (op.length > (size_t)(end - op.data))
			return -EOPNOTSUPP;
		result = take_operation(c, r, &op, ops, ctx);
		if (result < 0)
			return result;
		at = op.data + op.length;
	}
	return 0;
}
