// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements block_publish(), block_take_keys(), block_hold() and block_release() of block.h. An
 * event or keys count only for the datanodes that the caller may publish for (datanode/published.h,
 * policy/tokens.h). ring/dispatch.c calls them. peer/answering/answer.c calls the last two.
 */
#include <errno.h>

#include "base/clock.h"
#include "datanode/registry.h"
#include "read/read_private.h"
#include "policy/tokens.h"
#include "policy/policy.h"
#include "vreadif.h"

static time_t seconds(void)
{
	return (time_t)(clock_ms() / 1000);
}

/*
 * An event or keys on their way to the datanodes of a storage. A datanode takes them if it shows
 * the storage and policy may publish for it. The pool need not be known: the directory of a pool
 * may be newer than the last examination of the image.
 */
struct taking {
	const struct policy *policy;
	const struct published_event *event;
	const struct block_keys *keys; /* set if event is NULL */
	bool taken;
};

static int take(void *ctx, struct datanode *dn)
{
	struct taking *t = ctx;
	int r;

	if (!policy_may_publish(t->policy, datanode_name(dn)))
		return 0;
	r = t->event ? published_take(datanode_published(dn), t->event, seconds())
		     : tokens_take(datanode_tokens(dn), t->keys->pool_id, t->keys->required,
				   t->keys->keys, t->keys->keys_length);
	t->taken |= r == 0;
	return r;
}

/* Returns the status. known: result of registry_find_storage(). */
static int outcome(const struct taking *t, int known)
{
	if (known < 0)
		return known;
	if (t->taken)
		return 0;
	return known ? -EACCES : -ENODEV;
}

/* As registry_find_storage() with take(). Just after the start of vreadd the images may not have
 * been looked into yet; the event waits a moment for that. */
static int take_where(struct block_store *s, const char *storage_id, struct taking *t)
{
	int known = registry_find_storage(s->registry, storage_id, take, t);

	if (known == 0 && registry_await_first_looks(s->registry))
		known = registry_find_storage(s->registry, storage_id, take, t);
	return known;
}

int block_publish(struct block_store *s, const struct policy *p, const struct block_event *e)
{
	const struct published_event event = {e->pool_id, e->block_id, e->genstamp, e->event};
	struct taking t = {.policy = p, .event = &event};
	int known;

	if (!policy_allows_pool(p, e->pool_id))
		return -EACCES;
	known = take_where(s, e->storage_id, &t);
	if (t.taken && e->event != VREAD_PUBLISH_FINALIZED)
		verified_cache_forget_block(s->ahead.cache, e->pool_id, e->block_id);
	return outcome(&t, known);
}

int block_take_keys(struct block_store *s, const struct policy *p, const struct block_keys *k)
{
	struct taking t = {.policy = p, .keys = k};

	if (!policy_allows_pool(p, k->pool_id))
		return -EACCES;
	return outcome(&t, take_where(s, k->storage_id, &t));
}

static bool is_allowed(struct block_handle *h, const struct policy *p)
{
	struct block_replica *r = handle_replica(h);
	bool is = policy_allows_pool(p, h->pool_id) &&
		  policy_allows_datanode(p, datanode_name(r->served->datanode));

	replica_put(r);
	return is;
}

bool block_is_granted(struct block_handle *h)
{
	struct block_replica *r = handle_replica(h);
	bool granted = tokens_hold(datanode_tokens(r->served->datanode), h->pool_id, &h->grant);

	replica_put(r);
	return granted;
}

bool block_hold(struct block_handle *h, const struct policy *p)
{
	bool allowed = is_allowed(h, p); /* before the hold: nothing may wait during a hold */

	published_hold(h->published);
	return allowed &&
	       !published_withdrawn(h->published, h->pool_id, h->block_id, h->genstamp, seconds());
}

void block_release(struct block_handle *h)
{
	published_release(h->published);
}

bool store_withdrawn(struct published *p, const char *pool_id, int64_t block_id, uint64_t genstamp)
{
	bool withdrawn;

	published_hold(p);
	withdrawn = published_withdrawn(p, pool_id, block_id, genstamp, seconds());
	published_release(p);
	return withdrawn;
}
