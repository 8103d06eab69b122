/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search.h - asks all datanodes that may have a block, beside each other. open.c calls it.
 *
 *     block_open() --> search_block() --> one datanode:  on the caller's thread (inquiry.h)
 *                                     --> several:       on threads of theirs (errands.h)
 *
 * A request with storage ids gets the first replica that is found: the NameNode named these
 * storages, so each of them has the block. The other datanodes are not waited for.
 *
 * A request without storage ids could mean the block of any datanode, and any guest can write a
 * block of that name into its image. So such a request gets a replica only if exactly one datanode
 * has the block and every other one has said that it has not. Otherwise the answer is -EXDEV, and
 * the reader asks its NameNode for the storages. Which datanode comes first never matters. Who is
 * not served, or was refused to the reader, is not asked and does not count.
 */
#ifndef VREAD_READ_SEARCH_H
#define VREAD_READ_SEARCH_H

#include "policy/policy.h"
#include "read/block.h"
#include "read/replica.h"

/*
 * Finds the replica of that name among the datanodes that p allows. Returns 0 and a reference in
 * *ret, or negative errno: of the errors met, the one that says most about the block.
 * Ends after 10 s, if several datanodes are asked without storage ids after 1 s.
 */
int search_block(struct block_store *store, const struct policy *p, const struct block_name *name,
		 struct block_replica **ret);

#endif
