/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * refresh.h - one look into a datanode's images, and what follows from it. looker.c calls these
 * functions, and registry.c before there are lookers.
 */
#ifndef VREAD_DATANODE_REFRESH_H
#define VREAD_DATANODE_REFRESH_H

#include "datanode/datanode_private.h"

/* Looks into a datanode that was just added with a layout file. Returns 0, or negative errno
 * with `*ret_error` (free() it): then the datanode cannot be used. */
int refresh_first(struct datanode *dn, char **ret_error);

/* Looks into the datanode's images once, now. Only for the datanode's looker, or, if it has none,
 * for the thread that added it. */
void refresh_look(struct datanode *dn);

/* True if nobody has looked into the datanode yet, or since its storages' owners changed. */
bool refresh_is_new(struct datanode *dn);

/* Draws the conclusions from a look or a change: nobody serves what belongs to another, and the
 * record of owners is written. Any thread that may wait for the host's file system. */
void refresh_settle(struct registry *s);

#endif
