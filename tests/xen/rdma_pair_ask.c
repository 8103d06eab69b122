/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The asking half of rdma-pair (rdma_pair.h). It keeps up to PAIR_CREDITS READs under way, each
 * into its own part of the memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xengnttab.h>

#include "rdma_pair.h"

#define PAGE 4096U
#define QUIET_MS 700U /* waits so long for bytes that might still land */
#define ID_USES 256U

struct asker {
	const struct pair_options *o;
	struct transport *transport;
	bool may_dial;
	uint8_t *memory;
	size_t size;
	struct rdma_memory *registered;
	uint64_t base; /* offset of the first READ */
	unsigned begun, answered, failed, empty, wrong;
	uint64_t bytes;
	struct {
		uint64_t id; /* 0: free */
		uint64_t offset;
	} slots[PAIR_CREDITS];
};

static uint8_t *place_of(const struct asker *a, unsigned i)
{
	return a->memory + (size_t)i * a->o->length;
}

/* ---- memory ---------------------------------------------------------------------------- */

static uint8_t *map_pages(const struct asker *a)
{
	uint32_t count = (uint32_t)(a->size / PAGE),
		 *references = calloc(count, sizeof(*references));
	xengnttab_handle *grants = xengnttab_open(NULL, 0);
	uint8_t *pages;

	for (uint32_t i = 0; i < count; i++)
		if (scanf("%" SCNu32, &references[i]) != 1)
			pair_die("%u grant references are needed", count);
	pages = xengnttab_map_domain_grant_refs(grants, count, (uint32_t)a->o->domid, references,
						PROT_READ | PROT_WRITE);
	if (!pages)
		pair_die("cannot map pages of domain %d: %s", a->o->domid, strerror(errno));
	free(references);
	return pages;
}

