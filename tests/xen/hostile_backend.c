/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hostile backend in dom0. It takes the place of vreadd for one device and breaks one rule of
 * vreadif.h towards a guest that runs xen-vreadfront. shared/test_frontend.py runs it.
 *
 *   hostile_backend DOMID DEVID ATTACK
 *
 * Prints "connected". Then answers all requests correctly, except for the answer that ATTACK is
 * about. When the frontend closes, prints "frontend closed" and closes as well. On SIGTERM it
 * closes first.
 *
 * "keeps-pages" keeps what it has mapped of the pool: on SIGTERM only the ring goes, as if it had
 * been killed while an adapter holds the pages; prints "ring gone". A second SIGTERM ends it.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xenevtchn.h>
#include <xengnttab.h>
#include <xenstore.h>

#include "vread-nodes.h"
#include "vread-ring-user.h"

#define WAIT_TENTHS 1200
#define HANDLE 7
#define KEY_BYTE 'k' /* as vread_holder.c */
#define MAX_PAGES (VREAD_MAX_OPEN_DATA / VREAD_PAGE_SIZE)

enum { INITIALISING = 1, INIT_WAIT, INITIALISED, CONNECTED, CLOSING, CLOSED };

struct back {
	unsigned domid, devid;
	struct xs_handle *xs;
	xengnttab_handle *gnttab;
	xenevtchn_handle *evtchn;
	xenevtchn_port_or_error_t port;
	uint8_t *page; /* the ring */
	struct vread_back_ring ring;
	const char *attack;
	const uint8_t *kept[MAX_PAGES]; /* pages of the last KEYS, or of the first READ */
	uint32_t num_kept;
};

static volatile sig_atomic_t terminated;

static void on_signal(int number)
{
	(void)number;
	terminated = 1;
}

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(errno));
	exit(1);
}

/* ---- xenstore ---- */

static void put(struct back *b, const char *node, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "/local/domain/0/backend/vread/%u/%u/%s", b->domid, b->devid,
		 node);
	if (!xs_write(b->xs, XBT_NULL, path, text, (unsigned)strlen(text)))
		die("cannot write %s", path);
}

static void put_state(struct back *b, unsigned state)
{
	char text[8];

	snprintf(text, sizeof(text), "%u", state);
	put(b, VREAD_NODE_STATE, text);
}

/* 0 if there is no such node. */
static unsigned long front_number(struct back *b, const char *node)
{
	char path[128], *text;
	unsigned long value;
	unsigned length;

	snprintf(path, sizeof(path), "/local/domain/%u/device/vread/%u/%s", b->domid, b->devid,
		 node);
	text = xs_read(b->xs, XBT_NULL, path, &length);
	value = text ? strtoul(text, NULL, 10) : 0;
	free(text);
	return value;
}

static void wait_front(struct back *b, unsigned state)
{
	for (int i = 0; i < WAIT_TENTHS; i++, usleep(100000))
		if (front_number(b, VREAD_NODE_STATE) == state)
			return;
	errno = ETIMEDOUT;
	die("frontend state is %lu, wanted %u", front_number(b, VREAD_NODE_STATE), state);
}

/* ---- pages of the pool ---- */

static void *map_page(struct back *b, uint32_t ref)
{
	void *page = xengnttab_map_grant_ref(b->gnttab, b->domid, ref, PROT_READ);

	if (!page)
		die("cannot map reference %u", ref);
	return page;
}

/* The reference of a page of the pool. */
static uint32_t pool_ref(struct back *b, uint32_t page)
{
	uint32_t next = (uint32_t)front_number(b, VREAD_NODE_POOL_DIRECTORY), ref;

	for (;; page -= VREAD_DIRECTORY_REFS) {
		struct vread_pool_directory *directory = map_page(b, next);

		next = directory->gref_next_page;
		ref = directory->gref[page % VREAD_DIRECTORY_REFS];
		xengnttab_unmap(b->gnttab, directory, 1);
		if (page < VREAD_DIRECTORY_REFS)
			return ref;
	}
}

/* Maps the first `pages` pages of a request and keeps the mappings beyond the answer. */
static void keep_pages(struct back *b, const struct vread_request *req, uint32_t pages)
{
	for (; b->num_kept < pages && b->num_kept < MAX_PAGES; b->num_kept++)
		b->kept[b->num_kept] = map_page(b, pool_ref(b, req->pool_page + b->num_kept));
}

