/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * users.h - what each user of this host holds of the local port, and how often each may connect;
 * private to the local port.
 *
 * Places are counted by user id, for all connections of the user together. They count until they
 * are really free: pages until the session has ended, an answer until the program has read it. So
 * nobody gets more by closing and connecting again.
 *
 * One rule holds for every kind of place. There are twice as many as one user may hold. A user may
 * take places if it then holds no more than remain free. So one user alone gets all that one user
 * may hold, the next half of that, the next a quarter.
 *
 * Threads: the event loop's.
 */
#ifndef VREAD_LOCAL_USERS_H
#define VREAD_LOCAL_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/pace.h"

#define LOCAL_CONNECTS_AT_ONCE 1000U
#define LOCAL_CONNECT_EACH_MS 10U
#define LOCAL_VIOLATIONS_AT_ONCE 60U
#define LOCAL_VIOLATION_EACH_MS 1000U

#define LOCAL_IDLE_USERS 64U /* that hold nothing and are remembered */

enum local_place {
	LOCAL_HELLOS,      /* connections without a session yet */
	LOCAL_ANSWERS,     /* answers whose descriptors the program has not taken */
	LOCAL_CONNECTIONS, /* with a session, or over with such an answer */
	LOCAL_PAGES,       /* of pools and rings */
	LOCAL_LARGE_PAGES, /* of these, the pages of shares that are not small */
	LOCAL_PLACES
};

struct local_user {
	struct local_user *next;
	uid_t uid;
	struct pace connects, violations;
	uint64_t held[LOCAL_PLACES];
};

/* A struct of zeros knows no user. */
struct local_users {
	struct local_user *first;
	uint64_t most[LOCAL_PLACES]; /* that one user may hold; may change at any time */
	uint64_t held[LOCAL_PLACES]; /* by all users */
};

/*
 * Returns the user, who stays as long as it holds a place. NULL: out of memory. A user who holds
 * nothing may be forgotten by the next call.
 */
struct local_user *local_users_find(struct local_users *u, uid_t uid);
/* Takes n places of a kind. False: the user would hold more than remain free. */
bool local_users_take(struct local_users *u, struct local_user *user, enum local_place kind,
		      uint64_t n);
/* Gives back n places that the user has taken. */
void local_users_give_back(struct local_users *u, struct local_user *user, enum local_place kind,
			   uint64_t n);
/* Forgets all users. */
void local_users_free(struct local_users *u);

/* Counts a connect of the user. Returns NULL, or why the user must wait (static string). */
const char *local_user_connect(struct local_user *user, uint64_t now);
/* Counts a connection that broke the protocol. */
void local_user_violated(struct local_user *user, uint64_t now);

#endif
