/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search.h - asks all datanodes that may have a block, beside each other. open.c calls it.
 *
 *     block_open() --> search_block() --> one datanode:  on the caller's thread (inquiry.h)
 *                                     --> several:       on threads of theirs (errands.h)
 *
 * The request's storage ids say which datanodes may have the block: the client's NameNode named
 * them for this block. Pool, block id and generation stamp are no proof: a cloned cluster or a
 * restored NameNode gives the same name to other bytes. The first replica that is found wins, and
 * the other datanodes are not waited for.
 *
 * A request without storage ids is answered only if the operator says that datanodes of this host
 * are one cluster (policy_takes_unnamed()). These datanodes are asked.
 */
#ifndef VREAD_READ_SEARCH_H
#define VREAD_READ_SEARCH_H

#include "policy/policy.h"
#include "policy/tokens.h"
#include "read/block.h"
#include "read/replica.h"

/*
 * Finds the replica of that name among the datanodes that p allows. Returns 0, a reference in *ret
 * and how the request was judged, or negative errno: of the errors met, the one that says most
 * about the block.
 * Ends after 10 s.
 */
int search_block(struct block_store *store, const struct policy *p, const struct block_name *name,
		 struct block_replica **ret, struct token_grant *ret_grant);

#endif
