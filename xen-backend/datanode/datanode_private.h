/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * datanode_private.h - the registry and its datanodes, as the files of this folder share them.
 */
#ifndef VREAD_DATANODE_PRIVATE_H
#define VREAD_DATANODE_PRIVATE_H

#include <pthread.h>
#include <stdint.h>

#include "datanode/datanode.h"
#include "datanode/published.h"
#include "datanode/registry.h"
#include "datanode/served.h"
#include "disk/usage.h"
#include "policy/tokens.h"

/* What it serves changes, how it is configured does not: another takes its place then. */
struct datanode {
	atomic_uint references; /* rosters', and those of what it serves or served */
	struct registry *registry;
	char *name;
	char **images; /* as image_open() takes them */
	unsigned num_images;
	char *layout_path; /* NULL: by its data directories */
	char **data_dirs;
	unsigned num_data_dirs;
	struct published *published; /* shared with those of the same name before and after it */
	struct tokens *tokens;       /* likewise */

	pthread_mutex_t lock; /* of these: held to copy or change them, no longer */
	bool removed;         /* nothing is served any more, nor will be */
	struct served *served;
	struct image_usage *usage; /* of each image, as it was asked for last */

	/* refresh.c's */
	atomic_bool wanted; /* somebody missed something: look soon */
	bool doubted;       /* the last look found less than is served */
	uint64_t looked;    /* ms: when the last look ended ... */
	uint64_t took;      /* ... and how long it took */
};

struct registry {
	struct registry_listener listener;
	pthread_mutex_t lock; /* of the pointer: held to copy or change it, no longer */
	struct roster *roster;
	struct refresher *refresher; /* NULL: not started */
	image_usage_fn *usage;       /* NULL: images are read as their files' kind calls for */
	void *usage_ctx;
};

/* In the place of old, unless that is NULL; the caller's reference.  NULL: out of memory. */
struct datanode *datanode_new(struct registry *r, const char *name, struct registry_texts images,
			      const struct datanode *old);
/* False: out of memory; what *ret has then is counted. */
bool registry_copy_texts(struct registry_texts from, char ***ret, unsigned *ret_count);
struct datanode *datanode_get(struct datanode *dn);
void datanode_put(struct datanode *dn); /* NULL is ignored */
/* Replaces what it serves, and forgets what was found through the one before.  Takes over v. */
void datanode_serve(struct datanode *dn, struct served *v);

#endif
