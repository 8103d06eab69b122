/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * patience.h - how long a worker watches its ring before it sleeps.
 *
 * To be woken costs more than a small read does.  A frontend that reads piece by
 * piece, one after the other, asks again within microseconds: for it watching pays.
 * So it is done only while the pauses were lately shorter than MAX_NS, and given up
 * after one that was not: what watching in vain can cost is one MAX_NS per pause
 * that follows a short one.
 */
#ifndef VREAD_RING_PATIENCE_H
#define VREAD_RING_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#define PATIENCE_MAX_NS 50000U

struct patience {
	bool possible; /* with one processor nobody could ask while we watch */
	bool pays;     /* the last pause was short */
	uint64_t slept;
};

void patience_init(struct patience *p);

/* Whether came(ctx) became true while watching; at once false if watching does not pay. */
bool patience_watch(struct patience *p, bool (*came)(void *ctx), void *ctx);

/* Around a sleep that ends when something has come. */
void patience_sleep(struct patience *p);
void patience_wake(struct patience *p);

#endif
