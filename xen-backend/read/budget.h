/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * budget.h - the memory that the open blocks of one device, or of one peer, may take. ring/ and
 * peer/answering/ own the budgets; open.c and ahead.c take memory out of them.
 *
 * What a block takes is decided by the image: a file in 65,536 pieces takes 1.5 MiB for its
 * extents. A replica that several handles share counts for each of them. So a guest can tell from
 * its own handles what it has left, and no guest pays for another.
 *
 * Threads: any.
 */
#ifndef VREAD_READ_BUDGET_H
#define VREAD_READ_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget {
	_Atomic size_t most; /* bytes; 0: no limit */
	_Atomic size_t used;
	_Atomic uint64_t refused; /* times that budget_take() returned false */
};

/*
 * Takes bytes out of the budget. False: there is not as much left, and nothing was taken. A budget
 * of NULL has no limit, here and below.
 */
bool budget_take(struct budget *b, size_t bytes);
/*
 * As budget_take(), for memory that a reader can do without: taken only if no more than half of the
 * budget is in use then. A refusal is not counted.
 */
bool budget_take_spare(struct budget *b, size_t bytes);
/* Gives back bytes that were taken. */
void budget_give(struct budget *b, size_t bytes);

#endif
