/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.h - which datanodes' images this host serves.
 *
 * The list is filled from the configuration before the first block_open(), and may change
 * afterwards: who reads then of what is not served any more, or is served from elsewhere, is
 * answered -EAGAIN, others notice nothing.  A datanode added with a layout file is served as the file says, as far as its images
 * are there, or refused with a text that says which object, which value and what to do.
 * One added with its data directories is always added: what its image holds is found out
 * then.  What either holds is looked for again while the store runs, so that an image, a file
 * system or a directory that is not there yet, or is replaced, or a layout file that is made anew,
 * is no reason to restart anything; the status says what is missing.
 *
 * A file system whose owner uses it in a way that cannot be followed (fs.h) is
 * served all the same: it is read as soon as that has ended.
 */
#ifndef VREAD_BLOCK_STORE_H
#define VREAD_BLOCK_STORE_H

#include <jansson.h>

#include "disk/usage.h"
#include "policy/tokens.h"

struct block_store;
struct store_datanode;

struct block_store *block_store_new(void); /* NULL: out of memory */
void block_store_free(struct block_store *s);

/* How many bytes are read ahead for one client; 0 unless set.  Any time. */
void block_store_set_read_ahead(struct block_store *s, size_t read_ahead);
/* Before the first datanode is added: how many verified bytes are kept of images read with
 * O_DIRECT; 0 unless set.  0 or -ENOMEM. */
int block_store_set_cache(struct block_store *s, size_t cache);

/* Before the first datanode is added: how an image is to be read is asked of fn whenever it is
 * opened or looked into again. */
void block_store_set_usage(struct block_store *s, image_usage_fn *fn, void *ctx);
/* What fn answers may have changed: images whose mode did are opened again soon.  Any thread. */
void block_store_usage_changed(struct block_store *s);

/* Texts, at least one; they need not outlive the call. */
struct block_texts {
	const char *const *text;
	unsigned count;
};

/* Before block_store_start(): adds one datanode; images are its disks, as image_open() takes them.  0, or negative errno with
 * *ret_error (free() it). */
int block_store_add(struct block_store *s, const char *datanode, struct block_texts images,
		    const char *layout_path, char **ret_error);
/* dirs are valid by layout_path_valid(), each once. */
int block_store_add_data_dirs(struct block_store *s, const char *datanode,
			      struct block_texts images, struct block_texts dirs, char **ret_error);

/* The control thread's, after block_store_start(): serves a datanode, in the place of the one of that
 * name if there is one; then events and keys taken for that count for it, too.  It is looked into
 * soon, on the store's thread.  layout_path NULL: by dirs.  0 or -ENOMEM: nothing has changed. */
int block_store_replace(struct block_store *s, const char *datanode, struct block_texts images,
			const char *layout_path, struct block_texts dirs, enum tokens_mode tokens);
/* The control thread's: serves it no more. 0, -ENOENT or -ENOMEM. */
int block_store_remove(struct block_store *s, const char *datanode);

/* Whether blocks of that datanode are only opened with a block token; AUTO unless set.  Counts for
 * what is opened from now on. */
void block_store_set_tokens(struct block_store *s, const char *datanode, enum tokens_mode mode);

/* After the last datanode was added: looks into images again from now on, on a thread of
 * its own.  0 or negative errno. */
int block_store_start(struct block_store *s);

/*
 * Calls fn for each datanode that has the storage now, as long as it returns 0.  A guest writes its
 * storage's id, so several may claim one.  How many it was called for, or what else it returned;
 * if none has the storage it is looked for.
 */
typedef int store_datanode_fn(void *ctx, struct store_datanode *dn);
int block_store_find_storage(struct block_store *s, const char *storage_id, store_datanode_fn *fn,
			     void *ctx);
/* As long as dn is there to be asked. */
const char *store_datanode_name(const struct store_datanode *dn);
/* Calls fn for each storage there is now, as long as it returns 0; what it returned last. */
typedef int store_storage_fn(void *ctx, const char *datanode, const char *storage_id);
int block_store_each_storage(struct block_store *s, store_storage_fn *fn, void *ctx);

/* New reference: array of objects for the status document, one for each datanode:
 *   datanode, layout or data-dirs            as configured
 *   state          "served", or "waiting": nothing was found yet
 *   missing        what of data-dirs or layout is not served, and why; absent: nothing
 *   images         objects: image as configured; format, size, mode, and the numbers of its file's
 *                  device and inode, which are absent while it cannot be opened; backing, where it has such: the files below it, the nearest
 *                  first, each its image and format; because, owner (a domain) and warning of its usage, where
 *                  there is such
 *   filesystems    as in a layout (layout.h), each with its "state" as of now: "clean",
 *                  "live", "refused: REASON" or "unreadable: REASON"
 *   parser         of the process that interprets the images: as parser_status()
 *   tokens         how block tokens are asked for, the keys there are, what came of it
 *                  (policy/tokens.h)
 *   published      events taken, and blocks withdrawn now (published.h) */
json_t *block_store_status(struct block_store *s);

/* How disks are read; new reference:
 *   read_ahead     bytes for one client
 *   disks          that are read ahead now (disk/shares.h)
 *   cache          of images read with O_DIRECT (verified_cache.h)
 *   io_uring       "ok", or why it is not to be had */
json_t *block_store_reading_status(struct block_store *s);

#endif
