/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hostile frontend in user space of a domU. It takes the place of the kernel module for one vread
 * device and breaks one rule of vreadif.h. shared/test_faults.py runs it.
 *
 *   hostile_frontend DEVID ATTACK
 *
 * Prints one line with what the backend did: "connected", "refused" (closed without connecting) or
 * "closed" (connected, then closed). Exits with 0: the test judges the line. Needs
 * /dev/xen/{gntalloc,evtchn,xenbus}, and no xen-vreadfront in the guest.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xenevtchn.h>
#include <xengnttab.h>
#include <xenstore.h>

#include "vread-nodes.h"
#include "vread-ring-user.h"

#define POOL_PAGES VREAD_MIN_POOL_PAGES
#define WAIT_TENTHS 1200

enum { INIT_WAIT = 2, INITIALISED = 3, CONNECTED = 4, CLOSING = 5, CLOSED = 6 };

struct front {
	unsigned devid;
	struct xs_handle *xs;
	char *backend;
	xengntshr_handle *share;
	xenevtchn_handle *evtchn;
	evtchn_port_t port;
	uint32_t ring_ref, directory_ref, pool_ref[POOL_PAGES];
	struct vread_sring *sring;
	struct vread_front_ring ring;
	struct vread_pool_directory *directory;
	uint8_t *pool;
};

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(errno));
	exit(1);
}

static void put(struct front *f, const char *node, uint64_t value)
{
	char path[96], text[24];

	snprintf(path, sizeof(path), "device/vread/%u/%s", f->devid, node);
	snprintf(text, sizeof(text), "%" PRIu64, value);
	if (!xs_write(f->xs, XBT_NULL, path, text, (unsigned)strlen(text)))
		die("cannot write %s", path);
}

static unsigned backend_state(struct front *f)
{
	char path[256];
	unsigned length, state = 0;
	char *text;

	snprintf(path, sizeof(path), "%s/%s", f->backend, VREAD_NODE_STATE);
	text = xs_read(f->xs, XBT_NULL, path, &length);
	if (text)
		state = (unsigned)strtoul(text, NULL, 10);
	free(text);
	return state;
}

static unsigned wait_state(struct front *f, unsigned low, unsigned high)
{
	unsigned state = 0;

	for (int i = 0; i < WAIT_TENTHS; i++) {
		state = backend_state(f);
		if (state >= low && state <= high)
			return state;
		usleep(100000);
	}
	errno = ETIMEDOUT;
	die("backend state is %u, wanted %u to %u", state, low, high);
}

static void set_up(struct front *f, unsigned devid)
{
	char path[96];
	unsigned length;
	int port;

	f->devid = devid;
	f->xs = xs_open(0);
	if (!f->xs)
		die("cannot reach xenstore");
	snprintf(path, sizeof(path), "device/vread/%u/%s", devid, VREAD_NODE_BACKEND);
	f->backend = xs_read(f->xs, XBT_NULL, path, &length);
	if (!f->backend)
		die("no node %s", path);
	f->share = xengntshr_open(NULL, 0);
	f->evtchn = xenevtchn_open(NULL, 0);
	if (!f->share || !f->evtchn)
		die("cannot open /dev/xen/gntalloc or /dev/xen/evtchn");
	f->sring = xengntshr_share_pages(f->share, 0, 1, &f->ring_ref, 1);
	f->directory = xengntshr_share_pages(f->share, 0, 1, &f->directory_ref, 1);
	f->pool = xengntshr_share_pages(f->share, 0, POOL_PAGES, f->pool_ref, 1);
	if (!f->sring || !f->directory || !f->pool)
		die("cannot share pages");
	port = xenevtchn_bind_unbound_port(f->evtchn, 0);
	if (port < 0)
		die("cannot bind an event channel");
	f->port = (evtchn_port_t)port;
	SHARED_RING_INIT(f->sring);
	FRONT_RING_INIT(&f->ring, f->sring, VREAD_PAGE_SIZE);
	for (unsigned i = 0; i < POOL_PAGES; i++)
		f->directory->gref[i] = f->pool_ref[i];
}

/* Writes the nodes that a correct frontend would write. */
static void publish(struct front *f)
{
	char node[64];

	put(f, VREAD_NODE_VERSION, 1);
	put(f, VREAD_NODE_NUM_QUEUES, 1);
	put(f, VREAD_NODE_RING_PAGE_ORDER, 0);
	snprintf(node, sizeof(node), VREAD_NODE_RING_REF, 0, 0);
	put(f, node, f->ring_ref);
	snprintf(node, sizeof(node), VREAD_NODE_EVENT_CHANNEL, 0);
	put(f, node, f->port);
	put(f, VREAD_NODE_POOL_PAGES, POOL_PAGES);
	put(f, VREAD_NODE_POOL_DIRECTORY, f->directory_ref);
	snprintf(node, sizeof(node), "device/vread/%u/%s", f->devid, VREAD_NODE_ROLE);
	if (!xs_write(f->xs, XBT_NULL, node, "client", 6))
		die("cannot write %s", node);
}

