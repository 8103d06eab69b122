// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements block_open(), block_stat() and block_close() of block.h. block_open() looks for the
 * named replica on all datanodes that the caller may read. ring/ and peer/answering/ call them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "read/find.h"
#include "read/pools.h"
#include "read/read_private.h"
#include "policy/policy.h"
#include "policy/tokens.h"
#include "vreadif.h"

/*
 * A search asks no further datanode after this time. Datanodes whose parser is slow are asked last,
 * so that an image that makes its parser slow delays only blocks that nobody else has.
 */
#define SEARCH_MS 10000U

/* The state of one search for a block. */
struct search {
	struct block_store *store;
	const struct block_name *name;
	struct served *served;       /* of the datanode being searched */
	struct published *published; /* of the datanode being searched */
	int right;        /* right of the caller to read the block there: 0, -EACCES or -EPERM */
	int error;        /* the error that says most about the block so far */
	uint64_t until;   /* ms: the end of the search */
	bool any_allowed; /* the caller may read some datanode */
};

/*
 * Ranks errors by how much they say about the block. An error of a block that was found ranks above
 * an error of a block that was not found. A refused token ranks highest.
 */
static int telling(int error)
{
	switch (error) {
	case -ENODEV: /* the pool does not exist */
		return 0;
	case -EACCES:
		return 1;
	case -ENOENT:
		return 2;
	case -EBUSY: /* the file system could not be searched */
		return 3;
	case -EEXIST:
		return 4;
	case -EPERM: /* a token was refused: callers ask no other host */
		return 6;
	default:
		return error ? 5 : 0;
	}
}

static void remember(struct search *s, int error)
{
	if (telling(error) > telling(s->error))
		s->error = error;
}

/*
 * True if the directory had that pool when the image was last examined. A newer pool is not listed
 * yet.
 */
static bool has_pool(const struct layout_data_dir *d, const char *pool)
{
	for (unsigned i = 0; i < d->num_pools; i++)
		if (!strcmp(d->pools[i], pool))
			return true;
	return false;
}

static bool is_candidate(const struct layout_data_dir *d, const struct block_name *name)
{
	for (unsigned i = 0; i < name->num_storages; i++)
		if (!strcmp(name->storage_ids[i], d->storage_id))
			return true;
	return name->num_storages == 0;
}

/*
 * The .meta file of a finalized replica covers the whole replica. The .meta file of a replica being
 * written covers at least the length promised to the reader.
 */
static int check_length(const struct block_replica *r, uint64_t visible)
{
	const struct block_files *f = &r->files;
	uint64_t expected;

	if (visible > f->data.size)
		return -ERANGE;
	if (visible > f->data.mapped)
		return -ENODATA;
	if (!meta_expected_length(&f->header, f->finalized ? f->data.size : visible, &expected) ||
	    expected > f->meta.size)
		return -EILSEQ;
	return 0;
}

static int try_directory(struct search *s, const struct parser_fs *fs,
			 const struct layout_data_dir *dir, struct block_handle *h)
{
	struct replica_key key = {dir, s->name->pool_id, s->name->block_id, s->name->genstamp};
	int r;

	if (store_withdrawn(s->published, s->name->pool_id, s->name->block_id, s->name->genstamp))
		return -ENOENT;
	r = replica_find(s->store->cache, s->served, fs, &key, &h->replica);
	if (r < 0)
		return r;
	h->published = s->published;
	h->visible_length =
		s->name->visible_length ? s->name->visible_length : h->replica->files.data.size;
	r = check_length(h->replica, h->visible_length);
	if (r < 0 && !replica_is_still(h->replica))
		r = block_not_yet(r);
	if (r == 0 && !budget_take(h->budget, replica_weight(h->replica)))
		r = -EMFILE;
	if (r < 0) {
		replica_put(h->replica);
		h->replica = NULL;
	}
	return r;
}

static bool search_filesystem(struct search *s, const struct layout_filesystem *lfs,
			      const struct parser_fs *fs, struct block_handle *h)
{
	int r = -ENOENT;

	for (unsigned i = 0; i < lfs->num_data_dirs && r != 0; i++) {
		const struct layout_data_dir *dir = &lfs->data_dirs[i];

		if (!is_candidate(dir, s->name))
			continue;
		if (s->right && !has_pool(dir, s->name->pool_id))
			continue;
		r = s->right;
		if (r == 0)
			r = try_directory(s, fs, dir, h);
		remember(s, r);
	}
	return h->replica != NULL;
}

/*
 * If a volume of v has moved, nothing is found in v until the images are examined again. Requests
 * that.
 */
static void look_if_moved(struct served *v)
{
	if (atomic_load(&v->moved))
		datanode_look_soon(v->datanode);
}

/* Called before the search, so that a client without the right learns nothing about the block. */
static int right_to_read(const struct search *s, struct datanode *dn, bool allowed)
{
	const struct block_name *n = s->name;

	if (!allowed)
		return -EACCES;
	return tokens_check(datanode_tokens(dn), n->pool_id, n->block_id, n->token,
			    n->token_length);
}

static bool search_served(struct search *s, struct datanode *dn, bool allowed,
			  struct block_handle *h)
{
	const struct image_layout *layout = s->served->layout;
	bool found = false;

