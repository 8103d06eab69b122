/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdma-pair - either end of the RDMA transport, without the rest of vreadd. pair/test_rdma.py runs
 * one end on each of two hosts.
 *
 *   rdma-pair ADDRESS:PORT FOLDER NAME [option=value ...]
 *
 * With peer=NAME it asks: it connects to ADDRESS:PORT, reads, prints its counts as a line of JSON,
 * and ends. Without peer=, it answers, and prints a line of JSON, an account, for each connection.
 * It ends after `connections` of them, or when it is killed. FOLDER has ca.pem, NAME.pem and
 * NAME.key. The options are fields of struct pair_options. With domid=, the asker reads grant
 * references of that domain's pages from standard input.
 */
#include "rdma_pair.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "peer/rdma/transport_private.h"

#define HANDSHAKE_MS 60000 /* emulated hosts are slow, slower if the machine is busy */
#define TIMEOUT_MS 150000U
/* A host may stand still for this time without the end of a queue pair. */
#define GIVE_UP_MS 60000U
#define CLOCK_STEP_MS 2000U

/* The transport's clock, which stands still during a connection. tests/unit/test_peer_rdma_dial.c
 * tests when the transport dials again. Certificates are checked against this clock, too. */
static _Atomic uint64_t standing;

_Noreturn void pair_die(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void pair_step_clock(void)
{
	standing += CLOCK_STEP_MS;
}

uint64_t pair_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- TLS ------------------------------------------------------------------------------- */

static bool shake_hands(struct tls *tls)
{
	int r;

	while ((r = tls_handshake(tls)) == 0) {
		struct pollfd fd = {tls_fd(tls), POLLIN | tls_wants(tls), 0};

		if (poll(&fd, 1, HANDSHAKE_MS) != 1)
			return false;
	}
	return r > 0;
}

struct tls *pair_connect(const struct pair_options *o, struct tls_context *context)
{
	uint64_t until = pair_now_ms() + HANDSHAKE_MS;
	struct tls *tls;
	int fd;

	for (;;) {
		fd = socket(o->address.socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(fd, (const struct sockaddr *)&o->address.socket, o->address.length) ==
		    0)
			break;
		close(fd);
		if (pair_now_ms() > until)
			pair_die("connect: %s", strerror(errno));
		usleep(100000);
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	tls = tls_new(context, fd, o->peer);
	if (!tls || !shake_hands(tls))
		pair_die("no TLS: %s", tls ? tls_error(tls) : "out of memory");
	return tls;
}

int pair_listen(const struct pair_options *o)
{
	int fd = socket(o->address.socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&o->address.socket, o->address.length) < 0 ||
	    listen(fd, 1) < 0)
		pair_die("listen: %s", strerror(errno));
	return fd;
}

struct tls *pair_accept(int listener, struct tls_context *context)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct tls *tls = fd < 0 ? NULL : tls_new(context, fd, NULL);

	if (tls && shake_hands(tls))
		return tls;
	tls_free(tls);
	return NULL;
}

void pair_secret(const struct pair_options *o, struct tls *tls, struct rdma_secret *ret)
{
	if (tls_export(tls, RDMA_SECRET_LABEL, (uint8_t *)ret, sizeof(*ret)))
		pair_die("no secret: %s", tls_error(tls));
	ret->key[0] ^= o->spoil_key;
	ret->name[0] ^= o->spoil_name;
}

/* ---- transports ------------------------------------------------------------------------ */

static void release_allocated(struct outgoing *m)
{
	free(m);
}

void pair_hello(struct transport *t)
{
	const struct message_hello hello = {MESSAGE_VERSION, MESSAGE_TRANSPORT_RDMA, PAIR_CREDITS};
	struct outgoing *m = calloc(1, sizeof(*m) + MESSAGE_MAX);

	m->release = release_allocated;
	m->message = (uint8_t *)(m + 1);
	m->length = message_put_hello(m->message, &hello);
	t->ops->send(t, m);
	t->ops->flush(t);
}

