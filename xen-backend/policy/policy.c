// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What one device may read and publish: four lists of names; see policy.h.  ring/, read/ and peer/
 * ask it.
 *
 * A list is kept as the string that was given.  A look-up walks over the string and compares names
 * by length and content.  So nothing is copied or sorted, and a walk takes a few dozen bytes.
 */
#include "policy/policy.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "vread-ring-user.h"

#define MAX_LIST 65536U

struct policy {
	enum policy_role role;
	pthread_rwlock_t lock; /* protects the lists */
	char *datanodes;       /* "" none, "*" all; so the other lists */
	char *pools;
	char *publish; /* datanodes */
	char *unnamed; /* datanodes */
};

/* Returns NULL if the list is well formed, else what was expected. */
static const char *list_error(const char *list)
{
	size_t length = strlen(list);
	size_t name = 0;

	if (length == 0 || strcmp(list, "*") == 0)
		return NULL;
	if (length > MAX_LIST)
		return "a list of at most 65536 bytes";
	for (size_t i = 0; i <= length; i++) {
		unsigned char c = (unsigned char)list[i];

		if (c == ' ' || c == '\0') {
			if (name == 0)
				return "names separated by exactly one space";
			name = 0;
			continue;
		}
		if (c == '*')
			return "\"*\" alone, or names";
		if (c < 0x21 || c > 0x7e || c == '/')
			return "names of printable ASCII without '/'";
		if (++name > VREAD_MAX_POOL_ID)
			return "names of at most 255 bytes";
	}
	return NULL;
}

struct policy *policy_new(enum policy_role role, const char *allow_datanodes,
			  const char *allow_pools, const char **ret_error)
{
	const char *datanodes = allow_datanodes ? allow_datanodes : "";
	const char *pools = allow_pools ? allow_pools : "";
	const char *error = list_error(datanodes);
	struct policy *p;

	if (!error)
		error = list_error(pools);
	if (error) {
		*ret_error = error;
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (p) {
		p->role = role;
		pthread_rwlock_init(&p->lock, NULL);
		p->datanodes = strdup(datanodes);
		p->pools = strdup(pools);
		p->publish = strdup("");
		p->unnamed = strdup("");
	}
	if (!p || !p->datanodes || !p->pools || !p->publish || !p->unnamed) {
		policy_free(p);
		*ret_error = "more memory";
		return NULL;
	}
	return p;
}

void policy_free(struct policy *p)
{
	if (!p)
		return;
	pthread_rwlock_destroy(&p->lock);
	free(p->datanodes);
	free(p->pools);
	free(p->publish);
	free(p->unnamed);
	free(p);
}

static const char *set_list(char **list, const char *value)
{
	const char *error = list_error(value);
	char *copy;

	if (error)
		return error;
	copy = strdup(value);
	if (!copy)
		return "more memory";
	free(*list);
	*list = copy;
	return NULL;
}

const char *policy_set_publish(struct policy *p, const char *datanodes)
{
	return set_list(&p->publish, datanodes);
}

const char *policy_set_unnamed(struct policy *p, const char *datanodes)
{
	return set_list(&p->unnamed, datanodes);
}

static void swap(char **a, char **b)
{
	char *t = *a;

	*a = *b;
	*b = t;
}

void policy_replace(struct policy *p, struct policy *other)
{
	pthread_rwlock_wrlock(&p->lock);
	swap(&p->datanodes, &other->datanodes);
	swap(&p->pools, &other->pools);
	swap(&p->publish, &other->publish);
	swap(&p->unnamed, &other->unnamed);
	pthread_rwlock_unlock(&p->lock);
	policy_free(other);
}

bool policy_equals(const struct policy *a, const struct policy *b)
{
	return strcmp(a->datanodes, b->datanodes) == 0 && strcmp(a->pools, b->pools) == 0 &&
	       strcmp(a->publish, b->publish) == 0 && strcmp(a->unnamed, b->unnamed) == 0;
}

enum policy_role policy_role(const struct policy *p)
{
	return p->role;
}

/* The lock is no part of the policy's value, so it may be taken in a const policy. */
static pthread_rwlock_t *lock_of(const struct policy *p)
{
	return (pthread_rwlock_t *)&p->lock;
}

/* Looks a name up in one of p's lists, under the lock. The list "*" has every name. */
static bool has(const struct policy *p, char *const *list, const char *name)
{
	bool found;

	pthread_rwlock_rdlock(lock_of(p));
	found = strcmp(*list, "*") == 0 || words_have(*list, name, strlen(name));
	pthread_rwlock_unlock(lock_of(p));
	return found;
}

bool policy_allows_datanode(const struct policy *p, const char *datanode)
{
	return has(p, &p->datanodes, datanode);
}

bool policy_allows_pool(const struct policy *p, const char *pool_id)
{
	return has(p, &p->pools, pool_id);
}

bool policy_is_publisher(const struct policy *p)
{
	bool is;

	pthread_rwlock_rdlock(lock_of(p));
	is = p->role == POLICY_DATANODE || p->publish[0];
	pthread_rwlock_unlock(lock_of(p));
	return is;
}

bool policy_may_publish(const struct policy *p, const char *datanode)
{
	return has(p, &p->publish, datanode);
}

bool policy_takes_unnamed(const struct policy *p, const char *datanode)
{
	return has(p, &p->unnamed, datanode);
}

bool policy_takes_any_unnamed(const struct policy *p)
{
	bool any;

	pthread_rwlock_rdlock(lock_of(p));
	any = p->unnamed[0];
	pthread_rwlock_unlock(lock_of(p));
	return any;
}
