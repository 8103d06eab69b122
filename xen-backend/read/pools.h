/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pools.h - tells block pools apart that have one id and belong to different clusters. search.c
 * calls it.
 */
#ifndef VREAD_READ_POOLS_H
#define VREAD_READ_POOLS_H

#include <stdbool.h>

#include "datanode/datanode.h"
#include "layout/layout.h"
#include "policy/policy.h"

/*
 * True if the directory had that pool when the image was last examined. A newer pool is not listed
 * yet.
 */
bool pool_is_listed(const struct layout_data_dir *d, const char *pool);

/*
 * True if a datanode that the caller may read shows the pool under another cluster or namespace id
 * than the directory `found` does: clusters that were cloned, or a guest that lies. Then nobody can
 * say whose blocks the caller wants, unless the request names storages.
 */
bool pool_is_ambiguous(const struct roster *all, const struct policy *p,
		       const struct layout_data_dir *found, const char *pool);

#endif
