// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * streams.c - the connections to one peer, and which of them a block is opened on.
 *
 * Called by the files behind peer.h (peers_private.h).
 *
 * One processor of each host encrypts what one connection carries.  So a peer has several links
 * (asking/link.h), and a block is read on the link that it was opened on.  The first link serves as
 * long as little is read.  When a block is opened while every link that is up waits for STREAM_BUSY
 * bytes, a further link begins to connect; blocks opened after it is up are read on it.  So no OPEN
 * waits for a further link.  Only the first link is told which storages the peer has.
 */
#include "peer/peers_private.h"

#include <errno.h>
#include <jansson.h>

#include "peer/wire/address.h"

#define STREAM_BUSY (1U << 20)

static int hear_nothing(void *ctx, const struct message_storage *s, size_t count)
{
	(void)ctx, (void)s, (void)count;
	return 0;
}

int streams_new(struct peer *peer)
{
	const struct peers *p = peer->peers;
	struct address address;
	struct link_settings settings = {
		.name = peer->config.name,
		.tls = p->tls,
		.rdma = p->rdma,
		.transports = p->config->transports,
		.idle_timeout = p->config->idle_timeout,
		.answer_timeout = p->config->answer_timeout,
		.storages = peer_on_storages,
		.ctx = peer,
	};

	if (peer->config.address[0]) {
		if (!address_parse(peer->config.address, &address))
			return -EINVAL;
		settings.address = &address;
	}
	/* By RDMA the devices carry the bytes, and one connection is enough. */
	for (unsigned i = 0; i < (p->rdma ? 1 : p->config->streams); i++) {
		peer->streams[i].link = link_new(&settings);
		if (!peer->streams[i].link)
			return -ENOMEM;
		peer->num_streams++;
		settings.storages = hear_nothing;
	}
	streams_set_frames(peer, peer->config.frames);
	return 0;
}

void streams_free(struct peer *peer)
{
	for (unsigned i = 0; i < peer->num_streams; i++)
		link_free(peer->streams[i].link);
}

struct stream *streams_choose(struct peer *peer)
{
	struct stream *best = NULL, *unused = NULL;

	for (unsigned i = 0; i < peer->num_streams; i++) {
		struct stream *s = &peer->streams[i];

		if (!link_is_up(s->link))
			unused = unused ? unused : s;
		else if (!best || atomic_load(&s->expected) < atomic_load(&best->expected))
			best = s;
	}
	if (best && unused && atomic_load(&best->expected) >= STREAM_BUSY)
		link_wake(unused->link);
	return best ? best : &peer->streams[0];
}

bool streams_are_down(struct peer *peer)
{
	for (unsigned i = 0; i < peer->num_streams; i++)
		if (!link_is_down(peer->streams[i].link))
			return false;
	return true;
}

void streams_stop(struct peer *peer, const void *owner)
{
	for (unsigned i = 0; i < peer->num_streams; i++)
		link_stop(peer->streams[i].link, owner);
}

void streams_set_address(struct peer *peer, const char *text)
{
	struct address address;
	bool known = address_parse(text, &address);

	for (unsigned i = 0; i < peer->num_streams; i++)
		link_set_address(peer->streams[i].link, known ? &address : NULL);
}

void streams_set_frames(struct peer *peer, unsigned frames)
{
	for (unsigned i = 0; i < peer->num_streams; i++)
		link_set_frames(peer->streams[i].link, frames);
}

/* Adds the numbers in more to those in o. */
static void add_numbers(json_t *o, json_t *more)
{
	const char *key;
	json_t *value, *sum;

	json_object_foreach(more, key, value)
	{
		sum = json_object_get(o, key);
		if (json_is_integer(value) && json_is_integer(sum))
			json_integer_set(sum, json_integer_value(sum) + json_integer_value(value));
	}
}

void streams_status(struct peer *peer, json_t *o)
{
	unsigned up = 0;

	for (unsigned i = 0; i < peer->num_streams; i++) {
		json_t *each = json_object();
		bool is_up = link_is_up(peer->streams[i].link);

		link_status(peer->streams[i].link, each);
		if (i == 0)
			json_object_update(o, each);
		else
			add_numbers(o, each);
		if (is_up && up++ == 0) {
			json_object_set(o, "state", json_object_get(each, "state"));
			json_object_set(o, "transport", json_object_get(each, "transport"));
		}
		if (json_is_null(json_object_get(o, "last_error")))
			json_object_set(o, "last_error", json_object_get(each, "last_error"));
		json_decref(each);
	}
	json_object_set_new(o, "streams", json_integer(up));
}