static void make_memory(struct asker *a, struct rdma *r)
{
	a->size = (size_t)PAIR_CREDITS * a->o->length;
	a->memory = a->o->domid >= 0 ? map_pages(a)
				     : mmap(NULL, a->size, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (a->memory == MAP_FAILED)
		pair_die("no memory");
	if (!a->o->bounce && rdma_memory_new(r, RDMA_ASKS, a->memory, a->size, &a->registered))
		pair_die("no memory");
}

/* ---- READs ----------------------------------------------------------------------------- */

static void release(struct outgoing *m)
{
	free(m);
}

static void ask(struct asker *a, unsigned i)
{
	struct outgoing *m = calloc(1, sizeof(*m) + MESSAGE_MAX);
	const struct message_read read = {.handle = a->o->handle,
					  .length = a->o->length,
					  .offset = a->base + a->begun * 1000003ULL};

	a->slots[i].offset = read.offset;
	a->slots[i].id = ((uint64_t)a->begun + 1) * ID_USES + i;
	a->begun++;
	memset(place_of(a, i), 0, a->o->length);
	m->release = release;
	m->message = (uint8_t *)(m + 1);
	m->length = message_put_read(m->message, a->slots[i].id, &read);
	a->transport->ops->send(a->transport, m);
}

static bool has_input(void)
{
	struct pollfd fd = {STDIN_FILENO, POLLIN, 0};

	return poll(&fd, 1, 0) == 1;
}

static void ask_all(struct asker *a)
{
	unsigned reads = a->o->reads - (a->o->hold && !has_input());

	for (unsigned i = 0; i < PAIR_CREDITS && a->begun < reads; i++)
		if (!a->slots[i].id)
			ask(a, i);
}

static void check(struct asker *a, unsigned i, uint32_t length)
{
	const uint8_t *place = place_of(a, i);

	for (uint32_t at = 0; at < length; at++) {
		if (place[at] != pair_byte(a->slots[i].offset + at)) {
			a->wrong++;
			return;
		}
	}
	if (length != a->o->length)
		a->empty++;
	a->bytes += length;
}

static int on_place(void *ctx, const struct message_header *h, uint8_t **ret)
{
	struct asker *a = ctx;
	unsigned i = h->id % ID_USES;

	if (i >= PAIR_CREDITS || a->slots[i].id != h->id || h->length > a->o->length)
		return -EPROTO;
	*ret = place_of(a, i);
	return 0;
}

static int on_arrived(void *ctx, const struct message_header *h, const uint8_t *body)
{
	struct asker *a = ctx;
	unsigned i = h->id % ID_USES;

	(void)body;
	if (h->type == MESSAGE_HELLO) {
		a->may_dial = true;
		return 0;
	}
	if (i >= PAIR_CREDITS || a->slots[i].id != h->id)
		return -EPROTO;
	if (h->type == MESSAGE_DATA && !(h->flags & MESSAGE_MORE) && h->length &&
	    h->crc32c != PAIR_SUM)
		pair_die("an answer with another CRC32C");
	if (h->type == MESSAGE_FAILED)
		a->failed++;
	else
		check(a, i, h->length);
	a->slots[i].id = 0;
	if (a->answered++ == 0)
		fprintf(stderr, "answered\n");
	return 0;
}

static const struct transport_user user = {on_arrived, on_place};

/* ---- the whole --------------------------------------------------------------------------- */

/* Returns false if there is no transport over RDMA.  Then *ret_error says why, and a->transport is
 * the one over TLS. */
static bool connect_rdma(struct asker *a, struct rdma *r, struct tls_context *context,
			 char *ret_error, size_t size)
{
	struct tls *tls = pair_connect(a->o, context);
	const struct rdma_choice choice = {.or_tls = false, .give_up = a->o->give_up};
	struct transport *transport;
	struct rdma_secret secret;
	char *error = NULL;

	pair_secret(a->o, tls, &secret);
	a->transport = stream_new(tls, &user, a);
	while (!a->may_dial) {
		if (a->transport->ops->advance(a->transport) < 0)
			pair_die("no hello: %s", a->transport->error);
		if (!a->may_dial)
			pair_wait(a->transport, -1, -1);
	}
	transport = rdma_ask(r, (const struct sockaddr *)&a->o->address.socket, &secret,
			     PAIR_CREDITS, &choice, a->transport, &error);
	if (transport)
		a->transport = transport;
	else
		snprintf(ret_error, size, "rdma_ask: %s", error);
	free(error);
	return transport;
}

static bool read_all(struct asker *a)
{
	uint64_t until = a->o->timeout_ms ? pair_now_ms() + a->o->timeout_ms : UINT64_MAX;
	int more;

	while (a->answered < a->o->reads && pair_now_ms() < until) {
		ask_all(a);
		more = a->transport->ops->advance(a->transport);
		if (more < 0)
			return false;
		if (a->o->abandon && a->answered >= a->o->abandon)
			return true;
		if (a->o->steals && has_input())
			return true;
		if (!more)
			pair_wait(a->transport, a->o->steals ? STDIN_FILENO : -1, 100);
	}
	return true;
}

/* True if PAIR_PLANTED_BYTES that a hostile answerer wrote are in the memory. */
static bool has_planted(const struct asker *a)
{
	uint8_t planted[PAIR_PLANTED_BYTES];

	memset(planted, PAIR_PLANTED, sizeof(planted));
	return memmem(a->memory, a->size, planted, sizeof(planted)) != NULL;
}

/* Counts the bytes that change although nothing may land any more. */
static size_t count_late(const struct asker *a)
{
	uint8_t *copy = malloc(a->size);
	size_t late = 0;

	memcpy(copy, a->memory, a->size);
	for (uint64_t until = pair_now_ms() + QUIET_MS; pair_now_ms() < until;)
		poll(NULL, 0, 50);
	for (size_t i = 0; i < a->size; i++)
		late += copy[i] != a->memory[i];
	free(copy);
	return late;
}

/* Sends a READ over a second connection, to a hostile answerer.  The READ tells it the place of a
 * READ of the first connection, which standard input tells.  Returns when that READ is answered, or
 * when the second connection is over: then *ret_error is why. */
static void steal(const struct pair_options *options, struct rdma *r, struct tls_context *context,
		  char *ret_error, size_t size)
{
	struct pair_options o = *options;
	struct sockaddr_in *address = (struct sockaddr_in *)&o.address.socket;
	struct asker thief = {.o = &o};

	if (scanf("%" SCNu64 " %u", &thief.base, &o.handle) != 2)
		pair_die("an address and a key are needed");
	address->sin_port = htons(ntohs(address->sin_port) + 1);
	o.reads = 1;
	o.steals = false;
	make_memory(&thief, r);
	if (connect_rdma(&thief, r, context, ret_error, size)) {
		read_all(&thief);
		snprintf(ret_error, size, "%s", thief.transport->error);
	}
	thief.transport->ops->free(thief.transport);
	rdma_memory_free(thief.registered);
}

int pair_ask(const struct pair_options *o)
{
	struct asker a = {.o = o};
	struct tls_context *context;
	struct rdma_counters counters = {0};
	char *error = NULL, text[sizeof(a.transport->error)], stolen[sizeof(text)] = "";
	struct rdma *r;
	uint64_t begin, took = 0;

	if (rdma_new(&r))
		pair_die("no RDMA");
	if (tls_context_new(&o->config, &context, &error))
		pair_die("%s", error);
	make_memory(&a, r);
	if (connect_rdma(&a, r, context, text, sizeof(text))) {
		begin = pair_now_ms();
		read_all(&a);
		if (o->steals)
			steal(o, r, context, stolen, sizeof(stolen));
		took = pair_now_ms() - begin;
		rdma_counters(a.transport, &counters);
		memcpy(text, a.transport->error, sizeof(text));
	}
	a.transport->ops->free(a.transport);
	printf("{\"answered\": %u, \"failed\": %u, \"short\": %u, \"wrong\": %u, \"bytes\": "
	       "%" PRIu64 ", \"direct\": %" PRIu64 ", \"bounced\": %" PRIu64
	       ", \"late\": %zu, \"planted\": %s, \"thief\": \"%s\", \"ms\": %" PRIu64
	       ", \"error\": \"%s\"}\n",
	       a.answered, a.failed, a.empty, a.wrong, a.bytes, counters.direct, counters.bounced,
	       count_late(&a), has_planted(&a) ? "true" : "false", stolen, took, text);
	rdma_memory_free(a.registered);
	rdma_free(r);
	tls_context_free(context);
	return 0;
}
