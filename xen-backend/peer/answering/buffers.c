// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * buffers.c - the buffers that READs are answered from.
 *
 * A worker takes a buffer before it begins an answer.  The buffer is given back when the peer
 * has all of the answer.  Buffers stay allocated while there is work, because getting their
 * pages costs more than filling them.  If an RDMA device reads the buffers, all of them lie in
 * memory that is registered with the device.
 */
#include "peer/answering/server_private.h"

#include "base/clock.h"

/* The transport has sent the buffer, or the transport is gone. */
static void release_buffer(struct outgoing *o)
{
	struct piece *p = o->owner;
	struct conn *c = p->conn;
	struct peer_server *s = c->server;

	pthread_mutex_lock(&s->lock);
	p->conn = NULL;
	conn_count_buffers(c, -1);
	c->moved = clock_ms();
	if (s->first_ready) /* a client may have waited for a buffer */
		pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
}

struct piece *piece_take(struct peer_server *s, struct conn *c)
{
	struct piece *p = s->pieces, *free_piece = NULL;

	for (unsigned i = 0; i < s->config->buffers; i++) {
		if (p[i].conn)
			continue;
		free_piece = &p[i];
		if (p[i].buffer)
			break;
	}
	free_piece->conn = c;
	s->pieces_taken++;
	conn_count_buffers(c, 1);
	return free_piece;
}

void server_free_buffers(struct peer_server *s)
{
	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->config->buffers && s->pieces_taken == s->pieces_taken_before;
	     i++)
		if (!s->pieces[i].conn) {
			answer_buffer_free(s->pieces[i].buffer);
			s->pieces[i].buffer = NULL;
		}
	s->pieces_taken_before = s->pieces_taken;
	pthread_mutex_unlock(&s->lock);
}

bool piece_make_ready(struct piece *p)
{
	struct peer_server *s = p->conn->server;
	size_t at = (size_t)(p - s->pieces) * ANSWER_BUFFER_BYTES;

	if (!p->buffer)
		p->buffer = answer_buffer_new(s->pages ? s->pages + at : NULL);
	if (!p->buffer)
		return false;
	p->buffer->owner = p;
	p->buffer->release = release_buffer;
	return true;
}

void piece_put(struct piece *p)
{
	struct outgoing unused = {.owner = p};

	release_buffer(&unused);
}
