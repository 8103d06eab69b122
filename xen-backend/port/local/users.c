// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements users.h: a pace for each user that connected of late. conn.c calls it.
 *
 * If the table is full, the user that may connect most often gives its place up: that user loses
 * nothing, or little.
 */
#include "port/local/users.h"

static const struct pace_limit limit = {LOCAL_CONNECTS_AT_ONCE, LOCAL_CONNECT_EACH_MS};

static struct pace *find(struct local_users *u, uid_t uid)
{
	unsigned place = 0;

	for (unsigned i = 0; i < u->count; i++) {
		if (u->user[i].uid == uid)
			return &u->user[i].pace;
		if (u->user[i].pace.paid < u->user[place].pace.paid)
			place = i;
	}
	if (u->count < LOCAL_MAX_USERS)
		place = u->count++;
	u->user[place].uid = uid;
	u->user[place].pace = (struct pace){0};
	return &u->user[place].pace;
}

bool local_users_connect(struct local_users *u, uid_t uid, uint64_t now)
{
	struct pace *p = find(u, uid);

	if (pace_wait(p, &limit, now))
		return false;
	pace_use(p, &limit, now);
	return true;
}
