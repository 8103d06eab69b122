/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage.h - who writes an image, and so how it has to be read.
 *
 * A writer that shares this kernel's page cache is read through it, one that goes past it
 * with O_DIRECT.  Who the writer is only the outside knows (port/xen/disks.h, the
 * configuration); this is what it answers.
 */
#ifndef VREAD_DISK_USAGE_H
#define VREAD_DISK_USAGE_H

#include <stdint.h>

#include "disk/source.h"

#define IMAGE_NO_OWNER (-1)

struct image_usage {
	enum source_mode mode;
	int64_t owner;     /* the domain that writes it; IMAGE_NO_OWNER: none is known */
	char because[160]; /* why that mode; "": nothing is known but the file's own kind */
	char warning[320]; /* what its operator should put right; "": nothing */
};

/* Of the image at that path, one of that datanode's.  Any thread; fills all of *ret. */
typedef void image_usage_fn(void *ctx, const char *datanode, const char *path,
			    struct image_usage *ret);

#endif
