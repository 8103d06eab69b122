/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h - compares the bytes of a READ with the CRC32C in its response.  read.c, sequential.c and
 * async.c call it for files whose bytes are to be checked (`check` of struct vread_file).
 *
 * The host that verified the bytes made the CRC32C.  Between that host's memory and the caller's
 * buffer are other hosts, network adapters and the pool.
 */
#ifndef LIBVREAD_CHECK_H
#define LIBVREAD_CHECK_H

#include "transport.h"

/* data: all bytes of a READ that has ended with a status larger than 0; in the slice, or copied
 * from there.  0, or -EBADE: they changed on their way. */
int check_bytes(const struct op *read, const void *data);

#endif
