// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * directory.c - which peer has which storage: a hash table from storage id to entry.
 *
 * The files behind peer.h call the functions of directory.h.
 */
#include "peer/directory.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define BUCKETS 4096U

#define NOT_JUDGED UINT64_MAX

/* A peer that announces the storage. */
struct claim {
	struct claim *next;
	int peer;
	const char *datanode; /* points into directory.names */
	uint64_t list;        /* the peer's list that had it last */
};

struct directory_entry {
	struct directory_entry *next;
	_Atomic int peer;
	_Atomic(const char *) datanode; /* as in struct claim */
	_Atomic uint64_t judged;      /* the generation for which `peer` is right, or NOT_JUDGED */
	enum directory_source source; /* with the lock, as the rest */
	uint64_t list;                /* the configuration that set it last */
	struct claim *claims;         /* the first to announce it stands first */
	char storage[];
};

/* A datanode's name.  Names are freed with the directory only, since directory_datanode() returns
 * them without a lock. */
struct name {
	struct name *next;
	char text[];
};

/* How many storages and names a peer was the first to announce, and how many storages it announces
 * now. */
struct share {
	unsigned storages, names, claims;
};

struct directory {
	pthread_mutex_t lock;
	struct directory_judge judge;
	struct directory_entry *buckets[BUCKETS];
	struct name *names;
	struct share *shares; /* by the number of the peer */
	size_t count, num_names;
};

struct directory *directory_new(size_t num_peers, const struct directory_judge *judge)
{
	struct directory *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->shares = calloc(num_peers + 1, sizeof(*d->shares));
	if (!d->shares) {
		free(d);
		return NULL;
	}
	d->judge = *judge;
	pthread_mutex_init(&d->lock, NULL);
	return d;
}

