/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * usage.h - who writes an image, and so how the image must be read.  control/datanodes.c supplies
 * an image_usage_fn, which datanode/usage.c calls for each image.
 *
 * If the writer shares this kernel's page cache, the image is read through the page cache.  If the
 * writer bypasses the page cache with O_DIRECT, the image is read with O_DIRECT.  The writer is
 * known from xenstore (port/xen/disks.h) or from the configuration.
 */
#ifndef VREAD_DISK_USAGE_H
#define VREAD_DISK_USAGE_H

#include <stdint.h>

#include "disk/source.h"

#define IMAGE_NO_OWNER (-1)

struct image_usage {
	enum source_mode mode;
	int64_t owner;     /* id of the domain that writes the image; IMAGE_NO_OWNER: not known */
	char because[160]; /* why this mode; "": only the kind of file is known */
	char warning[320]; /* what the operator should put right; "": nothing */
};

/* Tells the usage of the image at path, an image of datanode.  *usage is what was told last, and
 * stays so if nobody can tell at present.  Threads: any. */
typedef void image_usage_fn(void *ctx, const char *datanode, const char *path,
			    struct image_usage *usage);

#endif
