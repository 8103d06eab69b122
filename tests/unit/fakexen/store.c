/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.c - a fake of libxenstore.  The store is a list of paths.
 *
 * A directory exists while a node below it exists.  As in libxenstore, watch events are queued, and
 * an eventfd is readable until the program has read them.
 *
 * A transaction reads the current tree, and its writes take effect at once.  A transaction that
 * fails undoes nothing: the program writes the same values when it repeats the transaction.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <xenstore.h>
#include <xenstore_lib.h>

#include "fakexen.h"

#define MAX_NODES 512
#define MAX_WATCHES 64
#define MAX_EVENTS 4096
#define MAX_DOMAINS 16

struct node {
	char *path, *value;
};

struct watch {
	char *path, *token;
};

static struct node nodes[MAX_NODES];
static unsigned num_nodes;
static struct watch watches[MAX_WATCHES];
static unsigned num_watches;
static struct watch queue[MAX_EVENTS];
static unsigned first_event, last_event;
static uint32_t domains[MAX_DOMAINS];
static unsigned num_domains;
static int event_fd = -1;
static bool absent, dead;
static unsigned transactions, conflicts;
static unsigned reads;
static struct node written[MAX_EVENTS]; /* by the program: path, value */
static unsigned num_written;

void (*fake_on_write)(const char *path, const char *value);

#define FORMAT(path, format)                       \
	char path[512];                            \
	va_list ap;                                \
	va_start(ap, format);                      \
	vsnprintf(path, sizeof(path), format, ap); \
	va_end(ap)

static void die(const char *what)
{
	fprintf(stderr, "fakexen: %s\n", what);
	abort();
}

/* True if path is directory or lies below it. */
static bool is_in(const char *directory, const char *path)
{
	size_t n = strlen(directory);

	return strncmp(directory, path, n) == 0 && (path[n] == '/' || !path[n]);
}

static void enqueue(const char *path, const char *token)
{
	if (last_event == MAX_EVENTS)
		die("too many watch events");
	queue[last_event++] = (struct watch){strdup(path), strdup(token)};
	eventfd_write(event_fd, 1);
}

/* A removal also fires the watches below the removed path. */
static void fire(const char *path, bool removal)
{
	for (unsigned i = 0; i < num_watches; i++) {
		if (is_in(watches[i].path, path))
			enqueue(path, watches[i].token);
		else if (removal && is_in(path, watches[i].path))
			enqueue(watches[i].path, watches[i].token);
	}
}

static struct node *find(const char *path)
{
	for (unsigned i = 0; i < num_nodes; i++)
		if (strcmp(nodes[i].path, path) == 0)
			return &nodes[i];
	return NULL;
}

static void set(const char *path, const char *value)
{
	struct node *n = find(path);

	if (!n) {
		if (num_nodes == MAX_NODES)
			die("too many nodes");
		n = &nodes[num_nodes++];
		n->path = strdup(path);
	} else {
		free(n->value);
	}
	n->value = strdup(value);
	fire(path, false);
}

static bool drop(const char *path)
{
	bool found = false;

	for (unsigned i = 0; i < num_nodes;) {
		if (!is_in(path, nodes[i].path)) {
			i++;
			continue;
		}
		free(nodes[i].path);
		free(nodes[i].value);
		nodes[i] = nodes[--num_nodes];
		found = true;
	}
	if (found)
		fire(path, true);
	return found;
}

/* Does what the end of a connection does. */
static void drop_watches(void)
{
	for (unsigned i = 0; i < num_watches; i++) {
		free(watches[i].path);
		free(watches[i].token);
	}
	for (unsigned i = first_event; i < last_event; i++) {
		free(queue[i].path);
		free(queue[i].token);
	}
	num_watches = first_event = last_event = 0;
}

/* ---- for tests --------------------------------------------------------------- */