	s->published = datanode_published(dn);
	s->right = right_to_read(s, dn, allowed);
	for (unsigned i = 0; i < layout->num_filesystems && !found; i++) {
		if (clock_ms() < s->until)
			found = search_filesystem(s, &layout->filesystems[i], &s->served->fs[i], h);
		else
			remember(s, -EBUSY);
	}
	look_if_moved(s->served);
	return found;
}

static bool search_datanode(struct search *s, struct datanode *dn, bool allowed,
			    struct block_handle *h)
{
	bool found;

	s->served = datanode_served(dn);
	if (!s->served)
		return false;
	found = search_served(s, dn, allowed, h);
	served_put(s->served);
	s->served = NULL;
	return found;
}

/*
 * Requests a new examination of the images: the block may be in something that was not there at the
 * last one.
 */
static void look_again(struct search *s, const struct policy *p, struct roster *all)
{
	bool by_name = !s->error || s->error == -EACCES || s->error == -EIO;

	if (s->name->elsewhere)
		return;
	for (unsigned i = 0; i < all->count; i++) {
		struct datanode *dn = all->datanode[i];

		if (policy_allows_datanode(p, datanode_name(dn)) &&
		    (by_name || !datanode_is_complete(dn)))
			datanode_look_soon(dn);
	}
}

/* A pool that two clusters show is opened only by storages. The reader can ask its NameNode. */
static int check_pool(struct search *s, const struct policy *p, const struct roster *all,
		      const struct block_handle *h)
{
	const char *pool = s->name->pool_id;

	if (s->name->num_storages || !pool_is_ambiguous(all, p, h->replica->key.dir, pool))
		return 0;
	if (atomic_fetch_add(&s->store->ambiguous, 1) == 0)
		log_warn("pool %s is shown by datanodes of different clusters: its blocks are read "
			 "only by clients that name storages; are these clusters copies?",
			 pool);
	return -EXDEV;
}

static bool is_slow(struct datanode *dn)
{
	struct served *v = datanode_served(dn);
	bool slow = v && v->parser && parser_is_slow(v->parser);

	served_put(v);
	return slow;
}

/* Returns the datanodes of the roster, the slow ones last (free() it). NULL: out of memory. */
static struct datanode **slow_last(const struct roster *all)
{
	struct datanode **order = calloc(all->count + 1, sizeof(struct datanode *));
	unsigned first = 0, last = all->count;

	for (unsigned i = 0; order && i < all->count; i++)
		order[is_slow(all->datanode[i]) ? --last : first++] = all->datanode[i];
	return order;
}

/* 1: found, 0: not found, -ENOMEM. */
static int search_all(struct search *s, const struct policy *p, struct roster *all,
		      struct block_handle *h)
{
	struct datanode **order = slow_last(all);
	bool found = false;

	if (!order)
		return -ENOMEM;
	for (unsigned i = 0; i < all->count && !found; i++) {
		bool allowed = policy_allows_datanode(p, datanode_name(order[i]));

		s->any_allowed |= allowed;
		found = search_datanode(s, order[i], allowed, h);
	}
	free(order);
	return found;
}

/*
 * Just after the start of vreadd the images may not have been looked into yet. True if some have
 * been by now, and the block may be in these.
 */
static bool await_first_looks(const struct search *s, const struct policy *p, struct roster *all)
{
	bool any = false;

	if (s->name->elsewhere || s->error == -EPERM)
		return false;
	for (unsigned i = 0; i < all->count; i++)
		if (policy_allows_datanode(p, datanode_name(all->datanode[i])))
			any |= datanode_await_first_look(all->datanode[i]);
	return any;
}

static int search_roster(struct search *s, const struct policy *p, struct roster *all,
			 struct block_handle *h)
{
	int found = search_all(s, p, all, h);

	if (found == 0 && await_first_looks(s, p, all)) {
		s->error = 0;
		found = search_all(s, p, all, h);
	}
	if (found)
		return found < 0 ? found : check_pool(s, p, all, h);
	look_again(s, p, all);
	if (s->error)
		return s->error;
	return s->any_allowed ? -ENODEV : -EACCES;
}

static int search_store(struct search *s, const struct policy *p, struct block_handle *h)
{
	struct roster *all = registry_roster(s->store->registry);
	int r = search_roster(s, p, all, h);

	roster_put(all);
	return r;
}

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

int block_open(struct block_store *store, const struct policy *p, const struct block_name *name,
	       struct block_handle **ret, struct block_info *ret_info)
{
	struct search s = {.store = store, .name = name, .until = clock_ms() + SEARCH_MS};
	struct block_handle *h;
	int r;

	if (!layout_pool_valid(name->pool_id))
		return -ENODEV;
	if (!policy_allows_pool(p, name->pool_id))
		return -EACCES;
	h = handle_new(store, name, &r);
	if (!h)
		return r;
	r = search_store(&s, p, h);
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
		error = replica_find(h->cache, r->served, r->fs, &r->key, &fresh);
	look_if_moved(r->served);
	if (error < 0)
		return error == -ENOMEM || error == -EIO ? error : -EAGAIN;
	if (check_length(fresh, h->visible_length) < 0) {
		replica_put(fresh);
		return -EAGAIN;
	}
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
