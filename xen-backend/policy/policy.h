/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy.h - what one device may read, and for which datanodes it may publish.  port/xen makes a
 * policy for each device, control/ one for the local port, and peer/answering one for each peer;
 * ring/, read/ and peer/ ask it.
 *
 * A policy is made from values that only the operator of the host can write, and is changed only as
 * a whole.  Deny is the default.
 *
 * Threads: any.
 */
#ifndef VREAD_POLICY_H
#define VREAD_POLICY_H

#include <stdbool.h>

enum policy_role { POLICY_CLIENT, POLICY_DATANODE };

struct policy;

/* A list is names separated by single spaces, or "*" for all; NULL or "" for none.  The policy
 * allows no publishing, until policy_set_publish() is called.  Returns NULL and sets *ret_error
 * (static string: what was expected) on malformed lists, or when out of memory. */
struct policy *policy_new(enum policy_role role, const char *allow_datanodes,
			  const char *allow_pools, const char **ret_error);
void policy_free(struct policy *p);
/* Only for a policy that no other thread uses yet: the device may publish for these datanodes.
 * Returns NULL, or what was expected (static string). */
const char *policy_set_publish(struct policy *p, const char *datanodes);
/* Likewise: OPENs without storage ids are answered from these datanodes, which are one cluster.
 * None unless set: such OPENs are refused. */
const char *policy_set_unnamed(struct policy *p, const char *datanodes);

/* Replaces the lists of p with those of other.  The role of p stays.  Takes over other. */
void policy_replace(struct policy *p, struct policy *other);

/* True if the lists of a and b are the same texts. No other thread may replace a or b meanwhile. */
bool policy_equals(const struct policy *a, const struct policy *b);

enum policy_role policy_role(const struct policy *p);
bool policy_allows_datanode(const struct policy *p, const char *datanode);
bool policy_allows_pool(const struct policy *p, const char *pool_id);
/* policy_is_publisher(): true if the device may publish at all.  policy_may_publish(): true if it
 * may publish for that datanode. */
bool policy_is_publisher(const struct policy *p);
bool policy_may_publish(const struct policy *p, const char *datanode);
/* policy_takes_any_unnamed(): true if OPENs without storage ids are answered at all.
 * policy_takes_unnamed(): true if that datanode is asked for them. */
bool policy_takes_any_unnamed(const struct policy *p);
bool policy_takes_unnamed(const struct policy *p, const char *datanode);

#endif
