// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements search.h: which datanodes are asked, how long they are waited for, and what their
 * answers mean together. open.c calls it.
 */
#include "read/search.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/waiting.h"
#include "datanode/datanode.h"
#include "policy/tokens.h"
#include "read/inquiry.h"
#include "read/pools.h"
#include "read/read_private.h"

/* A search asks no further directory after this time. */
#define SEARCH_MS 10000U
/*
 * The time limit of a request without storage ids that several datanodes are asked for. The reader
 * can ask again with storage ids, and then waits only for datanodes that have the block.
 */
#define UNNAMED_MS 1000U

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

/* True if a directory that the request may mean lists the pool. */
static bool shows_pool(const struct image_layout *layout, const struct block_name *name)
{
	for (unsigned i = 0; i < layout->num_filesystems; i++) {
		const struct layout_filesystem *lfs = &layout->filesystems[i];

		for (unsigned k = 0; k < lfs->num_data_dirs; k++)
			if (inquiry_concerns(&lfs->data_dirs[k], name) &&
			    pool_is_listed(&lfs->data_dirs[k], name->pool_id))
				return true;
	}
	return false;
}

/* Called before the search, so that a client without the right learns nothing about the block. */
static int right_to_read(struct search *s, struct datanode *dn)
{
	const struct block_name *n = s->name;

	if (!policy_allows_datanode(s->policy, datanode_name(dn)))
		return -EACCES;
	return tokens_check(datanode_tokens(dn), n->pool_id, n->block_id, n->token,
			    n->token_length);
}