void fake_store_reset(void)
{
	while (num_nodes) {
		num_nodes--;
		free(nodes[num_nodes].path);
		free(nodes[num_nodes].value);
	}
	drop_watches();
	for (unsigned i = 0; i < num_written; i++) {
		free(written[i].path);
		free(written[i].value);
	}
	num_written = num_domains = 0;
	absent = dead = false;
	transactions = conflicts = reads = 0;
	fake_on_write = NULL;
	if (event_fd >= 0)
		close(event_fd);
	event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void fake_write(const char *value, const char *format, ...)
{
	FORMAT(path, format);
	set(path, value);
}

void fake_remove(const char *format, ...)
{
	FORMAT(path, format);
	drop(path);
}

const char *fake_read(const char *format, ...)
{
	struct node *n;
	FORMAT(path, format);

	n = find(path);
	return n ? n->value : NULL;
}

void fake_fire(const char *format, ...)
{
	FORMAT(path, format);
	fire(path, false);
}

void fake_introduce(uint32_t domid)
{
	domains[num_domains++] = domid;
	fire("@introduceDomain", false);
}

void fake_release(uint32_t domid)
{
	for (unsigned i = 0; i < num_domains; i++)
		if (domains[i] == domid) {
			domains[i] = domains[--num_domains];
			break;
		}
	fire("@releaseDomain", false);
}

void fake_store_absent(bool is_absent)
{
	absent = is_absent;
}

void fake_store_dies(void)
{
	dead = true;
	eventfd_write(event_fd, 1);
}

unsigned fake_watches(void)
{
	return num_watches;
}

unsigned fake_reads(void)
{
	return reads;
}

unsigned fake_open_transactions(void)
{
	return transactions;
}

void fake_conflicts(unsigned n)
{
	conflicts = n;
}

unsigned fake_writes_of(const char *name)
{
	unsigned n = 0;

	for (unsigned i = 0; i < num_written; i++)
		n += strcmp(strrchr(written[i].path, '/') + 1, name) == 0;
	return n;
}

/* ---- libxenstore --------------------------------------------------------------- */

static bool alive(void)
{
	if (dead)
		errno = EPIPE;
	return !dead;
}

struct xs_handle *xs_open(unsigned long flags)
{
	(void)flags;
	errno = ENOENT;
	return absent ? NULL : (struct xs_handle *)&nodes;
}

const char *xs_daemon_socket(void)
{
	return NULL;
}

void xs_close(struct xs_handle *h)
{
	(void)h;
	if (transactions)
		die("closed with an open transaction");
	drop_watches();
}

int xs_fileno(struct xs_handle *h)
{
	(void)h;
	return event_fd;
}

void *xs_read(struct xs_handle *h, xs_transaction_t t, const char *path, unsigned *length)
{
	struct node *n = find(path);

	(void)h, (void)t;
	reads++;
	if (!alive())
		return NULL;
	if (!n) {
		errno = ENOENT;
		return NULL;
	}
	*length = (unsigned)strlen(n->value);
	return strdup(n->value);
}

bool xs_write(struct xs_handle *h, xs_transaction_t t, const char *path, const void *data,
	      unsigned length)
{
	char *value = strndup(data, length);

	(void)h, (void)t;
	if (!alive()) {
		free(value);
		return false;
	}
	if (fake_on_write)
		fake_on_write(path, value);
	written[num_written++] = (struct node){strdup(path), value};
	set(path, value);
	return true;
}

bool xs_rm(struct xs_handle *h, xs_transaction_t t, const char *path)
{
	(void)h, (void)t;
	if (!alive())
		return false;
	errno = ENOENT;
	return drop(path);
}

char **xs_directory(struct xs_handle *h, xs_transaction_t t, const char *path, unsigned *count)
{
	size_t n = strlen(path);
	char **names, *text;
	char child[128];

	(void)h, (void)t;
	if (!alive())
		return NULL;
	/* As in libxenstore: pointers and text are in one allocation. */
	names = calloc(1, MAX_NODES * (sizeof(char *) + sizeof(child)));
	text = (char *)(names + MAX_NODES);
	*count = 0;
	for (unsigned i = 0; i < num_nodes; i++) {
		bool known = false;

		if (!is_in(path, nodes[i].path) || !nodes[i].path[n])
			continue;
		snprintf(child, sizeof(child), "%s", nodes[i].path + n + 1);
		child[strcspn(child, "/")] = '\0';
		for (unsigned k = 0; k < *count; k++)
			known |= strcmp(names[k], child) == 0;
		if (!known) {
			names[*count] = strcpy(text + *count * sizeof(child), child);
			++*count;
		}
	}
	if (*count || find(path))
		return names;
	free(names);
	errno = ENOENT;
	return NULL;
}

bool xs_watch(struct xs_handle *h, const char *path, const char *token)
{
	(void)h;
	if (!alive())
		return false;
	for (unsigned i = 0; i < num_watches; i++)
		if (!strcmp(watches[i].path, path) && !strcmp(watches[i].token, token))
			die("watched twice");
	if (num_watches == MAX_WATCHES)
		die("too many watches");
	watches[num_watches++] = (struct watch){strdup(path), strdup(token)};
	enqueue(path, token);
	return true;
}

/* Queued events of the watch stay queued: programs must handle late events. */
bool xs_unwatch(struct xs_handle *h, const char *path, const char *token)
{
	(void)h;
	for (unsigned i = 0; i < num_watches; i++)
		if (!strcmp(watches[i].path, path) && !strcmp(watches[i].token, token)) {
			free(watches[i].path);
			free(watches[i].token);
			watches[i] = watches[--num_watches];
			return true;
		}
	errno = ENOENT;
	return false;
}

char **xs_check_watch(struct xs_handle *h)
{
	eventfd_t count;
	struct watch *e;
	char **r, *text;

	(void)h;
	if (!alive())
		return NULL;
	if (first_event == last_event) {
		first_event = last_event = 0;
		eventfd_read(event_fd, &count);
		errno = EAGAIN;
		return NULL;
	}
	e = &queue[first_event++];
	r = malloc(2 * sizeof(char *) + strlen(e->path) + strlen(e->token) + 2);
	text = (char *)(r + 2);
	r[XS_WATCH_PATH] = strcpy(text, e->path);
	r[XS_WATCH_TOKEN] = strcpy(text + strlen(e->path) + 1, e->token);
	free(e->path);
	free(e->token);
	return r;
}

xs_transaction_t xs_transaction_start(struct xs_handle *h)
{
	(void)h;
	if (!alive())
		return XBT_NULL;
	transactions++;
	return 1;
}

bool xs_transaction_end(struct xs_handle *h, xs_transaction_t t, bool abort_it)
{
	(void)h, (void)t;
	transactions--;
	if (alive() && conflicts && !abort_it) {
		conflicts--;
		errno = EAGAIN;
		return false;
	}
	return alive();
}

bool xs_is_domain_introduced(struct xs_handle *h, unsigned domid)
{
	(void)h;
	for (unsigned i = 0; i < num_domains; i++)
		if (domains[i] == domid)
			return true;
	return false;
}
