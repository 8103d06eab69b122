/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * registry.h - the list of datanodes whose images this host serves. control/ fills and changes
 * it from the configuration; read/, peer/ and `xl-vread blocks` ask it.
 *
 * The list is filled before the first block is opened. It may change later. A reader of
 * something that is no longer served, or is now served from elsewhere, gets -EAGAIN; other
 * readers notice nothing.
 *
 * A datanode with a layout file is served as the file says, as far as its images are there. If
 * the file does not fit, the datanode is refused with a text that names the object, the value
 * and what to do. A datanode with data directories is always added; what its images hold is
 * found out then. Both are looked into again while the registry runs, so nothing must be
 * restarted when an image, a file system or a directory appears late. The status says what is
 * missing.
 *
 * A file system in state FS_REFUSED (its owner uses it in a way that cannot be followed) is
 * served all the same: reads of it succeed as soon as that use has ended.
 */
#ifndef VREAD_DATANODE_REGISTRY_H
#define VREAD_DATANODE_REGISTRY_H

#include <jansson.h>
#include <stdbool.h>

#include "disk/usage.h"
#include "policy/tokens.h"

struct datanode;
struct owners_pins; /* datanode/owners.h */
struct registry;
struct served;

/* The owner of caches whose entries depend on a `served`: block_store (read/store.c). */
struct registry_listener {
	/* `v` is no longer served: nothing is found through `v` from now on. Forget what was
	 * found through it. Any thread. */
	void (*retired)(void *ctx, const struct served *v);
	void *ctx;
};

struct registry *registry_new(const struct registry_listener *listener); /* NULL: out of memory */
void registry_free(struct registry *r);                                  /* NULL is ignored */

/* Sets the function that says how an image is to be read. It is called whenever an image is
 * opened or looked into again. Call this before the first datanode is added. */
void registry_set_usage(struct registry *r, image_usage_fn *fn, void *ctx);
/* Tells the registry that the answers of that function may have changed. Images whose mode did
 * change are opened again soon. Any thread. */
void registry_usage_changed(struct registry *r);

/* Sets the folder in which is remembered which datanodes use block tokens
 * (policy/token_memory.h); default: none. Call this before the first datanode is added. Returns 0
 * or -ENOMEM. */
int registry_set_token_files(struct registry *r, const char *folder);

/* A list of texts, at least one unless a comment says more. They need not outlive the call. */
struct registry_texts {
	const char *const *text;
	unsigned count;
};

/* The disks of a datanode. */
struct registry_disks {
	struct registry_texts images;  /* specs for image_open_within() */
	struct registry_texts folders; /* for files that the images name; may be none */
};

/* Adds one datanode, by its layout file. Only before registry_start(). Returns 0, or negative errno
 * with `*ret_error` (free() it). */
int registry_add(struct registry *r, const char *datanode, const struct registry_disks *disks,
		 const char *layout_path, char **ret_error);
/* The same, by its data directories. Each of `dirs` is valid by layout_path_valid() and listed
 * once. */
int registry_add_data_dirs(struct registry *r, const char *datanode,
			   const struct registry_disks *disks, struct registry_texts dirs,
			   char **ret_error);

/* Serves a datanode, in the place of the one of that name if there is one; events and keys taken
 * for that one then count for the new one, too. The images are looked into on a thread of the
 * datanode's, at once or when registry_start() is called. If `layout_path` is NULL, `dirs` are
 * used. Only for the control thread. Returns 0; -ENOMEM or -EAGAIN (no thread can be made): nothing
 * has changed. */
int registry_replace(struct registry *r, const char *datanode, const struct registry_disks *disks,
		     const char *layout_path, struct registry_texts dirs, enum tokens_mode tokens);
/* Stops serving a datanode. Only for the control thread. Returns 0, -ENOENT or -ENOMEM. */
int registry_remove(struct registry *r, const char *datanode);

/* Sets whether blocks of that datanode are opened only with a block token; the default is AUTO.
 * Applies to blocks that are opened from now on. OFF also forgets that the datanode uses tokens. */
void registry_set_tokens(struct registry *r, const char *datanode, enum tokens_mode mode);

/* Whose storages are (owners.h). A storage that belongs to another datanode is not served, and the
 * status says so. Without these calls everything is served that an image shows.
 *
 * Keeps the record of storages in that file from now on. Only before the first registry_change().
 * Returns 0 or -ENOMEM. */
