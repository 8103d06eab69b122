/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * served.h - what one datanode's images were found to hold at one moment.
 *
 * Never changed once it is made: when the image holds something else, another
 * takes its place (registry.h).  Whoever found something through it (a search, a
 * replica) holds a reference, so that file systems and paths stay valid; the
 * last one to let go closes the images.
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

struct served {
	atomic_uint references;
	atomic_bool retired;         /* no longer what the datanode serves */
	atomic_bool moved;           /* a volume may lie elsewhere by now: look again */
	struct datanode *datanode;   /* a reference */
	struct image **images;       /* as the datanode names them; NULL, all or one: unusable */
	struct image_layout *layout; /* never NULL */
	struct volume **volumes;     /* one per layout->filesystems ... */
	struct parser_fs *fs;        /* ... and what is on it, as told by ... */
	struct parser *parser;       /* ... this one */
	char *missing;               /* what is not served, and why; NULL: nothing */
};

struct served *served_get(struct served *v); /* NULL is returned */
void served_put(struct served *v);           /* NULL is ignored */

/* What a parser's error means to who reads: -EAGAIN for -ESTALE, which v remembers (NULL: nobody
 * does); others as they are. */
static inline int served_judge(struct served *v, int error)
{
	if (error != -ESTALE)
		return error;
	if (v)
		atomic_store(&v->moved, true);
	return -EAGAIN;
}

#endif
