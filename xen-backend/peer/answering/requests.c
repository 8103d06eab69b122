// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * requests.c - messages that a peer sends: a HELLO, then requests.  The transport calls these
 * functions from its advance().
 *
 * A message that must not come at this moment ends the connection.
 */
#include "peer/answering/server_private.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "read/handles.h"
#include "peer/wire/message.h"
#include "peer/wire/stream.h"

/* The transport that both hosts can use.  0: there is none. */
static unsigned choose_transport(const struct conn *c, unsigned asked)
{
	const struct peer_server *s = c->server;

	if (s->rdma && (asked & MESSAGE_TRANSPORT_RDMA))
		return MESSAGE_TRANSPORT_RDMA;
	asked &= s->config->transports | atomic_load(&c->client->frames);
	if (!(asked & MESSAGE_TRANSPORT_TLS))
		return 0;
	if (asked & MESSAGE_TRANSPORT_BARE)
		return MESSAGE_TRANSPORT_BARE;
	return asked & MESSAGE_TRANSPORT_MAC ? MESSAGE_TRANSPORT_MAC : MESSAGE_TRANSPORT_TLS;
}

/* From here on the peer may dial.  The HELLO, which is sent next, tells the peer so.  The new
 * transport takes over the stream. */
static int await_rdma(struct conn *c)
{
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
	struct pollfd fds[TRANSPORT_MAX_FDS];
	struct rdma_awaited *awaited;
	struct transport *t;

	if (rdma_await(c->server->rdma, &c->secret, &awaited))
		return -ENOMEM;
	t = rdma_answer(awaited, SERVER_CREDITS, c->transport);
	if (!t)
		return -ENOMEM;
	c->transport = t;
	for (unsigned i = 1, n = t->ops->poll(t, fds); i < n; i++)
		if (epoll_ctl(c->server->epoll, EPOLL_CTL_ADD, fds[i].fd, &e) < 0)
			return -errno;
	return 0;
}

static int take_hello(struct conn *c, const struct message_header *h, const uint8_t *body)
{
	struct peer_server *s = c->server;
	struct message_hello asked, m = {MESSAGE_VERSION, 0, SERVER_CREDITS};
	uint8_t message[MESSAGE_MAX];
	int r;

	if (c->greeted || message_get_hello(body, h->length, &asked))
		return -EPROTO;
	c->greeted = true;
	m.transports = (uint16_t)choose_transport(c, asked.transports);
	c->frames = m.transports & MESSAGE_TRANSPORT_FRAMES;
	r = m.transports == MESSAGE_TRANSPORT_RDMA ? await_rdma(c) : 0;
	if (c->frames)
		r = stream_use_frames(c->transport, c->frames);
	if (!r)
		r = transport_send_copy(c->transport, message, message_put_hello(message, &m));
	/* If the hosts have no transport or version in common, the HELLO says so, and the peer
	 * disconnects. */
	if (r || asked.version != MESSAGE_VERSION || !m.transports)
		return r;
	pthread_mutex_lock(&s->lock);
	c->have_hello = true;
	pthread_mutex_unlock(&s->lock);
	log_peer(LOG_LEVEL_DEBUG, c->client->name, "connected from %s", c->address);
	server_notice_change(s);
	return conn_announce(c);
}

static int take_request_message(struct conn *c, const struct message_header *h, const uint8_t *body)
{
	struct peer_server *s = c->server;
	struct answer_request *r;
	int error;

	if ((h->flags & MESSAGE_PLAIN) && !c->frames)
		return -EPROTO;
	r = answer_request_new(h, body, &error);
	if (!r)
		return error;
	pthread_mutex_lock(&s->lock);
	error = conn_take_credit(c);
	if (!error)
		conn_append_request(c, r);
	pthread_mutex_unlock(&s->lock);
	if (error)
		free(r);
	return error;
}

/* The answer to a request is also the answer to its CANCEL.  If that answer is already on its
 * way, the CANCEL needs none. */
static int cancel(struct conn *c, uint64_t id)
{
	struct peer_server *s = c->server;
	uint8_t message[MESSAGE_MAX];
	struct outgoing *o;
	bool answered;
	int error;

	pthread_mutex_lock(&s->lock);
	error = conn_take_cancel(c);
	answered = error || !conn_cancel_request(c, id);
	pthread_mutex_unlock(&s->lock);
	if (answered)
		return error;
	counters_response(&c->client->counters, 0, -ECANCELED);
	o = outgoing_new(message, message_put_failed(message, id, -EAGAIN));
	if (!o)
		return -ENOMEM;
	conn_send_short(c, o);
	return 0;
}

static int on_arrived(void *ctx, const struct message_header *h, const uint8_t *body)
{
	struct conn *c = ctx;
	uint32_t handle;

	if (h->type == MESSAGE_HELLO)
		return take_hello(c, h, body);
	if (!c->have_hello)
		return -EPROTO;
	switch (h->type) {
	case MESSAGE_OPEN:
	case MESSAGE_READ:
	case MESSAGE_STAT:
		return take_request_message(c, h, body);
	case MESSAGE_CLOSE:
		if (message_get_handle(body, h->length, &handle))
			return -EPROTO;
		return handles_remove(c->blocks, handle) ? -EPROTO : 0;
	case MESSAGE_CANCEL:
		return cancel(c, h->id);
	default: /* types that only answers have */
		return -EPROTO;
	}
}

/* Only the host that answers sends DATA, so no DATA may arrive here. */
static int on_place(void *ctx, const struct message_header *h, uint8_t **ret_place)
{
	(void)ctx, (void)h, (void)ret_place;
	return -EPROTO;
}

const struct transport_user server_transport_user = {.arrived = on_arrived, .place = on_place};
