/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * datanode.h - a datanode whose images are served, and all of them at one moment.
 *
 * The registry makes datanodes (registry.h).  Who reads blocks goes through a roster, and takes of each
 * datanode what it serves at that moment (served.h).
 *
 * Threads: any.
 */
#ifndef VREAD_DATANODE_DATANODE_H
#define VREAD_DATANODE_DATANODE_H

#include <stdatomic.h>
#include <stdbool.h>

struct datanode;
struct published;
struct registry;
struct served;
struct tokens;

/* The datanodes of one moment; never changed once it is made. */
struct roster {
	atomic_uint references;
	unsigned count;
	struct datanode *datanode[];
};

/* A reference to the datanodes of now. */
struct roster *registry_roster(struct registry *r);
void roster_put(struct roster *r); /* NULL is ignored */

/* These are valid as long as a roster, or something served, holds the datanode. */
const char *datanode_name(const struct datanode *dn);
/* What it said of its own replicas: shared with those of the same name before and after it. */
struct published *datanode_published(struct datanode *dn);
/* The keys of its block tokens, likewise. */
struct tokens *datanode_tokens(struct datanode *dn);

/* A reference to what it serves now; NULL: it was removed from the registry. */
struct served *datanode_served(struct datanode *dn);
/* Whether all that was configured is served, from where it is. */
bool datanode_is_complete(struct datanode *dn);
/* A request missed something that the datanode might have by now: its images are looked into soon.
 * Never waits for I/O. */
void datanode_look_soon(struct datanode *dn);

#endif
