// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements pools.h: compares the cluster and namespace of a directory with those of all
 * directories that list the same pool.
 */
#include "read/pools.h"

#include <string.h>

#include "datanode/served.h"

/* True if the directory lists the pool.  ret_namespace: 0 if it is not known. */
static bool lists_pool(const struct layout_data_dir *d, const char *pool, uint32_t *ret_namespace)
{
	*ret_namespace = 0;
	for (unsigned i = 0; i < d->num_pools; i++)
		if (!strcmp(d->pools[i], pool)) {
			*ret_namespace = d->namespaces ? d->namespaces[i] : 0;
			return true;
		}
	return false;
}

bool pool_is_listed(const struct layout_data_dir *d, const char *pool)
{
	uint32_t ignored;

	return lists_pool(d, pool, &ignored);
}

static bool differs(const struct layout_data_dir *a, const struct layout_data_dir *b,
		    const char *pool)
{
	uint32_t of_a, of_b;

	(void)lists_pool(a, pool,
			 &of_a); /* a pool that is newer than the last look is not listed */
	if (!lists_pool(b, pool, &of_b))
		return false;
	return strcmp(a->cluster_id, b->cluster_id) != 0 || (of_a && of_b && of_a != of_b);
}

static bool shows_another(const struct image_layout *l, const struct layout_data_dir *found,
			  const char *pool)
{
	for (unsigned i = 0; i < l->num_filesystems; i++)
		for (unsigned k = 0; k < l->filesystems[i].num_data_dirs; k++)
			if (differs(found, &l->filesystems[i].data_dirs[k], pool))
				return true;
	return false;
}

bool pool_is_ambiguous(const struct roster *all, const struct policy *p,
		       const struct layout_data_dir *found, const char *pool)
{
	bool is = false;

	for (unsigned i = 0; i < all->count && !is; i++) {
		struct served *v = NULL;

		if (policy_allows_datanode(p, datanode_name(all->datanode[i])))
			v = datanode_served(all->datanode[i]);
		is = v && shows_another(v->layout, found, pool);
		served_put(v);
	}
	return is;
}