static unsigned bytes_of_keys(const struct back *b)
{
	unsigned found = 0;

	for (uint32_t i = 0; i < b->num_kept; i++)
		for (size_t at = 0; at < VREAD_PAGE_SIZE; at++)
			found += b->kept[i][at] == KEY_BYTE;
	return found;
}

static void forget_pages(struct back *b)
{
	while (b->num_kept)
		xengnttab_unmap(b->gnttab, (void *)b->kept[--b->num_kept], 1);
}

/* Prints how many bytes of keys its mappings show: at KEYS, and at the next OPEN. */
static void look_for_keys(struct back *b, const struct vread_request *req)
{
	if (req->operation == VREAD_OP_KEYS)
		keep_pages(b, req, req->pool_pages);
	else if (req->operation != VREAD_OP_OPEN || !b->num_kept)
		return;
	printf("%u bytes of keys\n", bytes_of_keys(b));
	if (req->operation == VREAD_OP_OPEN)
		forget_pages(b);
}

/* ---- answers ---- */

static bool is(const struct back *b, const char *attack)
{
	return !strcmp(b->attack, attack);
}

static void respond(struct back *b, const struct vread_response *rsp)
{
	*RING_GET_RESPONSE(&b->ring, b->ring.rsp_prod_pvt) = *rsp;
	b->ring.rsp_prod_pvt++;
}

static struct vread_response honest(const struct vread_request *req)
{
	struct vread_response rsp = {.id = req->id, .operation = req->operation};

	if (req->operation == VREAD_OP_OPEN)
		rsp.handle = HANDLE;
	if (req->operation == VREAD_OP_OPEN || req->operation == VREAD_OP_STAT) {
		rsp.u.block.length = 1U << 30;
		rsp.u.block.genstamp = req->u.open.genstamp;
	}
	if (req->operation == VREAD_OP_READ)
		rsp.status = (int32_t)req->u.read.length;
	return rsp;
}

/* Breaks the rule of b->attack in the answer to each OPEN or READ that the attack is about. */
static void answer(struct back *b, const struct vread_request *req)
{
	struct vread_response rsp = honest(req);
	bool opening = req->operation == VREAD_OP_OPEN, reading = req->operation == VREAD_OP_READ;

	if (is(b, "keeps-keys"))
		look_for_keys(b, req);
	if (reading && is(b, "keeps-pages")) {
		keep_pages(b, req, 1);
		return;
	}
	if (is(b, "silent-death"))
		b->page[VREAD_RING_ALIVE_OFFSET] = 0;
	if (is(b, "silent") || is(b, "silent-death") || (reading && is(b, "silent-reads")) ||
	    (opening && is(b, "silent-opens")))
		return;
	if (opening && is(b, "private-errno"))
		rsp.status = -512;
	if (opening && is(b, "id-out-of-range"))
		rsp.id = (uint16_t)RING_SIZE(&b->ring);
	if (opening && is(b, "id-not-in-flight"))
		rsp.id ^= 1;
	if (opening && is(b, "wrong-operation"))
		rsp.operation = VREAD_OP_READ;
	if (opening && is(b, "reserved-set"))
		rsp.reserved = 1;
	if (opening && is(b, "positive-status"))
		rsp.status = 1;
	if (reading && is(b, "too-many-bytes"))
		rsp.status++;
	respond(b, &rsp);
	if (opening && is(b, "answer-twice"))
		respond(b, &rsp);
	if (opening && is(b, "overflow"))
		b->ring.rsp_prod_pvt += RING_SIZE(&b->ring);
	if (opening && is(b, "backwards"))
		b->ring.rsp_prod_pvt -= 2;
}

static void take_requests(struct back *b)
{
	struct vread_request req;
	int more, notify;

	do {
		while (b->ring.req_cons != b->ring.sring->req_prod) {
			xen_rmb();
			memcpy(&req, RING_GET_REQUEST(&b->ring, b->ring.req_cons), sizeof(req));
			b->ring.req_cons++;
			answer(b, &req);
		}
		b->ring.sring->req_event = b->ring.req_cons + 1;
		xen_mb();
		more = b->ring.req_cons != b->ring.sring->req_prod;
	} while (more);
	RING_PUSH_RESPONSES_AND_CHECK_NOTIFY(&b->ring, notify);
	(void)notify;
	if (b->page[VREAD_RING_ALIVE_OFFSET])
		xenevtchn_notify(b->evtchn, (evtchn_port_t)b->port);
}

