/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_data.h - writes the variable part of OPEN, PUBLISH and KEYS (struct vread_open_data of
 * vreadif.h).  file.c and publish.c call it.
 */
#ifndef LIBVREAD_OPEN_DATA_H
#define LIBVREAD_OPEN_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "vread-ring-user.h"

struct vread_block;

/* Writes the pool id, storage ids and token of block to dst.  Returns the number of bytes, or
 * -EINVAL: a part is missing or too long, or the parts together do not fit. */
int open_data_encode(const struct vread_block *block, uint8_t dst[VREAD_MAX_OPEN_DATA]);

#endif
