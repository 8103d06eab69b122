// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * opening.c - OPEN: chooses the peer to ask, and takes its answer.
 *
 * ring/ calls peer_open() and peers_have() for its guests.
 *
 * An OPEN goes to the peers that have one of the storages, one after the other, until a peer has
 * the block, refuses the block token, or the time is up.  Peers with a link that is down come last.
 */
#include "peer/peers_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "policy/policy.h"
#include "vreadif.h"

#define MAX_OPENS 128U /* OPENs under way for one pool */

/* One of the wanted storages, and the peer that has it. */
struct place {
	struct directory_entry *entry;
	struct peer *peer; /* NULL: the peer was asked */
	bool down;         /* the peer's link was down when the OPEN began */
};

/* One peer_open(). */
struct opening {
	struct peers *peers;
	struct peer_pool *pool;
	peer_opened_fn *done;
	void *ctx;
	uint64_t deadline;
	int error; /* from the last peer that answered with an error; else -ENODEV */
	char pool_id[VREAD_MAX_POOL_ID + 1];
	int64_t block_id;
	uint64_t genstamp, visible_length;
	bool encrypt, mac;
	void *token; /* NULL: none */
	size_t token_length;
	struct peer *asked;
	struct stream *stream; /* of asked */
	unsigned num_entries, num_places;
	struct place places[]; /* the first num_entries belong to the peer `asked` */
};

static void on_opened(struct link_request *r, int error, const struct message_block *block);

static int ask_peer(struct opening *o)
{
	static _Thread_local struct message_open m;
	uint8_t message[MESSAGE_MAX];
	struct link_request *r;
	size_t length;

	m.block_id = o->block_id;
	m.genstamp = o->genstamp;
	m.visible_length = o->visible_length;
	m.pool_id = o->pool_id;
	m.token = o->token;
	m.token_length = (uint16_t)o->token_length;
	m.num_storages = o->num_entries;
	for (unsigned i = 0; i < o->num_entries; i++)
		m.storage_ids[i] = directory_storage(o->places[i].entry);
	length = message_put_open(message, 0, &m);
	if (!length)
		return -EINVAL;
	r = peer_request_new(message, length, MESSAGE_OPENED, o->deadline);
	if (!r)
		return -ENOMEM;
	r->done = on_opened;
	r->ctx = o;
	o->stream = streams_choose(o->asked);
	return peer_ask(o->stream, o->pool, r);
}

static void swap(struct place *a, struct place *b)
{
	struct place c = *a;

	*a = *b;
	*b = c;
}

/* Sets o->asked to the next peer and puts its storages in front.  False: there is no other peer. */
static bool choose_peer(struct opening *o)
{
	struct place *p = o->places;
	struct peer *next = NULL;

	for (unsigned i = 0; i < o->num_places; i++)
		if (p[i].peer && (!next || !p[i].down)) {
			next = p[i].peer;
			if (!p[i].down)
				break;
		}
	o->asked = next;
	o->num_entries = 0;
	for (unsigned i = 0; next && i < o->num_places; i++)
		if (p[i].peer == next) {
			p[i].peer = NULL;
			swap(&p[i], &p[o->num_entries++]);
		}
	return next;
}

/* Asks the next peer that can be asked.  0, or the result of the OPEN if there is none. */
static int ask_next(struct opening *o)
{
	while (clock_ms() < o->deadline && choose_peer(o))
		if (ask_peer(o) == 0)
			return 0;
	return o->error;
}

static void opening_free(struct opening *o)
{
	free(o->token);
	free(o);
}

static void finish_open(struct opening *o, int result, struct peer_handle *h,
			const struct block_info *info)
{
	atomic_fetch_sub(&o->pool->opens, 1); /* before done: after it the pool may be freed */
	o->done(o->ctx, result, h, info);
	opening_free(o);
}

static struct peer_handle *handle_new(const struct opening *o, const struct message_block *block)
{
	struct peer_handle *h = malloc(sizeof(*h) + o->num_entries * sizeof(h->entries[0]));

	if (!h)
		return NULL;
	*h = (struct peer_handle){.peer = o->asked,
				  .stream = o->stream,
				  .pool = o->pool,
				  .epoch = link_epoch(o->stream->link),
				  .number = block->handle,
				  .visible_length =
					  o->visible_length ? o->visible_length : block->length,
				  .encrypt = o->encrypt,
				  .mac = o->mac,
				  .num_entries = o->num_entries};
	for (unsigned i = 0; i < o->num_entries; i++)
		h->entries[i] = o->places[i].entry;
	atomic_fetch_add(&o->asked->handles, 1);
	return h;
}

/* The peer has opened a block.  The answer must have the generation stamp that was asked for, and
 * at least the visible length.  If it has not, the handle is closed and the OPEN fails with
 * -EIO. */
