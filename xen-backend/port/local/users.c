// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements users.h: a list with a record for each user who holds something or connected of late.
 *
 * Of the users who hold nothing, those are remembered who used up most of their turns. The others
 * lose nothing, or little.
 */
#include "port/local/users.h"

#include <stdlib.h>

static const struct pace_limit connects = {LOCAL_CONNECTS_AT_ONCE, LOCAL_CONNECT_EACH_MS};
static const struct pace_limit violations = {LOCAL_VIOLATIONS_AT_ONCE, LOCAL_VIOLATION_EACH_MS};

static bool is_idle(const struct local_user *user)
{
	for (unsigned kind = 0; kind < LOCAL_PLACES; kind++)
		if (user->held[kind])
			return false;
	return true;
}

static uint64_t paid(const struct local_user *user)
{
	return user->connects.paid > user->violations.paid ? user->connects.paid
							   : user->violations.paid;
}

/* Makes room for one more user. */
static void forget_idle(struct local_users *u)
{
	struct local_user **least = NULL, *user;
	unsigned count = 0;

	for (struct local_user **link = &u->first; *link; link = &(*link)->next) {
		if (!is_idle(*link))
			continue;
		count++;
		if (!least || paid(*link) < paid(*least))
			least = link;
	}
	if (count < LOCAL_IDLE_USERS)
		return;
	user = *least;
	*least = user->next;
	free(user);
}

struct local_user *local_users_find(struct local_users *u, uid_t uid)
{
	struct local_user *user = u->first;

	while (user && user->uid != uid)
		user = user->next;
	if (user)
		return user;
	forget_idle(u);
	user = calloc(1, sizeof(*user));
	if (!user)
		return NULL;
	user->uid = uid;
	user->next = u->first;
	u->first = user;
	return user;
}

bool local_users_take(struct local_users *u, struct local_user *user, enum local_place kind,
		      uint64_t n)
{
	/* user->held + n <= free, where free = 2 * most - held - n */
	if (u->held[kind] + user->held[kind] + 2 * n > 2 * u->most[kind])
		return false;
	u->held[kind] += n;
	user->held[kind] += n;
	return true;
}

void local_users_give_back(struct local_users *u, struct local_user *user, enum local_place kind,
			   uint64_t n)
{
	u->held[kind] -= n;
	user->held[kind] -= n;
}

void local_users_free(struct local_users *u)
{
	struct local_user *next;

	for (struct local_user *user = u->first; user; user = next) {
		next = user->next;
		free(user);
	}
	u->first = NULL;
}

const char *local_user_connect(struct local_user *user, uint64_t now)
{
	if (pace_wait(&user->violations, &violations, now))
		return "programs of this user break the protocol too often";
	if (pace_wait(&user->connects, &connects, now))
		return "this user connects too often";
	pace_use(&user->connects, &connects, now);
	return NULL;
}

void local_user_violated(struct local_user *user, uint64_t now)
{
	pace_use(&user->violations, &violations, now);
}
