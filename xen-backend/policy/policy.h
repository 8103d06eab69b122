/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy.h - what one device may read, and for which datanodes it may publish.
 *
 * Built by a port from what only the host's operator can write, and changed only
 * as a whole.  Threads: any.  Deny is the default.
 */
#ifndef VREAD_POLICY_H
#define VREAD_POLICY_H

#include <stdbool.h>

enum policy_role { POLICY_CLIENT, POLICY_DATANODE };

struct policy;

/* Lists are names separated by single spaces, or "*" for all; NULL or "" for none.
 * A device of role datanode may publish for allow_datanodes, any other for none.
 * Returns NULL and sets *ret_error (static string: what was expected) on malformed lists. */
struct policy *policy_new(enum policy_role role, const char *allow_datanodes,
			  const char *allow_pools, const char **ret_error);
void policy_free(struct policy *p);
/* For a new policy: it may publish for these, whatever its role.  NULL, or what was
 * expected (static string). */
const char *policy_set_publish(struct policy *p, const char *datanodes);

/* From now on p says what other said, whatever its role; takes over other. */
void policy_replace(struct policy *p, struct policy *other);

enum policy_role policy_role(const struct policy *p);
bool policy_allows_datanode(const struct policy *p, const char *datanode);
bool policy_allows_pool(const struct policy *p, const char *pool_id);
/* Whether it may publish at all; whether it may for that datanode. */
bool policy_is_publisher(const struct policy *p);
bool policy_may_publish(const struct policy *p, const char *datanode);

#endif
