/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.h - which datanodes' images this host serves.
 *
 * Filled from the configuration before the first block_open().  A datanode
 * whose image or layout is unusable is refused with a text that says which
 * object, which value and what to do; the others are served.  One whose file
 * system is in use by its owner is added all the same: it is read whenever it
 * is cleanly unmounted, and not at other times.
 */
#ifndef VREAD_BLOCK_STORE_H
#define VREAD_BLOCK_STORE_H

#include <jansson.h>

struct block_store;
struct store_datanode;

struct block_store *block_store_new(void); /* NULL: out of memory */
void block_store_free(struct block_store *s);

/* Adds one datanode.  0, or negative errno with *ret_error (free() it). */
int block_store_add(struct block_store *s, const char *datanode, const char *image_path,
		    const char *layout_path, char **ret_error);

/*
 * The next datanode after that one (NULL: the first) that has the storage; NULL if
 * none has.  A guest writes its storage's id, so several may claim one: callers go on
 * until one is theirs to use.  The answer stays as long as the store.
 */
struct store_datanode *block_store_find_storage(struct block_store *s, const char *storage_id,
						const struct store_datanode *after);

/* New reference: array of what is served, for the status document.  Looks at each file
 * system for its "state": "clean", "in use" or "unreadable". */
json_t *block_store_status(struct block_store *s);

#endif
