/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_data.h - the variable part of OPEN as vreadif.h lays it out.
 */
#ifndef LIBVREAD_OPEN_DATA_H
#define LIBVREAD_OPEN_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "vread-ring-user.h"

struct vread_block;

/* Writes block's pool id, storage ids and token into dst.  Returns the bytes
 * used, or -EINVAL if any part is missing, too long, or does not fit. */
int open_data_encode(const struct vread_block *block, uint8_t dst[VREAD_MAX_OPEN_DATA]);

#endif
