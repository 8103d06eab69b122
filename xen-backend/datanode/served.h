/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * served.h - what one datanode's images were found to hold at one moment. load.c makes it; read/
 * finds and reads blocks through it.
 *
 * A `served` never changes once it is made, but for what its parser said last. When the images hold
 * something else, another takes its place (registry.h). A search or a replica that found something
 * through it holds a reference, so that its file systems and paths stay valid. When the last
 * reference is put, the images are closed as soon as the parser has ended; nobody waits for it.
 */
#ifndef VREAD_DATANODE_SERVED_H
#define VREAD_DATANODE_SERVED_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "layout/layout.h"
#include "disk/volume.h"
#include "datanode/parser.h"

struct datanode;

/* What the parser said of the file systems, for the status; see states.h. Guarded by the lock of
 * the datanode. */
struct served_states {
	json_t *texts;     /* one for each file system; NULL: nothing was said yet */
	uint64_t answered; /* the question that they answer; 0: none */
	uint64_t asked;    /* the last question */
	bool asking;       /* a thread asks */
};

struct served {
	atomic_uint references;
	atomic_bool retired;         /* the datanode no longer serves this */
	atomic_bool moved;           /* a volume may lie elsewhere now: look again */
	struct datanode *datanode;   /* a reference */
	struct image **images;       /* as configured; NULL, the array or an entry: unusable */
	struct image_layout *layout; /* never NULL */
	struct volume **volumes;     /* one per layout->filesystems */
	struct parser_fs *fs;        /* the file system on each of them */
	struct parser *parser;       /* answers for fs; NULL: not started */
	char *missing;               /* what is not served, and why; NULL: nothing */
	/* What its images hold is not known: nobody has looked yet, or vreadd lacked memory,
	 * descriptors... */
	bool unknown;
	json_t *refused; /* storages of others, not in layout (registry_status()) */
	struct served_states states;
};

struct served *served_get(struct served *v); /* NULL: returns NULL */
void served_put(struct served *v);           /* NULL is ignored */

/* Translates a parser's error for a reader: -ESTALE becomes -EAGAIN and is remembered in `v`
 * (unless that is NULL). Other errors are returned unchanged. */
static inline int served_judge(struct served *v, int error)
{
	if (error != -ESTALE)
		return error;
	if (v)
		atomic_store(&v->moved, true);
	return -EAGAIN;
}

#endif
