/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * registry.h - which datanodes' images this host serves.
 *
 * The list is filled from the configuration before the first block is opened.  It may change
 * afterwards: whoever reads what is not served any more, or is served from elsewhere, is answered
 * -EAGAIN, and others notice nothing.
 *
 * A datanode with a layout file is served as the file says, as far as its images are there; if the
 * file does not fit, the datanode is refused with a text that says which object, which value and
 * what to do.  A datanode with data directories is always added, and what its images hold is found
 * out then.  Both are looked into again while the registry runs, so that an image, a file system or
 * a directory that appears late is no reason to restart anything.  The status says what is missing.
 *
 * A file system whose owner uses it in a way that cannot be followed is served all the same: it is
 * read as soon as that has ended.
 */
#ifndef VREAD_DATANODE_REGISTRY_H
#define VREAD_DATANODE_REGISTRY_H

#include <jansson.h>

#include "disk/usage.h"
#include "policy/tokens.h"

struct datanode;
struct registry;
struct served;

/* Who keeps what was found through something served. */
struct registry_listener {
	/* It is served no more: nothing is found through it from now on, and what was is to be forgotten.
	 * Any thread. */
	void (*retired)(void *ctx, const struct served *v);
	void *ctx;
};

struct registry *registry_new(const struct registry_listener *listener); /* NULL: out of memory */
void registry_free(struct registry *r);                                  /* NULL is ignored */

/* Before the first datanode is added: how an image is to be read is asked of fn whenever it is
 * opened or looked into again. */
void registry_set_usage(struct registry *r, image_usage_fn *fn, void *ctx);
/* What fn answers may have changed: images whose mode did are opened again soon.  Any thread. */
void registry_usage_changed(struct registry *r);

/* Texts, at least one; they need not outlive the call. */
struct registry_texts {
	const char *const *text;
	unsigned count;
};

/* Before registry_start(): adds one datanode; images are its disks, as image_open() takes them.
 * 0, or negative errno with *ret_error (free() it). */
int registry_add(struct registry *r, const char *datanode, struct registry_texts images,
		 const char *layout_path, char **ret_error);
/* dirs are valid by layout_path_valid(), each once. */
int registry_add_data_dirs(struct registry *r, const char *datanode, struct registry_texts images,
			   struct registry_texts dirs, char **ret_error);

/* The control thread's, after registry_start(): serves a datanode, in the place of the one of that
 * name if there is one; then events and keys taken for that count for it, too.  It is looked into
 * soon, on the registry's thread.  layout_path NULL: by dirs.  0 or -ENOMEM: nothing has changed. */
int registry_replace(struct registry *r, const char *datanode, struct registry_texts images,
		     const char *layout_path, struct registry_texts dirs, enum tokens_mode tokens);
/* The control thread's: serves it no more. 0, -ENOENT or -ENOMEM. */
int registry_remove(struct registry *r, const char *datanode);

/* Whether blocks of that datanode are only opened with a block token; AUTO unless set.  Counts for
 * what is opened from now on. */
void registry_set_tokens(struct registry *r, const char *datanode, enum tokens_mode mode);

/* After the last datanode was added: looks into images again from now on, on a thread of
 * its own.  0 or negative errno. */
int registry_start(struct registry *r);

/*
 * Calls fn for each datanode that has the storage now, as long as it returns 0.  A guest writes its
 * storage's id, so several may claim one.  How many it was called for, or what else it returned;
 * if none has the storage it is looked for.
 */
typedef int registry_datanode_fn(void *ctx, struct datanode *dn);
int registry_find_storage(struct registry *r, const char *storage_id, registry_datanode_fn *fn,
			  void *ctx);
/* Calls fn for each storage there is now, as long as it returns 0; what it returned last. */
typedef int registry_storage_fn(void *ctx, const char *datanode, const char *storage_id);
int registry_each_storage(struct registry *r, registry_storage_fn *fn, void *ctx);

/* New reference: array of objects for the status document, one for each datanode:
 *   datanode, layout or data-dirs            as configured
 *   state          "served", or "waiting": nothing was found yet
 *   missing        what of data-dirs or layout is not served, and why; absent: nothing
 *   images         objects: image as configured.  While the image can be opened also format, size,
 *                  mode, device and inode (numbers of its file) and, if there are files below it,
 *                  backing: the nearest first, each with image and format.  Of its usage, if there
 *                  is any: because, owner (a domain), warning
 *   filesystems    as in a layout (layout.h), each with its "state" as of now: "clean",
 *                  "live", "refused: REASON" or "unreadable: REASON"
 *   parser         of the process that interprets the images: as parser_status()
 *   tokens         how block tokens are asked for, the keys there are, what came of it
 *                  (policy/tokens.h)
 *   published      events taken, and blocks withdrawn now (published.h) */
json_t *registry_status(struct registry *r);

#endif
