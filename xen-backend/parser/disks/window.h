/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * window.h - parts of a volume as a file, for libraries that want one.
 *
 * libblkid reads a descriptor of its own, and knows no image formats and no
 * O_DIRECT.  What it looks at is at the beginning and the end of what it is
 * shown; so it is shown a sparse file in memory, as long as the volume, with just
 * those parts in it, read as everything else is.
 *
 * Such a file counts against no limit of the process: so it never holds much, whatever
 * the volume makes one look at.
 */
#ifndef VREAD_LAYOUT_WINDOW_H
#define VREAD_LAYOUT_WINDOW_H

#include "disk/volume.h"

/* Of memory.  Partitions need less than 1 MiB in usual pages; a host may be set to use pages of
 * 2 MiB. */
#define WINDOW_MAX_BYTES (64U << 20)

/* A descriptor (close() it) of such a file, or negative errno. */
int window_open(struct volume *v);
/* Copies a range of the volume into it; what lies outside the volume is left out.  -EFBIG: it
 * would hold too much. */
int window_add(int fd, struct volume *v, uint64_t offset, uint64_t length);

#endif
