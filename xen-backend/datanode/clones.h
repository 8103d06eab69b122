/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clones.h - notices datanodes that look like clones of one cluster: virtual machines that were
 * copied together with their disks. Such clusters have one block pool and give out the same block
 * ids, for other bytes. looker.c calls these functions; registry.c hands on the notices.
 *
 * Two datanodes of this host look like clones if
 *
 *   - they have one datanodeUuid, or
 *   - one of the newest finalized replicas of the one has the same pool, id and generation stamp as
 *     a finalized replica of the other, and another length or other checksums.
 *
 * Each looker compares on its own thread, and reads only the images of its own datanode: first some
 * of the newest replicas, to show them to the others, and then the replicas that the others show.
 *
 *      looker of dn1                 clones                  looker of dn2
 *      pools of dn1         ------>
 *                                             <------        pools and newest replicas of dn2
 *      woken                <------
 *      newest replicas of dn1 ---->
 *      compares those of dn2                  ------>        woken
 *                                                            compares those of dn1
 *
 * A guest may write anything into its image, so a notice proves nothing. A notice is for the
 * operator, and changes nothing of what is served.
 */
#ifndef VREAD_DATANODE_CLONES_H
#define VREAD_DATANODE_CLONES_H

#include <jansson.h>

struct clones;
struct datanode;

struct clones *clones_new(void);    /* NULL: out of memory */
void clones_free(struct clones *c); /* NULL is ignored */

/* Compares what the datanode serves now with what the others showed. Takes a bounded time, if the
 * datanode's disk answers. Only for the datanode's looker. */
void clones_compare(struct datanode *dn);
/* Forgets the datanode, which was removed. Only for the datanode's looker. */
void clones_forget(struct datanode *dn);

/* Returns a new reference: an array of objects:
 *   datanodes     the names of the two
 *   pool          the block pool; absent if they share none
 *   because       "datanode-uuid", "length" or "checksums"
 *   problem, remedy    texts */
json_t *clones_status(struct clones *c);

#endif
