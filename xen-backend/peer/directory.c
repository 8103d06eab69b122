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

struct directory_entry {
	struct directory_entry *next;
	_Atomic int peer;
	_Atomic(const char *) datanode; /* points into directory.names */
	_Atomic enum directory_source source;
	uint64_t list; /* the list that set it last; with the lock, as the rest */
	/* Another peer that announces the storage, and has it when this one withdraws it. */
	int rival; /* DIRECTORY_NOWHERE: none */
	const char *rival_datanode;
	uint64_t rival_list;
	char storage[];
};

/* A datanode's name.  Names are freed with the directory only, since directory_datanode() returns
 * them without a lock. */
struct name {
	struct name *next;
	char text[];
};

/* How many storages and names a peer was the first to announce. */
struct share {
	unsigned storages, names;
};

struct directory {
	pthread_mutex_t lock;
	struct directory_entry *buckets[BUCKETS];
	struct name *names;
	struct share *shares; /* by the number of the peer */
	size_t count, num_names;
};

struct directory *directory_new(size_t num_peers)
{
	struct directory *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->shares = calloc(num_peers + 1, sizeof(*d->shares));
	if (!d->shares) {
		free(d);
		return NULL;
	}
	pthread_mutex_init(&d->lock, NULL);
	return d;
}

void directory_free(struct directory *d)
{
	if (!d)
		return;
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct directory_entry *e = d->buckets[i], *next; e; e = next) {
			next = e->next;
			free(e);
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
		.rival = DIRECTORY_NOWHERE,
	};
	memcpy(e->storage, storage_id, size);
	*bucket = e;
	d->count++;
	if (share)
		share->storages++;
	*ret = e;
	return 0;
}

/* With the lock.  The peer announces a storage that another has.  The first rival stays. */
static void note_rival(struct directory_entry *e, int peer, const char *name, uint64_t list)
{
	if (e->rival != DIRECTORY_NOWHERE && e->rival != peer)
		return;
	e->rival = peer;
	e->rival_datanode = name;
	e->rival_list = list;
}

/* With the lock.  The peer has withdrawn the storage, or has lost it. */
static void release(struct directory_entry *e)
{
	if (e->rival != DIRECTORY_NOWHERE) {
		e->list = e->rival_list;
		atomic_store(&e->datanode, e->rival_datanode);
	}
	atomic_store(&e->peer, e->rival);
	e->rival = DIRECTORY_NOWHERE;
}

/* With the lock.  True if the storage is announced by another peer, which came first. */
static bool is_of_another(const struct directory_entry *e, int peer)
{
	int has = atomic_load(&e->peer);

	return e->source == DIRECTORY_ANNOUNCED && has != DIRECTORY_NOWHERE && has != peer;
}

static int set(struct directory *d, const char *storage_id, const char *datanode, int peer,
	       enum directory_source source, uint64_t list)
{
	struct directory_entry *e = find(d, storage_id);
	struct share *share = source == DIRECTORY_ANNOUNCED ? &d->shares[peer] : NULL;
	const char *name;
	int r;

	if (e && e->source > source)
		return -EPERM;
	r = keep_name(d, datanode, share, &name);
	if (!r && !e)
		r = add(d, storage_id, share, &e);
	if (r)
		return r;
	if (source == DIRECTORY_ANNOUNCED && is_of_another(e, peer)) {
		note_rival(e, peer, name, list);
		return -EEXIST;
	}
	if (source != DIRECTORY_ANNOUNCED || e->rival == peer)
		e->rival = DIRECTORY_NOWHERE;
	e->source = source;
	e->list = list;
	atomic_store(&e->datanode, name);
	atomic_store(&e->peer, peer);
	return 0;
}

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
	r = set(d, storage_id, datanode, peer, DIRECTORY_ANNOUNCED, list);
	pthread_mutex_unlock(&d->lock);
	return r;
}

void directory_end_announcement(struct directory *d, int peer, uint64_t list)
{
	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct directory_entry *e = d->buckets[i]; e; e = e->next) {
			if (e->rival == peer && e->rival_list != list)
				e->rival = DIRECTORY_NOWHERE;
			if (e->source == DIRECTORY_ANNOUNCED && e->list != list &&
			    atomic_load(&e->peer) == peer)
				release(e);
		}
	pthread_mutex_unlock(&d->lock);
}

/* With the lock.  Any source may set the storage again. */
static void forget(struct directory_entry *e)
{
	e->source = DIRECTORY_ANNOUNCED;
	release(e);
}

void directory_end_configuration(struct directory *d, uint64_t list)
{
	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct directory_entry *e = d->buckets[i]; e; e = e->next)
			if (e->source == DIRECTORY_CONFIGURED && e->list != list)
				forget(e);
	pthread_mutex_unlock(&d->lock);
}

void directory_forget(struct directory *d, int peer)
{
	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct directory_entry *e = d->buckets[i]; e; e = e->next) {
			if (e->rival == peer)
				e->rival = DIRECTORY_NOWHERE;
			if (atomic_load(&e->peer) == peer)
				forget(e);
		}
	pthread_mutex_unlock(&d->lock);
}

void directory_keep_announced(struct directory *d, int peer,
			      bool (*may)(const void *ctx, const char *datanode), const void *ctx)
{
	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct directory_entry *e = d->buckets[i]; e; e = e->next) {
			if (e->rival == peer && !may(ctx, e->rival_datanode))
				e->rival = DIRECTORY_NOWHERE;
			if (e->source == DIRECTORY_ANNOUNCED && atomic_load(&e->peer) == peer &&
			    !may(ctx, atomic_load(&e->datanode)))
				forget(e);
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

int directory_peer(const struct directory_entry *e)
{
	return atomic_load(&e->peer);
}

bool directory_is_announced(const struct directory_entry *e)
{
	return atomic_load(&e->source) == DIRECTORY_ANNOUNCED;
}

void directory_each_rival(struct directory *d, directory_rival_fn *fn, void *ctx)
{
	pthread_mutex_lock(&d->lock);
	for (unsigned i = 0; i < BUCKETS; i++)
		for (const struct directory_entry *e = d->buckets[i]; e; e = e->next)
			if (e->rival != DIRECTORY_NOWHERE)
				fn(ctx, e->storage, e->rival, atomic_load(&e->peer));
	pthread_mutex_unlock(&d->lock);
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
		for (const struct directory_entry *e = d->buckets[i]; e; e = e->next)
			count += atomic_load(&e->peer) == peer;
	pthread_mutex_unlock(&d->lock);
	return count;
}
