// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whose word counts for which replica: block_publish() and block_hold(); see
 * block.h and published.h.
 */
#include <errno.h>
#include <time.h>

#include "block/internal.h"
#include "policy/policy.h"
#include "vreadif.h"

static time_t seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec;
}

/*
 * Each datanode that shows the storage counts if p may speak for it.  The pool
 * need not be known: its directory may be younger than the last look at the image.
 */
int block_publish(struct block_store *s, const struct policy *p, const struct block_event *e)
{
	const struct published_event event = {e->pool_id, e->block_id, e->genstamp, e->event};
	struct store_datanode *dn = NULL;
	bool known = false, taken = false;

	if (!policy_allows_pool(p, e->pool_id))
		return -EACCES;
	while ((dn = block_store_find_storage(s, e->storage_id, dn))) {
		known = true;
		if (!policy_may_publish(p, dn->name))
			continue;
		if (published_take(dn->published, &event, seconds()) < 0)
			return -ENOMEM;
		taken = true;
	}
	if (taken && e->event != VREAD_PUBLISH_FINALIZED)
		verified_cache_forget_block(s->ahead.cache, e->pool_id, e->block_id);
	if (taken)
		return 0;
	return known ? -EACCES : -ENODEV;
}

bool block_hold(struct block_handle *h)
{
	published_hold(h->published);
	return !published_withdrawn(h->published, h->pool_id, h->block_id, h->genstamp, seconds());
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

json_t *store_published_status(struct published *p)
{
	return published_json(p, seconds());
}
