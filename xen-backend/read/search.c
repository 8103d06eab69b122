// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements search.h: which datanodes are asked, how long they are waited for, and whose answer
 * counts.
 */
#include "read/search.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/waiting.h"
#include "datanode/datanode.h"
#include "policy/tokens.h"
#include "read/inquiry.h"
#include "read/read_private.h"

/* A search asks no further directory after this time. */
#define SEARCH_MS 10000U

/* The state of one search for a block. */
struct search {
	struct block_store *store;
	const struct policy *policy;
	const struct block_name *name;
	const struct roster *roster;
	struct inquiries *inquiries;
	int error; /* the error that says most about the block so far */
};

/* ---- whom to ask ----------------------------------------------------------------------- */

static bool lists_pool(const struct layout_data_dir *d, const char *pool)
{
	for (unsigned i = 0; i < d->num_pools; i++)
		if (!strcmp(d->pools[i], pool))
			return true;
	return false;
}

/*
 * True if a directory that the request may mean listed the pool when the image was last examined.
 */
static bool shows_pool(const struct image_layout *layout, const struct block_name *name)
{
	for (unsigned i = 0; i < layout->num_filesystems; i++) {
		const struct layout_filesystem *lfs = &layout->filesystems[i];

		for (unsigned k = 0; k < lfs->num_data_dirs; k++)
			if (inquiry_concerns(&lfs->data_dirs[k], name) &&
			    lists_pool(&lfs->data_dirs[k], name->pool_id))
				return true;
	}
	return false;
}

/* True if the policy lets the request read the datanode. */
static bool may_read(const struct search *s, struct datanode *dn)
{
	const char *name = datanode_name(dn);

	return policy_allows_datanode(s->policy, name) &&
	       (s->name->num_storages || policy_takes_unnamed(s->policy, name));
}

/* Called before the search, so that a client without the right learns nothing about the block. */
static int right_to_read(const struct search *s, struct datanode *dn, struct token_grant *ret)
{
	const struct block_name *n = s->name;

	if (!may_read(s, dn))
		return -EACCES;
	return tokens_check(datanode_tokens(dn), n->pool_id, n->block_id, n->token, n->token_length,
			    ret);
}

/* Adds an inquiry if the caller may ask v, and v may have the block. Returns 0 or -ENOMEM. */
static int consider(struct search *s, struct served *v)
{
	struct token_grant grant;
	int right = right_to_read(s, v->datanode, &grant);
	int error = 0;

	if (right == 0 && inquiries_add(s->inquiries, v, s->name, &error))
		s->inquiries->inquiry[s->inquiries->count - 1].grant = grant;
	else if (right != 0 && shows_pool(v->layout, s->name))
		s->error = more_telling(s->error, right);
	return error;
}

static int choose_whom_to_ask(struct search *s)
{
	int error = 0;

	for (unsigned i = 0; i < s->roster->count && error == 0; i++) {
		struct served *v = datanode_served(s->roster->datanode[i]);

		if (v)
			error = consider(s, v);
		served_put(v);
	}
	return error;
}

/* ---- asking ------------------------------------------------------------------------------ */

/* With the lock of the inquiries. True if there is no replica yet, and an answer is missing. */
static bool is_open(const struct inquiries *all)
{
	bool open = false;

	for (unsigned i = 0; i < all->count; i++) {
		if (all->inquiry[i].replica)
			return false;
		open |= !all->inquiry[i].answered;
	}
	return open;
}

/* Asks several datanodes beside each other. */
static void ask_beside_each_other(struct inquiries *all)
{
	for (unsigned i = 0; i < all->count; i++)
		inquiry_send(&all->inquiry[i]);
	waiting_announce();
	pthread_mutex_lock(&all->lock);
	while (is_open(all) && clock_wait(&all->answer, &all->lock, all->until))
		;
	pthread_mutex_unlock(&all->lock);
	atomic_store(&all->over, true);
}

/*
 * Returns true, a reference to the first replica that was found, and the right to open it. False:
 * there is none, and s->error says why.
 */
static bool take_replica(struct search *s, struct block_replica **ret,
			 struct token_grant *ret_grant)
{
	struct inquiries *all = s->inquiries;
	bool found = false;

	pthread_mutex_lock(&all->lock);
	for (unsigned i = 0; i < all->count; i++) {
		struct inquiry *q = &all->inquiry[i];

		s->error = more_telling(s->error, q->answered ? q->error : -EBUSY);
		if (!q->replica || found)
			continue;
		*ret = replica_get(q->replica);
		*ret_grant = q->grant;
		found = true;
	}
	pthread_mutex_unlock(&all->lock);
	return found;
}

/* Returns 1 and the replica, 0 if there is none, or -ENOMEM. */
static int search_once(struct search *s, struct block_replica **ret, struct token_grant *ret_grant)
{
	int r;

	s->error = 0;
	s->inquiries =
		inquiries_new(s->store->cache, s->name, s->roster->count, clock_ms() + SEARCH_MS);
	r = s->inquiries ? choose_whom_to_ask(s) : -ENOMEM;
	if (r == 0) {
		if (s->inquiries->count == 1)
			inquiry_run(&s->inquiries->inquiry[0]);
		else if (s->inquiries->count > 1)
			ask_beside_each_other(s->inquiries);
		r = take_replica(s, ret, ret_grant);
	}
	inquiries_put(s->inquiries);
	return r;
}

/* ---- searching ------------------------------------------------------------------------------ */

/*
 * Requests a new examination of the images: the block may be in something that was not there at the
 * last one.
 */
static void look_again(const struct search *s)
{
	bool by_name = !s->error || s->error == -EACCES || s->error == -EIO;

	if (s->name->elsewhere)
		return;
	for (unsigned i = 0; i < s->roster->count; i++) {
		struct datanode *dn = s->roster->datanode[i];

		if (may_read(s, dn) && (by_name || !datanode_is_complete(dn)))
			datanode_look_soon(dn);
	}
}

/*
 * Just after the start of vreadd the images may not have been looked into yet. True if some have
 * been by now, and the block may be in these.
 */
static bool await_first_looks(const struct search *s)
{
	bool any = false;

	if (s->name->elsewhere || s->error == -EPERM)
		return false;
	for (unsigned i = 0; i < s->roster->count; i++) {
		struct datanode *dn = s->roster->datanode[i];

		if (may_read(s, dn))
			any |= datanode_await_first_look(dn);
	}
	return any;
}

/* True if there are datanodes, and the caller may read none of them. */
static bool may_read_none(const struct search *s)
{
	for (unsigned i = 0; i < s->roster->count; i++)
		if (may_read(s, s->roster->datanode[i]))
			return false;
	return s->roster->count > 0;
}

static int search(struct search *s, struct block_replica **ret, struct token_grant *ret_grant)
{
	int r = search_once(s, ret, ret_grant);

	if (r == 0 && await_first_looks(s))
		r = search_once(s, ret, ret_grant);
	if (r != 0)
		return r < 0 ? r : 0;
	look_again(s);
	if (s->error)
		return s->error;
	return may_read_none(s) ? -EACCES : -ENODEV;
}

int search_block(struct block_store *store, const struct policy *p, const struct block_name *name,
		 struct block_replica **ret, struct token_grant *ret_grant)
{
	struct roster *all = registry_roster(store->registry);
	struct search s = {.store = store, .policy = p, .name = name, .roster = all};
	int r = search(&s, ret, ret_grant);

	roster_put(all);
	return r;
}