/* Adds an inquiry if the caller may ask v, and v may have the block. Returns 0 or -ENOMEM. */
static int consider(struct search *s, struct served *v)
{
	int right = right_to_read(s, v->datanode);
	int error = 0;

	if (right == 0)
		inquiries_add(s->inquiries, v, s->name, &error);
	else if (shows_pool(v->layout, s->name))
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

static bool is_slow(const struct inquiry *q)
{
	return q->served->parser && parser_is_slow(q->served->parser);
}

/*
 * With the lock of the inquiries. True if an answer is still to be waited for: a named block is
 * there with the first replica; an unnamed one is not decided by those who are slow.
 */
static bool is_open(const struct search *s, const bool *slow)
{
	bool open = false;

	for (unsigned i = 0; i < s->inquiries->count; i++) {
		const struct inquiry *q = &s->inquiries->inquiry[i];

		if (q->replica && s->name->num_storages)
			return false;
		open |= !q->answered && !slow[i];
	}
	return open;
}

/* Asks several datanodes beside each other. Returns 0 or -ENOMEM. */
static int ask_beside_each_other(struct search *s)
{
	struct inquiries *all = s->inquiries;
	uint64_t until = s->name->num_storages ? all->until : clock_ms() + UNNAMED_MS;
	bool *slow = calloc(all->count, sizeof(*slow));

	if (!slow)
		return -ENOMEM;
	for (unsigned i = 0; i < all->count; i++)
		slow[i] = !s->name->num_storages && is_slow(&all->inquiry[i]);
	for (unsigned i = 0; i < all->count; i++)
		inquiry_send(&all->inquiry[i]);
	waiting_announce();
	pthread_mutex_lock(&all->lock);
	while (is_open(s, slow) && clock_wait(&all->answer, &all->lock, until))
		;
	pthread_mutex_unlock(&all->lock);
	atomic_store(&all->over, true);
	free(slow);
	return 0;
}

/* ---- what the answers mean ----------------------------------------------------------------- */

/* A pool that two clusters show is opened only by storages. The reader can ask its NameNode. */
static bool is_of_two_clusters(struct search *s, const struct block_replica *r)
{
	const char *pool = s->name->pool_id;

	if (!pool_is_ambiguous(s->roster, s->policy, r->key.dir, pool))
		return false;
	if (atomic_fetch_add(&s->store->ambiguous, 1) == 0)
		log_warn("pool %s is shown by datanodes of different clusters: its blocks are read "
			 "only by clients that name storages; are these clusters copies?",
			 pool);
	return true;
}

/* True if there is a datanode that the caller may read and that nobody has looked into yet. */
static bool some_are_unseen(const struct search *s)
{
	for (unsigned i = 0; i < s->roster->count; i++) {
		struct datanode *dn = s->roster->datanode[i];

		if (!datanode_is_seen(dn) && policy_allows_datanode(s->policy, datanode_name(dn)))
			return true;
	}
	return false;
}

/* The answers together. */
struct outcome {
	struct block_replica *replica; /* a reference; NULL: nobody has the block */
	unsigned found;                /* how many have it */
	bool sure;                     /* all others have said that they have not */
};

/*
 * With the lock of the inquiries. True if the datanode has said that it has no such replica. Who
 * has one that cannot be read now has not said so, nor who cannot be asked. A file system in a use
 * that cannot be followed is EBUSY, too; nobody reads from it, so it has none for readers.
 */
static bool has_none(const struct inquiry *q)
{
	if (!q->answered)
		return false;
	return q->error == -ENOENT || q->error == -ENODEV || q->error == -EEXIST ||
	       (q->error == -EBUSY && !is_slow(q));
}

static struct outcome judge(struct search *s)
{
	struct inquiries *all = s->inquiries;
	struct outcome o = {.sure = true};

	pthread_mutex_lock(&all->lock);
	for (unsigned i = 0; i < all->count; i++) {
		struct inquiry *q = &all->inquiry[i];

		s->error = more_telling(s->error, q->answered ? q->error : -EBUSY);
		o.sure &= q->replica || has_none(q);
		if (!q->replica)
			continue;
		if (!o.replica)
			o.replica = replica_get(q->replica);
		o.found++;
	}
	pthread_mutex_unlock(&all->lock);
	return o;
}

/*
 * Returns 1 and the replica, 0 if there is none, or -EXDEV if only storage ids can tell which one
 * is meant.
 */
static int decide(struct search *s, struct block_replica **ret)
{
	struct outcome o = judge(s);

	*ret = o.replica;
	if (s->name->num_storages)
		return o.found > 0;
	if (!o.found)
		return !o.sure && s->error == -EBUSY && s->inquiries->count > 1 ? -EXDEV : 0;
	if (!is_of_two_clusters(s, o.replica) && o.found == 1 && o.sure && !some_are_unseen(s))
		return 1;
	replica_put(o.replica);
	return -EXDEV;
}

/* As decide(), or -ENOMEM. */
static int search_once(struct search *s, struct block_replica **ret)
{
	int r;

	s->error = 0;
	s->inquiries =
		inquiries_new(s->store->cache, s->name, s->roster->count, clock_ms() + SEARCH_MS);
	r = s->inquiries ? choose_whom_to_ask(s) : -ENOMEM;
	if (r == 0 && s->inquiries->count == 1)
		inquiry_run(&s->inquiries->inquiry[0]);
	else if (r == 0 && s->inquiries->count > 1)
		r = ask_beside_each_other(s);
	if (r == 0)
		r = decide(s, ret);
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

		if (policy_allows_datanode(s->policy, datanode_name(dn)) &&
		    (by_name || !datanode_is_complete(dn)))
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

		if (policy_allows_datanode(s->policy, datanode_name(dn)))
			any |= datanode_await_first_look(dn);
	}
	return any;
}

/* True if there are datanodes, and the caller may read none of them. */
static bool may_read_none(const struct search *s)
{
	for (unsigned i = 0; i < s->roster->count; i++)
		if (policy_allows_datanode(s->policy, datanode_name(s->roster->datanode[i])))
			return false;
	return s->roster->count > 0;
}

static int search(struct search *s, struct block_replica **ret)
{
	int r = search_once(s, ret);

	if (r == 0 && await_first_looks(s))
		r = search_once(s, ret);
	if (r != 0)
		return r < 0 ? r : 0;
	look_again(s);
	if (s->error)
		return s->error;
	return may_read_none(s) ? -EACCES : -ENODEV;
}

int search_block(struct block_store *store, const struct policy *p, const struct block_name *name,
		 struct block_replica **ret)
{
	struct roster *all = registry_roster(store->registry);
	struct search s = {.store = store, .policy = p, .name = name, .roster = all};
	int r = search(&s, ret);

	roster_put(all);
	return r;
}
