/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * users.h - how often each user of this host may connect to the local port; private to the local
 * port. conn.c asks at each hello.
 */
#ifndef VREAD_LOCAL_USERS_H
#define VREAD_LOCAL_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/pace.h"

#define LOCAL_CONNECTS_AT_ONCE 1000U
#define LOCAL_CONNECT_EACH_MS 10U

#define LOCAL_MAX_USERS 64U /* that are remembered at a time */

struct local_users {
	struct {
		uid_t uid;
		struct pace pace;
	} user[LOCAL_MAX_USERS];
	unsigned count;
};

/* Counts a connect of the user. False: the user has connected too often of late. */
bool local_users_connect(struct local_users *u, uid_t uid, uint64_t now);

#endif
