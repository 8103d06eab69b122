// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * answer.c - carries out one request of a peer, and makes its answer: see answer.h.
 * requests.c, workers.c, buffers.c and server.c call these functions.
 *
 * An answer is sealed (read/service.h) when it is ready, and the seal is given up at once: sending
 * may have to wait for the peer, and no owner of a block waits for that.  An answer on its way
 * belongs to a read that began before the owner withdrew the replica.
 */
#include "peer/answering/answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/counters.h"
#include "policy/audit.h"
#include "read/block.h"
#include "read/crc_join.h"

#define PAGE 4096U

static void release_message(struct outgoing *o)
{
	free(o);
}

static struct outgoing *message_new(void)
{
	struct outgoing *o = malloc(sizeof(*o) + MESSAGE_HEADER + sizeof(struct message_block));

	if (!o)
		return NULL;
	*o = (struct outgoing){.release = release_message};
	o->message = (uint8_t *)(o + 1);
	return o;
}

struct buffer {
	struct outgoing outgoing;
	uint8_t *own_pages;
};

/* Places the header at the end of the first page, so that the data begins on a page. */
struct outgoing *answer_buffer_new(uint8_t *pages)
{
	struct buffer *b = calloc(1, sizeof(*b));

	if (b && !pages)
		pages = b->own_pages = aligned_alloc(PAGE, ANSWER_BUFFER_BYTES);
	if (!pages) {
		free(b);
		return NULL;
	}
	if (!b)
		return NULL;
	b->outgoing.message = pages + PAGE - MESSAGE_HEADER;
	return &b->outgoing;
}

void answer_buffer_free(struct outgoing *buffer)
{
	struct buffer *b = (struct buffer *)buffer;

	if (!b)
		return;
	free(b->own_pages);
	free(b);
}

struct answer_request *answer_request_new(const struct message_header *h, const uint8_t *body,
					  int *ret_error)
{
	bool opens = h->type == MESSAGE_OPEN;
	struct answer_request *r = malloc(sizeof(*r) + (opens ? sizeof(r->open[0]) : 0));

	*ret_error = -ENOMEM;
	if (!r)
		return NULL;
	*r = (struct answer_request){.id = h->id,
				     .type = h->type,
				     .plain = h->flags & MESSAGE_PLAIN};
	if (opens)
		*ret_error = message_get_open(body, h->length, r->open);
	else if (h->type == MESSAGE_READ)
		*ret_error = message_get_read(body, h->length, &r->u.read);
	else
		*ret_error = message_get_handle(body, h->length, &r->u.handle);
	if (!*ret_error)
		return r;
	free(r);
	return NULL;
}

static struct outgoing *failure(const struct answer_client *c, const struct answer_request *r,
				int error)
{
	struct outgoing *o = message_new();

	counters_response(c->counters, 0, error);
	if (o)
		o->length = message_put_failed(o->message, r->id, error);
	return o;
}

static struct outgoing *tell_block(const struct answer_request *r, enum message_type type,
				   uint32_t handle, const struct block_info *info)
{
	struct message_block m = {handle, info->flags & VREAD_BLOCK_FINALIZED, info->length,
				  info->genstamp};
	struct outgoing *o = message_new();

	if (o)
		o->length = message_put_block(o->message, type, r->id, &m);
	return o;
}

static struct outgoing *do_open(const struct answer_client *c, const struct answer_request *r)
{
	const struct message_open *m = r->open;
	struct block_name name = {
		.pool_id = m->pool_id,
		.block_id = m->block_id,
		.genstamp = m->genstamp,
		.visible_length = m->visible_length,
		.storage_ids = m->storage_ids,
		.num_storages = m->num_storages,
		.token = m->token,
		.token_length = m->token_length,
	};
	struct block_info info;
	struct reading g;
	int error = reading_open(&g, &c->reader, &name, &info);

	if (!error)
		error = reading_seal(&g);
	reading_end(&g);
	audit_open(&(struct audit_open){
		.peer = c->name, .pool_id = m->pool_id, .block_id = m->block_id, .status = error});
	if (error)
		return failure(c, r, error);
	counters_response(c->counters, VREAD_OP_OPEN, 0);
	return tell_block(r, MESSAGE_OPENED, g.number, &info);
}

static struct outgoing *do_stat(const struct answer_client *c, const struct answer_request *r)
{
	struct block_info info;
	struct reading g;
	int error;

	reading_begin(&g, &c->reader, r->u.handle);
	error = reading_stat(&g, &info);
	if (!error)
		error = reading_seal(&g);
	reading_end(&g);
	return error ? failure(c, r, error) : tell_block(r, MESSAGE_STATED, 0, &info);
}

/* Reads the next piece of the block.  Returns its length, or negative errno. */
static ssize_t read_piece(const struct answer_client *c, const struct message_read *m,
			  uint8_t *bytes, uint32_t length, uint32_t *ret_crc32c)
{
	struct reading g;
	ssize_t n;
	int refused;

	reading_begin(&g, &c->reader, m->handle);
	n = reading_read(&g, m->offset, bytes, length, ret_crc32c);
	refused = n < 0 ? 0 : reading_seal(&g);
	reading_end(&g);
	return refused ? refused : n;
}

static struct outgoing *do_read(const struct answer_client *c, struct answer_request *r,
				struct outgoing *buffer, bool *ret_more)
{
	struct message_read *m = &r->u.read;
	uint32_t length = m->length < MESSAGE_MAX_DATA ? m->length : MESSAGE_MAX_DATA;
	uint32_t sum;
	ssize_t n = read_piece(c, m, buffer->message + MESSAGE_HEADER, length, &sum);

	if (n < 0)
		return failure(c, r, (int)n);
	m->length -= (uint32_t)n;
	m->offset += (uint64_t)n;
	r->status += (uint32_t)n;
	r->crc32c = crc_join(r->crc32c, sum, (uint32_t)n);
	*ret_more = (uint32_t)n == length && m->length;
	if (!*ret_more)
		counters_response(c->counters, VREAD_OP_READ, (int32_t)r->status);
	buffer->length =
		message_put_data(buffer->message, r->id, (uint32_t)n, *ret_more, r->crc32c) +
		(size_t)n;
	buffer->plain = r->plain;
	if (r->plain)
		message_set_plain(buffer->message);
	return buffer;
}

void answer_drop(const struct answer_client *c, const struct answer_request *r, struct outgoing *o)
{
	struct message_header h;
	struct message_block block;

	if (r->type == MESSAGE_OPEN && message_get_header(o->message, &h) == 0 &&
	    h.type == MESSAGE_OPENED &&
	    message_get_block(o->message + MESSAGE_HEADER, h.length, &block) == 0)
		handles_remove(c->reader.handles, block.handle);
	o->release(o);
}

struct outgoing *answer_request(const struct answer_client *c, struct answer_request *r,
				struct outgoing *buffer, bool *ret_more)
{
	*ret_more = false;
	switch (r->type) {
	case MESSAGE_OPEN:
		return do_open(c, r);
	case MESSAGE_READ:
		return do_read(c, r, buffer, ret_more);
	default:
		return do_stat(c, r);
	}
}