/* ---- attacks before Initialised -------------------------------------------- */

static void absurd_pool(struct front *f)
{
	put(f, VREAD_NODE_POOL_PAGES, 4294967295U);
}

static void absurd_queues(struct front *f)
{
	put(f, VREAD_NODE_NUM_QUEUES, 1000000);
}

static void absurd_order(struct front *f)
{
	put(f, VREAD_NODE_RING_PAGE_ORDER, 63);
}

static void foreign_ring(struct front *f)
{
	char node[64];

	snprintf(node, sizeof(node), VREAD_NODE_RING_REF, 0, 0);
	put(f, node, 4000000000U); /* no such grant */
}

static void foreign_port(struct front *f)
{
	char node[64];

	snprintf(node, sizeof(node), VREAD_NODE_EVENT_CHANNEL, 0);
	put(f, node, 1023); /* never bound here */
}

static void one_bad_pool_page(struct front *f)
{
	f->directory->gref[POOL_PAGES - 1] = 4000000000U;
}

static void endless_directory(struct front *f)
{
	f->directory->gref_next_page = f->directory_ref;
}

static void short_directory(struct front *f)
{
	put(f, VREAD_NODE_POOL_PAGES, VREAD_DIRECTORY_REFS + 1);
}

/* ---- attacks on the ring -------------------------------------------------- */

static void send(struct front *f, uint16_t id, uint8_t operation)
{
	struct vread_request *request = RING_GET_REQUEST(&f->ring, f->ring.req_prod_pvt);

	memset(request, 0, sizeof(*request));
	request->id = id;
	request->operation = operation;
	f->ring.req_prod_pvt++;
}

static void kick(struct front *f)
{
	RING_PUSH_REQUESTS(&f->ring);
	if (xenevtchn_notify(f->evtchn, f->port))
		die("cannot notify");
}

static void overflow(struct front *f)
{
	f->ring.req_prod_pvt += RING_SIZE(&f->ring) + 1;
	kick(f);
}

static void id_out_of_range(struct front *f)
{
	send(f, (uint16_t)RING_SIZE(&f->ring), VREAD_OP_STAT);
	kick(f);
}

static void id_twice(struct front *f)
{
	send(f, 3, VREAD_OP_STAT);
	send(f, 3, VREAD_OP_STAT);
	kick(f);
}

/* Sends 100,000 events without requests, then closes correctly. */
static void event_storm(struct front *f)
{
	for (int i = 0; i < 100000; i++)
		xenevtchn_notify(f->evtchn, f->port);
	put(f, VREAD_NODE_STATE, CLOSING);
}

static const struct attack {
	const char *name;
	void (*before)(struct front *f);
	void (*after)(struct front *f);
} attacks[] = {
	{"none", NULL, NULL},
	{"absurd-pool", absurd_pool, NULL},
	{"absurd-queues", absurd_queues, NULL},
	{"absurd-order", absurd_order, NULL},
	{"foreign-ring", foreign_ring, NULL},
	{"foreign-port", foreign_port, NULL},
	{"one-bad-pool-page", one_bad_pool_page, NULL},
	{"endless-directory", endless_directory, NULL},
	{"short-directory", short_directory, NULL},
	{"overflow", NULL, overflow},
	{"id-out-of-range", NULL, id_out_of_range},
	{"id-twice", NULL, id_twice},
	{"event-storm", NULL, event_storm},
};

static const struct attack *find_attack(const char *name)
{
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
		if (!strcmp(attacks[i].name, name))
			return &attacks[i];
	errno = EINVAL;
	die("no attack \"%s\"", name);
}

int main(int argc, char **argv)
{
	struct front f = {0};
	const struct attack *attack;
	const char *outcome = "refused";

	if (argc != 3) {
		fprintf(stderr, "usage: hostile_frontend DEVID ATTACK\n");
		return 2;
	}
	attack = find_attack(argv[2]);
	set_up(&f, (unsigned)strtoul(argv[1], NULL, 10));
	put(&f, VREAD_NODE_STATE, 1);
	wait_state(&f, INIT_WAIT, INIT_WAIT);
	publish(&f);
	if (attack->before)
		attack->before(&f);
	put(&f, VREAD_NODE_STATE, INITIALISED);
	if (wait_state(&f, CONNECTED, CLOSED) == CONNECTED) {
		outcome = "connected";
		put(&f, VREAD_NODE_STATE, CONNECTED);
		if (attack->after) {
			attack->after(&f);
			wait_state(&f, CLOSING, CLOSED);
			outcome = "closed";
		}
	}
	puts(outcome);
	put(&f, VREAD_NODE_STATE, CLOSING);
	wait_state(&f, CLOSED, CLOSED);
	put(&f, VREAD_NODE_STATE, CLOSED);
	return 0;
}