void pair_wait(struct transport *t, int fd, int timeout_ms)
{
	struct pollfd fds[TRANSPORT_MAX_FDS + 1];
	unsigned n = t->ops->poll(t, fds);

	fds[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
	poll(fds, n, timeout_ms);
}

/* ---- what a hostile answerer does --------------------------------------------------------- */

const struct rdma_target *pair_target(struct transport *t, uint64_t id)
{
	struct rdma_slot *s = rdma_transport_find(rdma_transport_of(t), id);

	return s ? &s->target : NULL;
}

static void keep(struct outgoing *o)
{
	(void)o;
}

/* The transport releases the oldest DATA under way when a write has completed. */
static void add_posted(struct rdma_transport *t)
{
	static struct outgoing nothing = {.release = keep};

	nothing.next = NULL;
	if (t->last_posted)
		t->last_posted->next = &nothing;
	else
		t->first_posted = &nothing;
	t->last_posted = &nothing;
}

void pair_plant(struct transport *transport, uint8_t *from, const struct rdma_target *target)
{
	struct rdma_transport *t = rdma_transport_of(transport);
	struct ibv_mr *region;

	add_posted(t);

	memset(from, PAIR_PLANTED, PAIR_PLANTED_BYTES);
	if (rdma_region_of(rdma_end_device(t->end), RDMA_ANSWERS, from, PAIR_PLANTED_BYTES,
			   &region) ||
	    rdma_end_write(t->end, from, PAIR_PLANTED_BYTES, region->lkey, target->address,
			   target->key))
		pair_die("nothing can be planted: %s", rdma_end_error(t->end));
}

/* ---- options --------------------------------------------------------------------------- */

static char *path(char *to, const char *folder, const char *name, const char *end)
{
	snprintf(to, PATH_MAX, "%s/%s%s", folder, name, end);
	return to;
}

static void parse_option(struct pair_options *o, const char *option)
{
	const struct {
		const char *name;
		unsigned *number;
		bool *flag;
	} known[] = {
		{"handle", &o->handle, NULL},
		{"reads", &o->reads, NULL},
		{"length", &o->length, NULL},
		{"domid", (unsigned *)&o->domid, NULL},
		{"abandon", &o->abandon, NULL},
		{"steals", NULL, &o->steals},
		{"hold", NULL, &o->hold},
		{"timeout_ms", &o->timeout_ms, NULL},
		{"bounce", NULL, &o->bounce},
		{"spoil_key", NULL, &o->spoil_key},
		{"spoil_name", NULL, &o->spoil_name},
		{"credits", &o->credits, NULL},
		{"connections", &o->connections, NULL},
		{"give_up", &o->give_up, NULL},
	};
	const char *equals = strchr(option, '=');
	size_t length = equals ? (size_t)(equals - option) : 0;

	if (length == strlen("peer") && strncmp(option, "peer", length) == 0) {
		o->peer = equals + 1;
		return;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strlen(known[i].name) != length || strncmp(option, known[i].name, length) != 0)
			continue;
		if (known[i].flag)
			*known[i].flag = atoi(equals + 1) != 0;
		else
			*known[i].number = (unsigned)atoi(equals + 1);
		return;
	}
	pair_die("%s is no option", option);
}

int main(int argc, char **argv)
{
	char ca[PATH_MAX], certificate[PATH_MAX], key[PATH_MAX];
	struct pair_options o = {.reads = 1,
				 .length = 1 << 20,
				 .domid = -1,
				 .credits = PAIR_CREDITS,
				 .timeout_ms = TIMEOUT_MS,
				 .give_up = GIVE_UP_MS};

	standing = (uint64_t)time(NULL) * 1000;
	clock_follow(&standing);
	if (argc < 4 || !address_parse(argv[1], &o.address))
		pair_die("usage: rdma-pair ADDRESS:PORT FOLDER NAME [option=value ...]");
	o.config.name = argv[3];
	o.config.ca = path(ca, argv[2], "ca", ".pem");
	o.config.certificate = path(certificate, argv[2], argv[3], ".pem");
	o.config.crl = (char *)"";
	o.config.key = path(key, argv[2], argv[3], ".key");
	for (int i = 4; i < argc; i++)
		parse_option(&o, argv[i]);
	return o.peer ? pair_ask(&o) : pair_answer(&o);
}
