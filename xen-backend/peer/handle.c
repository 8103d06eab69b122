// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * handle.c - READ, STAT and CLOSE of a block that is open on a peer.
 *
 * ring/ calls these functions for its guests (peer.h); opening.c closes handles that it cannot use.
 *
 * A handle belongs to one connection and to the storages that the block was opened by.  When the
 * connection ends, or one of the storages moves, all operations on the handle fail with -EAGAIN,
 * also those under way.
 */
#include "peer/peers_private.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "vreadif.h"

#define CLOSE_TIMEOUT 60000U /* ms a CLOSE may wait to be sent */

/* One peer_read() or peer_stat(). */
struct operation {
	struct peer_handle *handle;
	uint32_t expected; /* bytes */
	union {
		peer_done_fn *read;
		peer_stat_fn *stat;
	} done;
	void *ctx;
};

/* Converts a link's error to the error for the caller. */
static int told(int error)
{
	return error == -ENOTCONN || error == -ECANCELED || error == -ETIMEDOUT ? -EAGAIN : error;
}

bool peer_handle_is_current(const struct peer_handle *h)
{
	for (unsigned i = 0; i < h->num_entries; i++)
		if (directory_peer(h->peer->peers->directory, h->entries[i]) != h->peer->number)
			return false;
	return true;
}

/* Asks the handle's peer.  r->ctx becomes a copy of op, which done frees.  Takes over r; r NULL:
 * out of memory. */
static int ask_handle(struct peer_handle *h, struct link_request *r, const struct operation *op)
{
	struct operation *copy = r ? malloc(sizeof(*copy)) : NULL;
	int error;

	if (!copy) {
		free(r);
		return -ENOMEM;
	}
	*copy = *op;
	r->ctx = copy;
	r->epoch = h->epoch;
	atomic_fetch_add(&h->stream->expected, op->expected);
	error = peer_ask(h->stream, h->pool, r);
	if (error) {
		atomic_fetch_sub(&h->stream->expected, op->expected);
		free(copy);
	}
	return error == -ENODEV ? -EAGAIN : error;
}

static void on_read(struct link_request *r, int error, const struct message_block *block)
{
	struct operation *op = r->ctx;
	uint32_t placed = r->placed, sum = r->crc32c;

	(void)block;
	free(r);
	atomic_fetch_sub(&op->handle->stream->expected, op->expected);
	if (!error && placed != op->expected)
		error = -EIO;
	else if (!error && !peer_handle_is_current(op->handle))
		error = -EAGAIN;
	counters_response(&op->handle->peer->counters, VREAD_OP_READ,
			  error ? error : (int32_t)placed);
	op->done.read(op->ctx, error ? told(error) : (ssize_t)placed, error || !placed ? 0 : sum);
	free(op);
}

/* The number of bytes that the block has in [offset, offset + length). */
static uint32_t cut(const struct peer_handle *h, uint64_t offset, uint32_t length)
{
	if (offset >= h->visible_length)
		return 0;
	return h->visible_length - offset < length ? (uint32_t)(h->visible_length - offset)
						   : length;
}

int peer_read(struct peer_handle *h, uint64_t offset, size_t offset_in_pool, uint32_t length,
	      peer_done_fn *done, void *ctx)
{
	struct operation op = {h, cut(h, offset, length), {.read = done}, ctx};
	struct message_read m = {h->number, length, offset};
	uint8_t message[MESSAGE_MAX];
	struct link_request *r;

	if (length == 0 || length > VREAD_MAX_READ || offset > UINT64_MAX - length ||
	    offset_in_pool > h->pool->length || length > h->pool->length - offset_in_pool)
		return -EINVAL;
	if (!peer_handle_is_current(h))
		return -EAGAIN;
	r = peer_request_new(message, message_put_read(message, 0, &m), MESSAGE_DATA,
			     peers_deadline(h->peer->peers));
	if (r) {
		r->place = h->pool->base + offset_in_pool;
		r->room = op.expected;
		r->encrypt = h->encrypt;
		r->mac = h->mac;
		r->done = on_read;
	}
	return ask_handle(h, r, &op);
}

static void on_stat(struct link_request *r, int error, const struct message_block *block)
{
	struct operation *op = r->ctx;
	struct block_info info = {0};

	if (block)
		info = (struct block_info){block->length, block->genstamp,
					   block->flags | VREAD_BLOCK_REMOTE};
	free(r);
	if (!error && !peer_handle_is_current(op->handle))
		error = -EAGAIN;
	counters_response(&op->handle->peer->counters, VREAD_OP_STAT, error);
	op->done.stat(op->ctx, told(error), error ? NULL : &info);
	free(op);
}

int peer_stat(struct peer_handle *h, peer_stat_fn *done, void *ctx)
{
	struct operation op = {h, 0, {.stat = done}, ctx};
	uint8_t message[MESSAGE_MAX];
	struct link_request *r;

	if (!peer_handle_is_current(h))
		return -EAGAIN;
	r = peer_request_new(message, message_put_handle(message, MESSAGE_STAT, 0, h->number),
			     MESSAGE_STATED, peers_deadline(h->peer->peers));
	if (r)
		r->done = on_stat;
	return ask_handle(h, r, &op);
}

static void on_closed(struct link_request *r, int error, const struct message_block *block)
{
	(void)error, (void)block;
	free(r);
}

void peer_close(struct peer_handle *h)
{
	uint8_t message[MESSAGE_MAX];
	struct link_request *r =
		peer_request_new(message, message_put_handle(message, MESSAGE_CLOSE, 0, h->number),
				 0, clock_ms() + CLOSE_TIMEOUT);

	if (r) {
		r->silent = true;
		r->epoch = h->epoch;
		r->done = on_closed;
		/* On failure the connection has ended, and the handle with it. */
		peer_ask(h->stream, NULL, r);
	}
	atomic_fetch_sub(&h->peer->handles, 1);
	free(h);
}
