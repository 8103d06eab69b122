/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * refresh.h - looking into images again; private to datanode/.
 *
 * A datanode formats a directory, registers with another name node, gets its
 * disk replaced, has its volumes moved; a layout file is made anew: what a datanode serves is
 * looked for again when a request missed something, at most once a second, and
 * now and then without being asked.  That reads the image, so one thread of
 * low priority does it; requests only ask and never wait.
 */
#ifndef VREAD_DATANODE_REFRESH_H
#define VREAD_DATANODE_REFRESH_H

#include "datanode/datanode_private.h"

/* 0 or negative errno. */
int refresher_start(struct registry *s);
void refresher_stop(struct registry *s); /* nothing if it was not started */

/* A datanode nobody has looked into yet is in the roster. */
void refresh_new(struct registry *s);

/* Images' writers may have changed, and with them how images are to be read.  Any thread. */
void refresh_usage(struct registry *s);

/* What a datanode just added has by its layout file: 0, or negative errno with *ret_error (free()
 * it): it is of no use. */
int refresh_first(struct datanode *dn, char **ret_error);

/* Looks once, now.  The refresher's, and without one the caller's. */
void refresh_look(struct datanode *dn);

#endif
