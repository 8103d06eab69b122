/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sized.h - copies structs of vread.h between the library and a program that was compiled with
 * another release's vread.h, whose structs may have fewer or more members.
 */
#ifndef LIBVREAD_SIZED_H
#define LIBVREAD_SIZED_H

#include <stddef.h>

#include "vread.h"

/* The bytes of each struct that are members in vread.h of release 0.1.0.  The structs never get
 * shorter than that.  The 0.1.0 compiler may have added padding, which has no defined content. */
#define OPTIONS_BYTES_0_1_0 offsetof(struct vread_options, publisher)
#define BLOCK_BYTES_0_1_0 offsetof(struct vread_block, protect)
#define STAT_BYTES_0_1_0 offsetof(struct vread_stat, reserved)

/* Copies the caller's struct of `size` bytes to *ret.  Members that the caller does not have are 0.
 * -EINVAL: size is less than in 0.1.0.  -E2BIG: a member that the library does not have is not 0.
 */
int sized_options(struct vread_options *ret, const void *options, size_t size);
int sized_block(struct vread_block *ret, const void *block, size_t size);

/* Copies *stat to the caller's struct of `size` bytes.  Members that the library does not have
 * become 0.  -EINVAL: size is less than in 0.1.0. */
int sized_stat(void *ret, size_t size, const struct vread_stat *stat);

#endif
