/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * torture_owner.h - the owner of a torture test. It writes into a mounted file system as a datanode
 * does, at full speed: it creates, moves, appends to, truncates and deletes blocks. torture.c and
 * tests/xen/torture_owner_main.c call it.
 */
#ifndef VREAD_TORTURE_OWNER_H
#define VREAD_TORTURE_OWNER_H

#include <stdatomic.h>
#include <stdint.h>

#include "torture_content.h"

/* The present blocks. A slot has the id in its upper half, the version in its lower; 0: empty. */
struct torture_ledger {
	_Atomic(uint64_t) slots[TORTURE_SLOTS];
	_Atomic(uint64_t) operations, deleted;
	/* Called after each change of a slot. May be NULL. */
	void (*changed)(unsigned slot, uint64_t is);
};

/* Changes blocks until *stop is set. Ends the process if the file system fails. */
void torture_own(struct torture_ledger *ledger, const char *mount_point, uint64_t seed,
		 const atomic_bool *stop);

#endif