int registry_keep_record(struct registry *r, const char *path);
/* Begins a change of the list: `all` are the names and pins of the new configuration. Datanodes are
 * added, replaced and removed between these calls. Returns 0, or -ENOMEM: then nothing has
 * changed. Only for the control thread, as the next two. */
int registry_change(struct registry *r, const struct owners_pins *all, size_t count);
/* Ends a change. What a datanode serves and lost by the change is not served from now on. */
void registry_changed(struct registry *r);
/* Says that the storage belongs to that party from now on. Returns as owners_give(). */
int registry_give(struct registry *r, const char *storage_id, const char *party);
/* As owners_leave(). */
void registry_leave(struct registry *r, const char *datanode);
/* Whose storages are, for peer/, which tells what peers show. */
struct owners *registry_owners(struct registry *r);
/* What peers show, or who they are, has changed: storages may belong to others than before. Writes
 * the record. Any thread. */
void registry_peers_changed(struct registry *r);
/* The record; a new reference: as owners_status(). */
json_t *registry_record_status(struct registry *r);

/* Datanodes that look like clones of one cluster; a new reference: as clones_status()
 * (clones.h). */
json_t *registry_clones_status(struct registry *r);

/* Starts the threads that look into images, and does not wait for them: what an image holds may
 * make a look slow. Call it once. Returns 0 or negative errno. */
int registry_start(struct registry *r);

/* Calls `fn` for each datanode that serves the storage now, as long as `fn` returns 0. Returns the
 * value of `fn` if that is not 0, else the number of calls. If no datanode has the storage, images
 * are looked into soon to find it. */
typedef int registry_datanode_fn(void *ctx, struct datanode *dn);
int registry_find_storage(struct registry *r, const char *storage_id, registry_datanode_fn *fn,
			  void *ctx);
/* As datanode_await_first_look() (datanode.h), for all datanodes. */
bool registry_await_first_looks(struct registry *r);
/* Calls `fn` for each storage there is now, as long as `fn` returns 0. If what the images of a
 * datanode hold is not known, these are the storages that the record says it has. Returns the last
 * value of `fn`, 0 if there is no storage. */
typedef int registry_storage_fn(void *ctx, const char *datanode, const char *storage_id);
int registry_each_storage(struct registry *r, registry_storage_fn *fn, void *ctx);

/* Asks all datanodes for the states of their file systems, for registry_status(). Returns the
 * number of this question. Does not wait: whether a parser answers depends on what a guest wrote.
 * Only for one thread. */
uint64_t registry_ask_states(struct registry *r);
/* True if every datanode has answered that question. */
bool registry_states_known(struct registry *r, uint64_t question);
/* A descriptor that is readable after another datanode has answered; an eventfd, to be read by the
 * caller. */
int registry_states_fd(const struct registry *r);

/*
 * Returns a new reference: an array for the status document, with one object for each datanode:
 *
 *   datanode, layout or data-dirs            as configured
 *   state          "served"; "waiting": nothing was found yet; or "looking": the first look into
 *                  its images goes on
 *   missing        what of data-dirs or layout is not served, and why; absent: nothing
 *   shortage       what this host lacked for the last look: what was found before is served;
 *                  absent: nothing
 *   images         objects: image as configured.  While the image can be opened also format, size,
 *                  mode, device and inode (numbers of its file) and, if there are files below it,
 *                  backing: the nearest first, each with image and format.  Of its usage, if there
 *                  is any: because, owner (a domain), warning
 *   refused-storages  objects, of storages that an image shows and that are not served:
 *                  storage-id, path, because ("pinned", "recorded" or "contested": it is another's;
 *                  "unlisted": others are pinned to this datanode; "twice": two directories show
 *                  it; "awaited": peers that may show it, too, were not heard yet; "full": there is
 *                  no room to record it), owner (the other, a datanode or "peer NAME"; absent for
 *                  the others), datanode-uuid, pools, problem and remedy (texts); absent: none
 *   filesystems    as in a layout (layout.h), each with its "state" as of the question: "clean",
 *                  "live", "refused: REASON" or "unreadable: REASON", or "unknown: REASON" if the
 *                  parser has not answered yet
 *   parser         the process that interprets the images: as parser_status()
 *   tokens         how block tokens are asked for, the keys there are, and the results of checks:
 *                  tokens_status() (policy/tokens.h)
 *   published      events taken, and blocks withdrawn now (published.h)
 */
json_t *registry_status(struct registry *r, uint64_t question);

#endif
