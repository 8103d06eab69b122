/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * errands.h - runs functions on threads that belong to one datanode: so several datanodes are
 * asked about a block beside each other.
 *
 * An image or its parser can make a thread wait for as long as it likes. So each datanode has
 * threads of its own, at most ERRAND_THREADS, which are started when they are needed and end when
 * the datanode is removed. A datanode that hangs holds up its own errands and nobody else's.
 *
 * A party is who asks, whatever its connections: a guest, a user, another host. Each party has a
 * queue of its own, and the threads take from the queues in turn. So a party that searches without
 * end fills its own queue only.
 *
 * Threads: any.
 */
#ifndef VREAD_DATANODE_ERRANDS_H
#define VREAD_DATANODE_ERRANDS_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "parser-protocol/protocol.h"

/* One thread can ask over each channel of the parser. */
#define ERRAND_THREADS PARSER_CHANNELS
#define ERRANDS_MAX 64U /* errands of one party that wait for a thread */

/* Part of the caller's own structure, which sets the first two. */
struct errand {
	void (*run)(struct errand *e);
	const char *party;         /* the name of who asks */
	STAILQ_ENTRY(errand) turn; /* used of the first of a party only, as are last and count */
	struct errand *next;       /* of the same party */
	struct errand *last;
	unsigned count;
};
STAILQ_HEAD(errand_turns, errand);

/* The errands of one datanode. The datanode's lock guards them. */
struct errands {
	struct errand_turns turns; /* the first errand of each party that waits */
	unsigned num_waiting;
	unsigned threads, idle;
	pthread_cond_t wake;
};

struct datanode;

/*
 * Has e->run(e) called once, on a thread of the datanode, also if the datanode is removed
 * meanwhile. e belongs to that thread from then on. Returns 0; -EBUSY: ERRANDS_MAX errands of the
 * party wait already; -ENODEV: the datanode was removed; -EAGAIN or -ENOMEM: there is no thread.
 * After an error e->run is not called.
 */
int datanode_run(struct datanode *dn, struct errand *e);

/* For datanode.c and registry.c. errands_end(), with the datanode's lock, lets the threads end. */
void errands_init(struct errands *s);
void errands_end(struct errands *s);
void errands_destroy(struct errands *s);

#endif
