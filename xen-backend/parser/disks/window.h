/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * window.h - shows parts of a volume as a file, for libraries that read from a file. partition.c
 * calls it for libblkid.
 *
 * libblkid reads from a descriptor. It knows neither image formats nor O_DIRECT. It looks at the
 * beginning and the end of a disk. So it gets a sparse file in memory, as long as the volume,
 * that holds only those parts; the parts are read like all other data of the volume.
 *
 * No limit of the process covers such a file. So the file never holds more than
 * WINDOW_MAX_BYTES, whatever parts the volume causes to be added.
 */
#ifndef VREAD_LAYOUT_WINDOW_H
#define VREAD_LAYOUT_WINDOW_H

#include "disk/volume.h"

/* Most bytes of memory for one window. Partitions need less than 1 MiB with usual pages; a host
 * may use pages of 2 MiB. */
#define WINDOW_MAX_BYTES (64U << 20)

/* Returns a descriptor of such a file (close() it), or negative errno. */
int window_open(struct volume *v);
/* Copies a range of the volume into the file. The part that lies outside the volume is left out.
 * Returns 0, -EFBIG if the file would hold too much, or another negative errno. */
int window_add(int fd, struct volume *v, uint64_t offset, uint64_t length);

#endif
