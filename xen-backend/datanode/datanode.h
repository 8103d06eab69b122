/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * datanode.h - one datanode whose images are served, and the roster: all such datanodes at one
 * moment. The registry makes both (registry.h). read/ and peer/ go through a roster and take
 * from each datanode what it serves at that moment (served.h).
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

/* The datanodes at one moment. Never changed once it is made. */
struct roster {
	atomic_uint references;
	unsigned count;
	struct datanode *datanode[];
};

/* Returns a reference to the current roster (roster_put() it). */
struct roster *registry_roster(struct registry *r);
void roster_put(struct roster *r); /* NULL is ignored */

/* The results of these three calls are valid as long as a roster, or a `served`, holds the
 * datanode. */
const char *datanode_name(const struct datanode *dn);
/* What the datanode published about its own replicas. Datanodes of the same name, before a
 * reload and after it, share one. */
struct published *datanode_published(struct datanode *dn);
/* The keys of its block tokens, shared in the same way. */
struct tokens *datanode_tokens(struct datanode *dn);

/* Returns a reference to what the datanode serves now (served_put() it), or NULL if the datanode
 * was removed from the registry. */
struct served *datanode_served(struct datanode *dn);
/* True if everything that is configured is served and no volume may have moved, or if the
 * datanode was removed from the registry. */
bool datanode_is_complete(struct datanode *dn);
/* Call this when a request missed something that the datanode might have by now. The datanode's
 * images are looked into soon, on another thread. Never waits for I/O. */
void datanode_look_soon(struct datanode *dn);
/* Call this when a request missed something. If nobody has looked into the datanode's images yet,
 * waits until somebody has, or until the datanode has been served for 3 s. Returns true if it is
 * worth to try again. */
bool datanode_await_first_look(struct datanode *dn);

#endif