static void free_entry(struct directory_entry *e)
{
	for (struct claim *c = e->claims, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(e);
}

void directory_free(struct directory *d)
{
	if (!d)
		return;
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct directory_entry *e = d->buckets[i], *next; e; e = next) {
			next = e->next;
			free_entry(e);
		}
	for (struct name *n = d->names, *next; n; n = next) {
		next = n->next;
		free(n);
	}
	free(d->shares);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

/* FNV-1a */
static unsigned bucket_of(const char *text)
{
	return hash_text(text) % BUCKETS;
}

/* With the lock. */
static struct directory_entry *find(struct directory *d, const char *storage_id)
{
	struct directory_entry *e = d->buckets[bucket_of(storage_id)];

	while (e && strcmp(e->storage, storage_id))
		e = e->next;
	return e;
}

/* Finds or adds a name.  With the lock.  The names are a list: they are few, since their number is
 * bounded.  share: the share of the peer that announces the name, or NULL. */
static int keep_name(struct directory *d, const char *text, struct share *share, const char **ret)
{
	struct name *n = d->names;
	size_t size = strlen(text) + 1;

	while (n && strcmp(n->text, text))
		n = n->next;
	if (n) {
		*ret = n->text;
		return 0;
	}
	if (d->num_names == DIRECTORY_MAX_DATANODES ||
	    (share && share->names == DIRECTORY_MAX_NAMES_EACH))
		return -ENOSPC;
	n = malloc(sizeof(*n) + size);
	if (!n)
		return -ENOMEM;
	memcpy(n->text, text, size);
	n->next = d->names;
	d->names = n;
	d->num_names++;
	if (share)
		share->names++;
	*ret = n->text;
	return 0;
}

/* Adds an entry.  With the lock.  share: as in keep_name(). */
static int add(struct directory *d, const char *storage_id, struct share *share,
	       struct directory_entry **ret)
{
	size_t size = strlen(storage_id) + 1;
	struct directory_entry *e, **bucket = &d->buckets[bucket_of(storage_id)];

	if (d->count == DIRECTORY_MAX || (share && share->storages == DIRECTORY_MAX_EACH))
		return -ENOSPC;
	e = malloc(sizeof(*e) + size);
	if (!e)
		return -ENOMEM;
	*e = (struct directory_entry){
		.next = *bucket,
		.peer = DIRECTORY_NOWHERE,
		.judged = NOT_JUDGED,
	};
	memcpy(e->storage, storage_id, size);
	*bucket = e;
	d->count++;
	if (share)
		share->storages++;
	*ret = e;
	return 0;
}

/* ---- judging: with the lock ------------------------------------------------------- */

/* Sets the peer of an entry about which announcements count. */
static void judge(struct directory *d, struct directory_entry *e)
{
	const struct claim *c = e->claims;

	while (c && !d->judge.has(d->judge.ctx, c->peer, e->storage))
		c = c->next;
	if (c)
		atomic_store(&e->datanode, c->datanode);
	atomic_store(&e->peer, c ? c->peer : DIRECTORY_NOWHERE);
}

/* The peer that has the storage now. */
static int find_peer(struct directory *d, struct directory_entry *e)
{
	uint64_t generation = atomic_load(d->judge.generation);

	if (e->source == DIRECTORY_ANNOUNCED && atomic_load(&e->judged) != generation)
		judge(d, e);
	atomic_store(&e->judged, generation);
	return atomic_load(&e->peer);
}

/* Announcements count again. */
static void forget_word(struct directory_entry *e)
{
	e->source = DIRECTORY_ANNOUNCED;
	atomic_store(&e->judged, NOT_JUDGED);
}

/* ---- setting: with the lock -------------------------------------------------------- */

/* Finds or adds the entry and the name.  share: as in keep_name(). */
static int prepare(struct directory *d, const char *storage_id, const char *datanode,
		   enum directory_source source, struct share *share, struct directory_entry **ret,
		   const char **ret_name)
{
	struct directory_entry *e = find(d, storage_id);
	int r;

	if (e && e->source > source)
		return -EPERM;
	r = keep_name(d, datanode, share, ret_name);
	if (!r && !e) {
		r = add(d, storage_id, share, &e);
		if (!r)
			atomic_store(&e->datanode, *ret_name);
	}
	*ret = e;
	return r;
}

static int set(struct directory *d, const char *storage_id, const char *datanode, int peer,
	       enum directory_source source, uint64_t list)
{
	struct directory_entry *e;
	const char *name;
	int r = prepare(d, storage_id, datanode, source, NULL, &e, &name);

	if (r)
		return r;
	e->source = source;
	e->list = list;
	atomic_store(&e->datanode, name);
	atomic_store(&e->peer, peer);
	atomic_store(&e->judged, NOT_JUDGED);
	return 0;
}

/* Finds or adds the peer's claim. */
static int claim(struct directory_entry *e, int peer, struct share *share, struct claim **ret)
{
	struct claim **at = &e->claims;

	while (*at && (*at)->peer != peer)
		at = &(*at)->next;
	if (!*at && share->claims == DIRECTORY_MAX_EACH)
		return -ENOSPC;
	if (!*at) {
		*at = calloc(1, sizeof(**at));
		if (!*at)
			return -ENOMEM;
		(*at)->peer = peer;
		share->claims++;
	}
	*ret = *at;
	return 0;
}

static int announce(struct directory *d, const char *storage_id, const char *datanode, int peer,
		    uint64_t list)
{
	struct share *share = &d->shares[peer];
	struct directory_entry *e;
	const char *name;
	struct claim *c;
	int r = prepare(d, storage_id, datanode, DIRECTORY_ANNOUNCED, share, &e, &name);

	if (!r)
		r = claim(e, peer, share, &c);
	if (r)
		return r;
	c->datanode = name;
	c->list = list;
	atomic_store(&e->judged, NOT_JUDGED);
	return 0;
}

/* Removes the peer's claim. */
static void withdraw(struct directory *d, struct directory_entry *e, int peer)
{
	struct claim **at = &e->claims, *c;

	while ((*at)->peer != peer)
		at = &(*at)->next;
	c = *at;
	*at = c->next;
	free(c);
	d->shares[peer].claims--;
	atomic_store(&e->judged, NOT_JUDGED);
}

static const struct claim *find_claim(const struct directory_entry *e, int peer)
{
	const struct claim *c = e->claims;

	while (c && c->peer != peer)
		c = c->next;
	return c;
}

/* ---- the functions of directory.h --------------------------------------------------- */

int directory_set(struct directory *d, const char *storage_id, const char *datanode, int peer,
		  enum directory_source source)
{
	int r;

	pthread_mutex_lock(&d->lock);
	r = set(d, storage_id, datanode, peer, source, 0);
	pthread_mutex_unlock(&d->lock);
	return r;
}

int directory_configure(struct directory *d, const char *storage_id, const char *datanode, int peer,
			uint64_t list)
{
	int r;

	pthread_mutex_lock(&d->lock);
	r = set(d, storage_id, datanode, peer, DIRECTORY_CONFIGURED, list);
	pthread_mutex_unlock(&d->lock);
	return r;
}

int directory_announce(struct directory *d, const char *storage_id, const char *datanode, int peer,
		       uint64_t list)
{
	int r;

	pthread_mutex_lock(&d->lock);
	r = announce(d, storage_id, datanode, peer, list);
	pthread_mutex_unlock(&d->lock);
	return r;
}

void directory_end_announcement(struct directory *d, int peer, uint64_t list)
{
	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct directory_entry *e = d->buckets[i]; e; e = e->next) {
			const struct claim *c = find_claim(e, peer);

			if (c && c->list != list)
				withdraw(d, e, peer);
		}
	pthread_mutex_unlock(&d->lock);
}

