/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * states.h - the states of file systems, asked for the status document. registry.c and status.c
 * call these functions; registry.h has those for control/.
 *
 * Only a parser knows the state of a file system as of now, and a parser may not answer. So each
 * datanode is asked by a thread of its own, which lives as long as the question. Whoever wants a
 * status decides how long to wait for it. There is at most one such thread for each snapshot.
 */
#ifndef VREAD_DATANODE_STATES_H
#define VREAD_DATANODE_STATES_H

#include "datanode/datanode_private.h"

/* Rings when a datanode has answered. Shared by the registry and the threads that ask. */
struct states_bell;
struct states_bell *states_bell_new(void);      /* NULL: out of memory or descriptors */
void states_bell_put(struct states_bell *bell); /* NULL is ignored */
int states_bell_fd(const struct states_bell *bell);

/* Asks for the states of the file systems of `v`, as question `number`. Does not wait. May be
 * called again for a question that is not answered yet. */
void states_ask(struct served *v, struct states_bell *bell, uint64_t number);
/* True if question `number`, or a later one, was answered. */
bool states_known(struct served *v, uint64_t number);
/* Returns a new reference: an array of texts, the state of each file system ("clean", "live",
 * "refused: REASON", "unreadable: REASON"). NULL: question `number` was not answered yet. */
json_t *states_answer(struct served *v, uint64_t number);

#endif