static void take_opened(struct opening *o, const struct message_block *block)
{
	struct block_info info = {block->length, block->genstamp,
				  block->flags | VREAD_BLOCK_REMOTE};
	struct peer_handle *h = handle_new(o, block);
	int error = h ? 0 : -ENOMEM;

	if (!error && (block->genstamp != o->genstamp || block->length < o->visible_length))
		error = -EIO;
	else if (!error && !peer_handle_is_current(h))
		error = -EAGAIN;
	if (error && h)
		peer_close(h);
	counters_response(&o->asked->counters, VREAD_OP_OPEN, error);
	finish_open(o, error, error ? NULL : h, error ? NULL : &info);
}

static void on_opened(struct link_request *r, int error, const struct message_block *block)
{
	struct opening *o = r->ctx;

	free(r);
	if (!error) {
		take_opened(o, block);
		return;
	}
	counters_response(&o->asked->counters, VREAD_OP_OPEN, error);
	if (error == -ECANCELED) {
		finish_open(o, -EAGAIN, NULL, NULL);
		return;
	}
	if (error != -ENOTCONN && error != -ETIMEDOUT && error != -ENODEV)
		o->error = error;
	if (error != -EPERM) /* else the next peer, with weaker rules, would overrule this one */
		error = ask_next(o);
	if (error)
		finish_open(o, error, NULL, NULL);
}

/* Finds the entry of a storage.  Returns the number of the peer that has it. */
static int find_entry(struct peers *p, const char *storage_id, struct directory_entry **ret)
{
	*ret = directory_find(p->directory, storage_id);
	return *ret ? directory_peer(p->directory, *ret) : DIRECTORY_NOWHERE;
}

/* Finds the storages that are on peers and that the policy allows to read.  False: none of the
 * name's storages is on a peer. */
static bool find_places(struct opening *o, const struct policy *policy,
			const struct block_name *name)
{
	struct peers *p = o->peers;
	bool known = false;

	for (unsigned i = 0; i < name->num_storages; i++) {
		struct directory_entry *e;
		int number = find_entry(p, name->storage_ids[i], &e);

		known = known || number != DIRECTORY_NOWHERE;
		if (number != DIRECTORY_NOWHERE &&
		    policy_allows_datanode(policy, directory_datanode(e)))
			o->places[o->num_places++] =
				(struct place){e, p->peers[number],
					       streams_are_down(p->peers[number])};
	}
	return known;
}

bool peers_have(struct peers *p, const struct block_name *name)
{
	struct directory_entry *e;

	for (unsigned i = 0; i < name->num_storages; i++)
		if (find_entry(p, name->storage_ids[i], &e) == DIRECTORY_NOWHERE)
			return false;
	return name->num_storages > 0;
}

/* Copies the block token for the peer.  The peer that has the block checks the token. */
static int copy_token(struct opening *o, const struct block_name *name)
{
	if (!name->token_length)
		return 0;
	if (name->token_length > VREAD_MAX_TOKEN)
		return -EINVAL;
	o->token = malloc(name->token_length);
	if (!o->token)
		return -ENOMEM;
	o->token_length = name->token_length;
	memcpy(o->token, name->token, name->token_length);
	return 0;
}

int peer_open(struct peers *p, struct peer_pool *pool, const struct policy *policy,
	      const struct block_name *name, peer_opened_fn *done, void *ctx)
{
	struct opening *o;
	int error;

	if (!policy_allows_pool(policy, name->pool_id) || strlen(name->pool_id) > VREAD_MAX_POOL_ID)
		return -ENODEV;
	if ((name->encrypt || name->mac) && !(p->config->transports & MESSAGE_TRANSPORT_TLS))
		return -ENODEV;
	o = malloc(sizeof(*o) + name->num_storages * sizeof(o->places[0]));
	if (!o)
		return -ENOMEM;
	if (atomic_fetch_add(&pool->opens, 1) >= MAX_OPENS) {
		atomic_fetch_sub(&pool->opens, 1);
		free(o);
		return -EAGAIN;
	}
	*o = (struct opening){.peers = p,
			      .pool = pool,
			      .done = done,
			      .ctx = ctx,
			      .deadline = peers_deadline(p),
			      .error = -ENODEV,
			      .block_id = name->block_id,
			      .genstamp = name->genstamp,
			      .visible_length = name->visible_length,
			      .encrypt = name->encrypt,
			      .mac = name->mac};
	memcpy(o->pool_id, name->pool_id, strlen(name->pool_id) + 1);
	error = copy_token(o, name);
	if (!error) {
		if (!find_places(o, policy, name))
			peers_learn_wanted(p);
		error = ask_next(o);
	}
	if (error) {
		atomic_fetch_sub(&pool->opens, 1);
		opening_free(o);
	}
	return error;
}
