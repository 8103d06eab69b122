/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage.h - how each image of a datanode is to be read now: through the page cache or with
 * O_DIRECT. Called by load.c and refresh.c.
 */
#ifndef VREAD_DATANODE_USAGE_H
#define VREAD_DATANODE_USAGE_H

#include "datanode/datanode_private.h"

/* Asks for the usage of all images of `dn` and logs what is new. Returns true if the mode of an
 * image has changed since it was asked last. Only for the datanode's looker, or, before that is
 * started, for the caller's. */
bool usage_update(struct datanode *dn);
/* The mode as of the last usage_update(). */
enum source_mode usage_mode(struct datanode *dn, unsigned image);

#endif