/* ---- life ---- */

static void offer(struct back *b)
{
	put(b, VREAD_NODE_VERSIONS, "1");
	put(b, VREAD_NODE_MAX_QUEUES, "1");
	put(b, VREAD_NODE_MAX_RING_PAGE_ORDER, "0");
	put(b, VREAD_NODE_MAX_POOL_PAGES, "32768");
	put_state(b, INIT_WAIT);
	wait_front(b, INITIALISED);
}

static void connect_front(struct back *b)
{
	char node[64];
	uint32_t ref;

	snprintf(node, sizeof(node), VREAD_NODE_EVENT_CHANNEL, 0);
	b->port = xenevtchn_bind_interdomain(b->evtchn, b->domid,
					     (evtchn_port_t)front_number(b, node));
	if (b->port < 0)
		die("cannot bind the event channel");
	snprintf(node, sizeof(node), VREAD_NODE_RING_REF, 0, 0);
	ref = (uint32_t)front_number(b, node);
	b->page = xengnttab_map_grant_ref_notify(b->gnttab, b->domid, ref, PROT_READ | PROT_WRITE,
						 VREAD_RING_ALIVE_OFFSET, (evtchn_port_t)b->port);
	if (!b->page)
		die("cannot map the ring");
	BACK_RING_INIT(&b->ring, (struct vread_sring *)b->page, VREAD_PAGE_SIZE);
	b->page[VREAD_RING_ALIVE_OFFSET] = !is(b, "dead-on-arrival");
	put_state(b, CONNECTED);
	puts("connected");
	fflush(stdout);
}

static void serve(struct back *b)
{
	struct pollfd fd = {.fd = xenevtchn_fd(b->evtchn), .events = POLLIN};

	if (is(b, "event-storm"))
		for (int i = 0; i < 100000; i++)
			xenevtchn_notify(b->evtchn, (evtchn_port_t)b->port);
	while (!terminated) {
		if (poll(&fd, 1, 100) > 0) {
			int port = xenevtchn_pending(b->evtchn);

			if (port >= 0)
				xenevtchn_unmask(b->evtchn, (evtchn_port_t)port);
			take_requests(b);
		}
		if (front_number(b, VREAD_NODE_STATE) >= CLOSING) {
			puts("frontend closed");
			return;
		}
	}
	puts("closing");
}

/* Its ring goes, and what it keeps stays, until the next SIGTERM. */
static void linger(struct back *b)
{
	sigset_t set, before;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &before);
	terminated = 0;
	xengnttab_unmap(b->gnttab, b->page, 1);
	puts("ring gone");
	fflush(stdout);
	while (!terminated)
		sigsuspend(&before);
	forget_pages(b);
}

static void close_down(struct back *b)
{
	put_state(b, CLOSING);
	xengnttab_unmap(b->gnttab, b->page, 1);
	xenevtchn_unbind(b->evtchn, (evtchn_port_t)b->port);
	put_state(b, CLOSED);
	wait_front(b, CLOSED);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct back b = {0};

	if (argc != 4) {
		fprintf(stderr, "usage: hostile_backend DOMID DEVID ATTACK\n");
		return 2;
	}
	sigaction(SIGTERM, &action, NULL);
	b.domid = (unsigned)strtoul(argv[1], NULL, 10);
	b.devid = (unsigned)strtoul(argv[2], NULL, 10);
	b.attack = argv[3];
	b.xs = xs_open(0);
	b.gnttab = xengnttab_open(NULL, 0);
	b.evtchn = xenevtchn_open(NULL, 0);
	if (!b.xs || !b.gnttab || !b.evtchn)
		die("cannot reach Xen");
	offer(&b);
	connect_front(&b);
	serve(&b);
	if (is(&b, "keeps-pages"))
		linger(&b);
	else
		close_down(&b);
	return 0;
}
