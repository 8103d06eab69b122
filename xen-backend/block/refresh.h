/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * refresh.h - looking into images again; private to block/.
 *
 * A datanode formats a directory, registers with another name node, gets its
 * disk replaced, has its volumes moved; a layout file is made anew: what a datanode serves is
 * looked for again when a request missed something, at most once a second, and
 * now and then without being asked.  That reads the image, so one thread of
 * low priority does it; requests only ask and never wait.
 */
#ifndef VREAD_BLOCK_REFRESH_H
#define VREAD_BLOCK_REFRESH_H

#include "block/internal.h"

/* 0 or negative errno. */
int refresher_start(struct block_store *s);
void refresher_stop(struct block_store *s); /* nothing if it was not started */

/* A request missed something that dn might have by now.  Any thread; never waits for I/O. */
void refresh_want(struct store_datanode *dn);

/* A datanode nobody has looked into yet is in the roster. */
void refresh_new(struct block_store *s);

/* Images' writers may have changed, and with them how images are to be read.  Any thread. */
void refresh_usage(struct block_store *s);

/* What a datanode just added has by its layout file: 0, or negative errno with *ret_error (free()
 * it): it is of no use. */
int refresh_first(struct store_datanode *dn, char **ret_error);

/* Looks once, now.  The refresher's, and without one the caller's. */
void refresh_look(struct store_datanode *dn);

#endif
