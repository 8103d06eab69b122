/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * looker.h - the threads that look into the datanodes' images again, one for each datanode. Called
 * by registry.c.
 *
 * What an image holds can change: a datanode formats a directory, registers with another name
 * node, gets a new disk, has its volumes moved, or its layout file is made anew. So what a
 * datanode serves is looked for again when a request missed something, at most once a second,
 * and now and then without being asked. A look reads the images, and may take as long as a disk or
 * a parser hangs. So each datanode has a thread of its own, and none delays another's look.
 * Requests ask for a look and never wait for it.
 */
#ifndef VREAD_DATANODE_LOOKER_H
#define VREAD_DATANODE_LOOKER_H

#include "datanode/datanode_private.h"

/* Starts the datanode's looker, which looks into it at once. The looker ends when the datanode is
 * removed. Returns 0 or negative errno. */
int looker_start(struct datanode *dn);

/* Tells the looker that the datanode was removed, or that something below has changed. */
void looker_wake(struct datanode *dn);
/* Has refresh_settle() called by a looker soon. */
void lookers_settle(struct registry *s);
/* Tells the lookers that the writers of images may have changed, and so how images are to be
 * read. */
void lookers_usage(struct registry *s);

#endif
