// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements block_open(), block_stat() and block_close() of block.h. search.c finds the replica.
 * ring/ and peer/answering/ call them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/shortage.h"
#include "read/find.h"
#include "read/read_private.h"
#include "read/search.h"
#include "policy/policy.h"
#include "vreadif.h"

static void fill_info(const struct block_replica *r, struct block_info *ret)
{
	*ret = (struct block_info){
		.length = r->files.data.size,
		.genstamp = r->key.genstamp,
		.flags = r->files.finalized ? VREAD_BLOCK_FINALIZED : 0,
	};
}

/* Makes a handle without a replica. NULL: out of memory, or *ret_error is -EMFILE. */
static struct block_handle *handle_new(struct block_store *store, const struct block_name *name,
				       int *ret_error)
{
	size_t weight = sizeof(struct block_handle) + ahead_weight() + strlen(name->pool_id) + 1;
	struct block_handle *h;

	*ret_error = -EMFILE;
	if (!budget_take(name->budget, weight))
		return NULL;
	*ret_error = -ENOMEM;
	h = calloc(1, sizeof(*h));
	if (!h) {
		budget_give(name->budget, weight);
		return NULL;
	}
	pthread_mutex_init(&h->lock, NULL);
	h->budget = name->budget;
	h->own_weight = weight;
	h->cache = store->cache;
	h->shared = &store->ahead;
	h->ahead = ahead_new(h->shared, name->client, name->budget);
	h->pool_id = strdup(name->pool_id);
	h->block_id = name->block_id;
	h->genstamp = name->genstamp;
	if (h->pool_id && h->ahead)
		return h;
	block_close(h);
	return NULL;
}

/* Makes r the replica of h, which is new. Takes over the reference. 0 or -EMFILE. */
static int take_replica(struct block_handle *h, const struct block_name *name,
			struct block_replica *r)
{
	if (!budget_take(h->budget, replica_weight(r))) {
		replica_put(r);
		return -EMFILE;
	}
	h->replica = r;
	h->published = datanode_published(r->served->datanode);
	h->visible_length = name->visible_length ? name->visible_length : r->files.data.size;
	return 0;
}

int block_open(struct block_store *store, const struct policy *p, const struct block_name *name,
	       struct block_handle **ret, struct block_info *ret_info)
{
	struct block_replica *found;
	struct block_handle *h;
	int r;

	if (!name->num_storages && !policy_takes_any_unnamed(p))
		return -EDESTADDRREQ;
	if (!layout_pool_valid(name->pool_id))
		return -ENODEV;
	if (!policy_allows_pool(p, name->pool_id))
		return -EACCES;
	h = handle_new(store, name, &r);
	if (!h)
		return r;
	r = search_block(store, p, name, &found, &h->grant);
	if (r == 0)
		r = take_replica(h, name, found);
	if (r < 0) {
		block_close(h);
		return r;
	}
	fill_info(h->replica, ret_info);
	*ret = h;
	return 0;
}

struct block_replica *handle_replica(struct block_handle *h)
{
	struct block_replica *r;

	pthread_mutex_lock(&h->lock);
	r = replica_get(h->replica);
	pthread_mutex_unlock(&h->lock);
	return r;
}

/* Gives back the weight of r, which h had; r NULL is ignored. */
static void drop_replica(struct block_handle *h, struct block_replica *r)
{
	if (!r)
		return;
	budget_give(h->budget, replica_weight(r));
	replica_put(r);
}

int handle_renew(struct block_handle *h, const struct block_replica *r)
{
	struct block_replica *fresh, *old;
	int error = -EAGAIN;

	if (!atomic_load(&r->served->retired))
		error = replica_find(h->cache, r->served, r->fs, &r->key, &h->visible_length,
				     &fresh);
	if (error < 0)
		return is_shortage(error) || error == -EIO ? error : -EAGAIN;
	if (!budget_take(h->budget, replica_weight(fresh))) {
		replica_put(fresh);
		return -EAGAIN;
	}
	pthread_mutex_lock(&h->lock);
	old = h->replica;
	h->replica = fresh;
	pthread_mutex_unlock(&h->lock);
	drop_replica(h, old);
	return 0;
}

int block_stat(struct block_handle *h, struct block_info *ret_info)
{
	struct block_replica *r = handle_replica(h);
	int error = replica_check(r);

	if (error == -EAGAIN && handle_renew(h, r) == 0) {
		replica_put(r);
		r = handle_replica(h);
		error = 0;
	}
	if (error == 0)
		fill_info(r, ret_info);
	replica_put(r);
	return error;
}

void block_close(struct block_handle *h)
{
	if (!h)
		return;
	ahead_free(h->ahead);
	drop_replica(h, h->replica);
	budget_give(h->budget, h->own_weight);
	pthread_mutex_destroy(&h->lock);
	free(h->pool_id);
	free(h);
}
