/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source_impl.h - struct source, which disk/source.c and disk/source_queue.c share, and the opening
 * of files that images name, for disk/image.c; private to disk/.
 */
#ifndef VREAD_DISK_SOURCE_IMPL_H
#define VREAD_DISK_SOURCE_IMPL_H

#include <stdatomic.h>

#include "disk/source.h"

struct naming;

struct source {
	char *path;
	int fd;
	uint64_t size;
	bool block_device;
	bool direct;
	uint32_t align; /* bytes; alignment of O_DIRECT reads */
	dev_t disk;
	uint64_t kernel_ahead;
	atomic_bool silent; /* the file system does not tell what is in the page cache */
};

/* Opens path, a file that an image names, as naming_open() allows.  A process that was given
 * descriptors (source_give()) opens no such file itself.  Returns as source_open() does. */
int source_open_named(const char *path, enum source_mode mode, const struct naming *naming,
		      struct source **ret, char **ret_error);

#endif
