// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements inquiry.h. search.c calls it.
 */
#include "read/inquiry.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "datanode/datanode.h"
#include "datanode/published.h"
#include "read/find.h"
#include "read/read_private.h"

struct inquiries *inquiries_new(struct replica_cache *c, const struct block_name *name,
				unsigned max, uint64_t until)
{
	struct inquiries *all = calloc(1, sizeof(*all) + max * sizeof(all->inquiry[0]));

	if (!all)
		return NULL;
	atomic_init(&all->references, 1);
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->answer, NULL);
	all->cache = c;
	all->pool_id = strdup(name->pool_id);
	all->party = strdup(name->party ?: "");
	all->block_id = name->block_id;
	all->genstamp = name->genstamp;
	all->visible_length = name->visible_length;
	all->until = until;
	if (all->pool_id && all->party)
		return all;
	inquiries_put(all);
	return NULL;
}

void inquiries_put(struct inquiries *all)
{
	if (!all || atomic_fetch_sub(&all->references, 1) != 1)
		return;
	for (unsigned i = 0; i < all->count; i++) {
		replica_put(all->inquiry[i].replica);
		served_put(all->inquiry[i].served);
		free(all->inquiry[i].places);
	}
	pthread_cond_destroy(&all->answer);
	pthread_mutex_destroy(&all->lock);
	free(all->party);
	free(all->pool_id);
	free(all);
}

/* ---- where to look ------------------------------------------------------------------ */

bool inquiry_concerns(const struct layout_data_dir *d, const struct block_name *name)
{
	for (unsigned i = 0; i < name->num_storages; i++)
		if (!strcmp(name->storage_ids[i], d->storage_id))
			return true;
	return name->num_storages == 0;
}

/* Stores the places in ret, unless that is NULL. Returns their number. */
static unsigned find_places(const struct served *v, const struct block_name *name,
			    struct inquiry_place *ret)
{
	unsigned count = 0;

	for (unsigned i = 0; i < v->layout->num_filesystems; i++) {
		const struct layout_filesystem *lfs = &v->layout->filesystems[i];

		for (unsigned k = 0; k < lfs->num_data_dirs; k++) {
			if (!inquiry_concerns(&lfs->data_dirs[k], name))
				continue;
			if (ret)
				ret[count] = (struct inquiry_place){&lfs->data_dirs[k], &v->fs[i]};
			count++;
		}
	}
	return count;
}

bool inquiries_add(struct inquiries *all, struct served *v, const struct block_name *name,
		   int *ret_error)
{
	struct inquiry *q = &all->inquiry[all->count];
	unsigned count = find_places(v, name, NULL);

	*ret_error = 0;
	if (count == 0)
		return false;
	*ret_error = -ENOMEM;
	q->places = calloc(count, sizeof(*q->places));
	if (!q->places)
		return false;
	*ret_error = 0;
	q->num_places = find_places(v, name, q->places);
	q->all = all;
	q->served = served_get(v);
	all->count++;
	return true;
}

/* ---- looking ------------------------------------------------------------------------- */

/*
 * Ranks errors by how much they say about the block. An error of a block that was found ranks above
 * an error of a block that was not found. A refused token ranks highest.
 */
static int rank(int error)
{
	switch (error) {
	case 0:
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
		return 5;
	}
}

int more_telling(int a, int b)
{
	return rank(b) > rank(a) ? b : a;
}

static int look(const struct inquiry *q, const struct inquiry_place *place,
		struct block_replica **ret)
{
	const struct inquiries *all = q->all;
	struct replica_key key = {place->dir, all->pool_id, all->block_id, all->genstamp};
	const uint64_t *visible = all->visible_length ? &all->visible_length : NULL;

	if (atomic_load(&all->over) || clock_ms() >= all->until)
		return -EBUSY;
	if (store_withdrawn(datanode_published(q->served->datanode), all->pool_id, all->block_id,
			    all->genstamp))
		return -ENOENT;
	return replica_find(all->cache, q->served, place->fs, &key, visible, ret);
}

static void answer(struct inquiry *q, int error, struct block_replica *found)
{
	struct inquiries *all = q->all;

	pthread_mutex_lock(&all->lock);
	q->answered = true;
	q->error = error;
	q->replica = found;
	pthread_cond_signal(&all->answer);
	pthread_mutex_unlock(&all->lock);
}

void inquiry_run(struct inquiry *q)
{
	struct block_replica *found = NULL;
	int error = -ENODEV;

	for (unsigned i = 0; i < q->num_places && !found; i++) {
		int r = look(q, &q->places[i], &found);

		error = r == 0 ? 0 : more_telling(error, r);
	}
	answer(q, error, found);
}

static void run_errand(struct errand *e)
{
	struct inquiry *q = (struct inquiry *)((char *)e - offsetof(struct inquiry, errand));
	struct inquiries *all = q->all;

	inquiry_run(q);
	inquiries_put(all);
}

void inquiry_send(struct inquiry *q)
{
	atomic_fetch_add(&q->all->references, 1);
	q->errand.run = run_errand;
	q->errand.party = q->all->party;
	if (datanode_run(q->served->datanode, &q->errand) == 0)
		return;
	answer(q, -EBUSY, NULL);
	inquiries_put(q->all);
}
