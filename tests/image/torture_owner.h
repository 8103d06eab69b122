/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * torture_owner.h - one owner that writes into a mounted file system as a datanode does, at full
 * speed: blocks come, move, are appended to and truncated, and go.
 */
#ifndef VREAD_TORTURE_OWNER_H
#define VREAD_TORTURE_OWNER_H

#include <stdatomic.h>
#include <stdint.h>

#include "torture_content.h"

/* What is there, for readers to ask for: id in the upper half, version in the lower; 0: none. */
struct torture_ledger {
	_Atomic(uint64_t) slots[TORTURE_SLOTS];
	_Atomic(uint64_t) operations, deleted;
	/* Called after each change of a slot; NULL: nobody wants to know. */
	void (*changed)(unsigned slot, uint64_t is);
};

/* Until *stop; ends the process where the file system fails. */
void torture_own(struct torture_ledger *ledger, const char *mount_point, uint64_t seed,
		 const atomic_bool *stop);

#endif