void directory_end_configuration(struct directory *d, uint64_t list)
{
	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct directory_entry *e = d->buckets[i]; e; e = e->next)
			if (e->source == DIRECTORY_CONFIGURED && e->list != list)
				forget_word(e);
	pthread_mutex_unlock(&d->lock);
}

void directory_forget(struct directory *d, int peer)
{
	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct directory_entry *e = d->buckets[i]; e; e = e->next) {
			if (find_claim(e, peer))
				withdraw(d, e, peer);
			if (e->source != DIRECTORY_ANNOUNCED && atomic_load(&e->peer) == peer)
				forget_word(e);
		}
	pthread_mutex_unlock(&d->lock);
}

void directory_forget_move(struct directory *d, const char *storage_id)
{
	struct directory_entry *e;

	pthread_mutex_lock(&d->lock);
	e = find(d, storage_id);
	if (e && e->source == DIRECTORY_MOVED)
		forget_word(e);
	pthread_mutex_unlock(&d->lock);
}

void directory_keep_announced(struct directory *d, int peer,
			      bool (*may)(const void *ctx, const char *datanode), const void *ctx)
{
	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct directory_entry *e = d->buckets[i]; e; e = e->next) {
			const struct claim *c = find_claim(e, peer);

			if (c && !may(ctx, c->datanode))
				withdraw(d, e, peer);
		}
	pthread_mutex_unlock(&d->lock);
}

struct directory_entry *directory_find(struct directory *d, const char *storage_id)
{
	struct directory_entry *e;

	pthread_mutex_lock(&d->lock);
	e = find(d, storage_id);
	pthread_mutex_unlock(&d->lock);
	return e;
}

int directory_peer(struct directory *d, struct directory_entry *e)
{
	int peer;

	if (atomic_load(&e->judged) == atomic_load(d->judge.generation))
		return atomic_load(&e->peer);
	pthread_mutex_lock(&d->lock);
	peer = find_peer(d, e);
	pthread_mutex_unlock(&d->lock);
	return peer;
}

void directory_each_announced(struct directory *d, directory_announced_fn *fn, void *ctx)
{
	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < BUCKETS; i++)
		for (const struct directory_entry *e = d->buckets[i]; e; e = e->next)
			for (const struct claim *c = e->claims;
			     c && e->source == DIRECTORY_ANNOUNCED; c = c->next)
				fn(ctx, e->storage, c->peer);
	pthread_mutex_unlock(&d->lock);
}

const char *directory_datanode_at(struct directory *d, const struct directory_entry *e, int peer)
{
	const struct claim *c;
	const char *name;

	pthread_mutex_lock(&d->lock);
	c = find_claim(e, peer);
	name = c ? c->datanode : atomic_load(&e->datanode);
	pthread_mutex_unlock(&d->lock);
	return name;
}

const char *directory_datanode(const struct directory_entry *e)
{
	return atomic_load(&e->datanode);
}

const char *directory_storage(const struct directory_entry *e)
{
	return e->storage;
}

size_t directory_count(struct directory *d, int peer)
{
	size_t count = 0;

	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct directory_entry *e = d->buckets[i]; e; e = e->next)
			count += find_peer(d, e) == peer;
	pthread_mutex_unlock(&d->lock);
	return count;
}
