/* SPDX-License-Identifier: GPL-2.0 */
/*
 * share.h - what each user of this guest holds of a device, so that one user's processes leave
 * something to those of others.  vread_may_take() of check.h is the rule.
 *
 * A user is a user id of the initial user namespace.  Who opened a file is charged for what is done
 * through it.  A struct exists while such a file is open, or something of it is in flight.
 *
 * Any context unless the comment says otherwise.
 */
#ifndef VREAD_SHARE_H
#define VREAD_SHARE_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uidgid.h>

#include "check.h"

enum vread_share_kind {
	VREAD_SHARE_CONTROL,  /* control pages */
	VREAD_SHARE_SLICES,   /* pages of slices */
	VREAD_SHARE_REQUESTS, /* places on the rings */
	VREAD_SHARE_KINDS,
};

struct vread_shares;

struct vread_user {
	struct list_head node;
	struct vread_shares *shares;
	kuid_t id;
	unsigned int refs;
	u32 held[VREAD_SHARE_KINDS];
};

/* All users of a device. */
struct vread_shares {
	spinlock_t lock; /* protects all that follows, and the users */
	struct list_head users;
	struct vread_common common[VREAD_SHARE_KINDS];
};

/* There is nothing to share until vread_shares_set(). */
void vread_shares_init(struct vread_shares *shares);
void vread_shares_set(struct vread_shares *shares, enum vread_share_kind kind, u32 capacity,
		      u32 reserve);

/* The calling user, with a reference.  NULL: no memory.  Process context. */
struct vread_user *vread_user_get(struct vread_shares *shares);
/* One more reference. */
struct vread_user *vread_user_ref(struct vread_user *user);
/* Gives up a reference.  The user holds nothing if it is the last one. */
void vread_user_put(struct vread_user *user);

/* Charges the user.  False: his share is used up. */
bool vread_share_take(struct vread_user *user, enum vread_share_kind kind, u32 wanted);
void vread_share_give(struct vread_user *user, enum vread_share_kind kind, u32 count);
/* True if the user could take one now. */
bool vread_share_has_room(struct vread_user *user, enum vread_share_kind kind);

#endif
