/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answering half of rdma-pair (rdma_pair.h). It serves one connection after the other. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rdma_pair.h"

#define BUFFERS 32U
#define PIECE (1U << 20)
#define BUFFER (PIECE + 4096U)
#define MEMORY ((size_t)BUFFERS * BUFFER + PAIR_PLANTED_BYTES) /* the last bytes are planted */

struct buffer {
	struct outgoing out;
	struct answerer *answerer;
	struct buffer *next_free;
};

struct question {
	uint64_t id;
	struct message_read read;
	uint32_t done;
};

struct answerer {
	struct transport *transport;
	uint8_t *memory;
	struct rdma_memory *registered;
	struct buffer buffers[BUFFERS], *free_buffers;
	struct question questions[2 * PAIR_CREDITS];
	unsigned first, count;
	const struct pair_options *options;
	struct rdma_target first_target; /* of the first READ */
	unsigned asked;
	uint64_t last_id;
	bool over;
};

static void release(struct outgoing *o)
{
	struct buffer *b = (struct buffer *)o;

	b->next_free = b->answerer->free_buffers;
	b->answerer->free_buffers = b;
}

static void make_buffers(struct answerer *a, struct rdma *r)
{
	a->memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (a->memory == MAP_FAILED ||
	    rdma_memory_new(r, RDMA_ANSWERS, a->memory, MEMORY, &a->registered))
		pair_die("no memory");
	for (unsigned i = 0; i < BUFFERS; i++) {
		a->buffers[i].answerer = a;
		a->buffers[i].out.release = release;
		a->buffers[i].out.message = a->memory + (size_t)i * BUFFER;
		release(&a->buffers[i].out);
	}
}

static struct outgoing *take_buffer(struct answerer *a)
{
	struct buffer *b = a->free_buffers;

	a->free_buffers = b->next_free;
	return &b->out;
}

static void send_bytes(struct answerer *a, uint64_t id, uint64_t offset, uint32_t length, bool more)
{
	struct outgoing *o = take_buffer(a);
	uint8_t *data = o->message + MESSAGE_HEADER;

	message_put_data(o->message, id, length, more, length ? PAIR_SUM : 0);
	for (uint32_t i = 0; i < length; i++)
		data[i] = pair_byte(offset + i);
	o->length = MESSAGE_HEADER + length;
	a->transport->ops->send(a->transport, o);
}

static void send_failed(struct answerer *a, uint64_t id)
{
	struct outgoing *o = take_buffer(a);

	o->length = message_put_failed(o->message, id, -ENOENT);
	a->transport->ops->send(a->transport, o);
}

/* Sends the next piece of the answer to q. True if this was the last piece. */
static bool answer_piece(struct answerer *a, struct question *q)
{
	uint32_t left = q->read.length - q->done, length = left < PIECE ? left : PIECE;

	if (q->read.handle == PAIR_NEVER)
		return true;
	if (q->read.handle == PAIR_ENDS)
		length = left = 0;
	if (q->read.handle == PAIR_FAILS && q->done) {
		send_failed(a, q->id);
		return true;
	}
	if (q->read.handle == PAIR_FAILS)
		left = 2 * length; /* more is promised */
	if (q->read.handle == PAIR_ANSWERS_MORE && a->last_id)
		send_failed(a, a->last_id);
	a->last_id = q->id;
	send_bytes(a, q->id, q->read.offset + q->done, length, left > length);
	q->done += length;
	return left == length;
}

static void answer_all(struct answerer *a)
{
	while (a->count && a->free_buffers && a->free_buffers->next_free) {
		if (!answer_piece(a, &a->questions[a->first]))
			continue;
		a->first = (a->first + 1) % (2 * PAIR_CREDITS);
		a->count--;
	}
}

static void plant(struct answerer *a, const struct rdma_target *target)
{
	pair_plant(a->transport, a->memory + (size_t)BUFFERS * BUFFER, target);
}

static int enqueue(struct answerer *a, const struct question *q)
{
	if (a->count == 2 * PAIR_CREDITS)
		return -EPROTO;
	a->questions[(a->first + a->count++) % (2 * PAIR_CREDITS)] = *q;
	return 0;
}

static int on_arrived(void *ctx, const struct message_header *h, const uint8_t *body)
{
	struct answerer *a = ctx;
	struct question q = {.id = h->id};

	if (h->type != MESSAGE_READ || message_get_read(body, h->length, &q.read))
		return -EPROTO;
	if (a->options->steals) {
		const struct rdma_target stolen = {.address = q.read.offset, .key = q.read.handle};

		plant(a, &stolen);
		q.read.handle = PAIR_BYTES;
	}
	if (a->asked++ == 0) {
		a->first_target = *pair_target(a->transport, h->id);
		fprintf(stderr, "target %" PRIu64 " %u\n", a->first_target.address,
			a->first_target.key);
	}
	if (q.read.handle == PAIR_WRITES_LATE && a->asked == PAIR_CREDITS + 1)
		plant(a, &a->first_target);
	return enqueue(a, &q);
}

static int on_place(void *ctx, const struct message_header *h, uint8_t **ret)
{
	(void)ctx, (void)h, (void)ret;
	return -EPROTO;
}

static const struct transport_user user = {on_arrived, on_place};

static void serve(struct answerer *a, const struct pair_options *o, struct rdma_listener *l,
		  struct tls *tls)
{
	struct rdma_awaited *awaited;
	struct rdma_counters counters;
	struct rdma_secret secret;
	int r = 0;

	a->options = o;
	a->count = 0;
	a->asked = 0;
	a->last_id = 0;
	pair_secret(o, tls, &secret);
	a->transport = stream_new(tls, &user, a);
	if (rdma_await(l, &secret, &awaited))
		pair_die("rdma_await failed");
	a->transport = rdma_answer(awaited, o->credits, a->transport);
	if (!a->transport)
		pair_die("rdma_answer failed");
	pair_hello(a->transport);
	while (r >= 0) {
		rdma_listener_process(l);
		r = a->transport->ops->advance(a->transport);
		if (r >= 0) {
			answer_all(a);
			r = a->transport->ops->flush(a->transport);
		}
		if (r == 0)
			pair_wait(a->transport, rdma_listener_fd(l), 1000);
	}
	rdma_counters(a->transport, &counters);
	printf("{\"sent\": %" PRIu64 ", \"refused\": %lu, \"error\": \"%s\"}\n", counters.sent,
	       rdma_listener_refused(l), a->transport->error);
	fflush(stdout);
	a->transport->ops->free(a->transport);
}

int pair_answer(const struct pair_options *o)
{
	static struct answerer a;
	struct tls_context *context;
	struct rdma_listener *l;
	struct tls *tls;
	char *error = NULL;
	struct rdma *r;
	int listener;

	if (rdma_new(&r))
		pair_die("no RDMA");
	if (tls_context_new(&o->config, &context, &error) ||
	    rdma_listener_new(r, (const struct sockaddr *)&o->address.socket, &l, &error))
		pair_die("%s", error);
	make_buffers(&a, r);
	listener = pair_listen(o);
	fprintf(stderr, "listening\n");
	for (unsigned served = 0; !o->connections || served < o->connections;) {
		tls = pair_accept(listener, context);
		if (!tls)
			continue;
		serve(&a, o, l, tls);
		pair_step_clock();
		served++;
	}
	close(listener);
	rdma_listener_free(l);
	rdma_memory_free(a.registered);
	rdma_free(r);
	tls_context_free(context);
	return 0;
}
