/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * refresh.h - the thread that looks into the datanodes' images again. Called by registry.c.
 *
 * What an image holds can change: a datanode formats a directory, registers with another name
 * node, gets a new disk, has its volumes moved, or its layout file is made anew. So what a
 * datanode serves is looked for again when a request missed something, at most once a second,
 * and now and then without being asked. A look reads the images. One thread of low priority does
 * this; requests ask for a look and never wait for it.
 */
#ifndef VREAD_DATANODE_REFRESH_H
#define VREAD_DATANODE_REFRESH_H

#include "datanode/datanode_private.h"

/* Starts the thread. Returns 0 or negative errno. */
int refresher_start(struct registry *s);
void refresher_stop(struct registry *s); /* does nothing if it was not started */

/* Tells the thread that the roster has a datanode that nobody has looked into yet, or that the
 * owners of storages have changed. */
void refresh_new(struct registry *s);
/* Draws the conclusions from a look or a change: nobody serves what belongs to another, and the
 * record of owners is written. For the same callers as refresh_look(). */
void refresh_settle(struct registry *s);

/* Tells the thread that the writers of images may have changed, and so how images are to be
 * read. Any thread. */
void refresh_usage(struct registry *s);

/* Looks into a datanode that was just added with a layout file. Returns 0, or negative errno
 * with `*ret_error` (free() it): then the datanode cannot be used. */
int refresh_first(struct datanode *dn, char **ret_error);

/* Looks into the datanode's images once, now. Only for the refresher's thread, or, before that
 * is started, for the caller's. */
void refresh_look(struct datanode *dn);

#endif
