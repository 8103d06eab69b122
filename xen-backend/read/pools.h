/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pools.h - tells block pools apart that have one id and belong to different clusters. open.c calls
 * it.
 */
#ifndef VREAD_READ_POOLS_H
#define VREAD_READ_POOLS_H

#include <stdbool.h>

#include "datanode/datanode.h"
#include "layout/layout.h"
#include "policy/policy.h"

/*
 * True if a datanode that the caller may read shows the pool under another cluster or namespace id
 * than the directory `found` does: clusters that were cloned, or a guest that lies. Then nobody can
 * say whose blocks the caller wants, unless the request names storages. Datanodes of one cluster
 * have the same bytes in replicas of one block and stamp.
 */
bool pool_is_ambiguous(const struct roster *all, const struct policy *p,
		       const struct layout_data_dir *found, const char *pool);

#endif
