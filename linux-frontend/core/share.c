// SPDX-License-Identifier: GPL-2.0
/*
 * Implements share.h.
 */
#include <linux/cred.h>
#include <linux/slab.h>

#include "share.h"

void vread_shares_init(struct vread_shares *shares)
{
	spin_lock_init(&shares->lock);
	INIT_LIST_HEAD(&shares->users);
}

void vread_shares_set(struct vread_shares *shares, enum vread_share_kind kind, u32 capacity,
		      u32 reserve)
{
	spin_lock_irq(&shares->lock);
	shares->common[kind].capacity = capacity;
	shares->common[kind].reserve = reserve;
	spin_unlock_irq(&shares->lock);
}

static struct vread_user *find(struct vread_shares *shares, kuid_t id)
{
	struct vread_user *user;

	list_for_each_entry(user, &shares->users, node)
		if (uid_eq(user->id, id))
			return user;
	return NULL;
}

struct vread_user *vread_user_get(struct vread_shares *shares)
{
	struct vread_user *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT), *user;

	if (!fresh)
		return NULL;
	fresh->shares = shares;
	fresh->id = current_uid();
	spin_lock_irq(&shares->lock);
	user = find(shares, fresh->id);
	if (!user) {
		user = fresh;
		fresh = NULL;
		list_add(&user->node, &shares->users);
	}
	user->refs++;
	spin_unlock_irq(&shares->lock);
	kfree(fresh);
	return user;
}

struct vread_user *vread_user_ref(struct vread_user *user)
{
	unsigned long flags;

	spin_lock_irqsave(&user->shares->lock, flags);
	user->refs++;
	spin_unlock_irqrestore(&user->shares->lock, flags);
	return user;
}

void vread_user_put(struct vread_user *user)
{
	struct vread_shares *shares = user->shares;
	unsigned long flags;
	bool last;

	spin_lock_irqsave(&shares->lock, flags);
	last = !--user->refs;
	if (last)
		list_del(&user->node);
	spin_unlock_irqrestore(&shares->lock, flags);
	if (last)
		kfree(user);
}

bool vread_share_take(struct vread_user *user, enum vread_share_kind kind, u32 wanted)
{
	struct vread_common *common = &user->shares->common[kind];
	unsigned long flags;
	bool may;

	spin_lock_irqsave(&user->shares->lock, flags);
	may = vread_may_take(common, user->held[kind], wanted);
	if (may) {
		common->holders += !user->held[kind];
		common->held += wanted;
		user->held[kind] += wanted;
	}
	spin_unlock_irqrestore(&user->shares->lock, flags);
	return may;
}

void vread_share_give(struct vread_user *user, enum vread_share_kind kind, u32 count)
{
	struct vread_common *common = &user->shares->common[kind];
	unsigned long flags;

	spin_lock_irqsave(&user->shares->lock, flags);
	user->held[kind] -= count;
	common->held -= count;
	common->holders -= !user->held[kind];
	spin_unlock_irqrestore(&user->shares->lock, flags);
}

bool vread_share_has_room(struct vread_user *user, enum vread_share_kind kind)
{
	unsigned long flags;
	bool may;

	spin_lock_irqsave(&user->shares->lock, flags);
	may = vread_may_take(&user->shares->common[kind], user->held[kind], 1);
	spin_unlock_irqrestore(&user->shares->lock, flags);
	return may;
}
