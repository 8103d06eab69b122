/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server_protocol.h - what vread-ivshmem (ivshmem-server/) tells vreadd (port/ivshmem/server.c).
 *
 *   vread-ivshmem                              vreadd
 *                        <------------------   connects; sends nothing
 *   for each guest with a QEMU, at once and
 *   whenever a QEMU connects
 *   COME and descriptors ------------------>
 *   GONE                 ------------------>   when the QEMU's connection has ended
 *
 *   BUSY                 ------------------>   instead of all this, then closes: another vreadd is
 *                                              connected
 *
 * The socket is a UNIX SOCK_SEQPACKET socket, [vreadd] ivshmem-socket of vread.conf(5). Its mode
 * lets only vread-ivshmem's own user connect, which is vreadd's, too.
 *
 * The descriptors of COME, in this order:
 *
 *   memory    memfd of `memory` bytes, sealed against resizing
 *   1 + queues eventfds that the guest writes, by vector
 *   1 + queues eventfds that the host writes, by vector
 *
 * vread-ivshmem.h says what is in the memory and what the vectors are for. When vreadd's connection
 * ends, vread-ivshmem tells every guest that the backend is gone. So vreadd keeps the connection
 * until no session runs any more.
 */
#ifndef VREAD_IVSHMEM_SERVER_PROTOCOL_H
#define VREAD_IVSHMEM_SERVER_PROTOCOL_H

#include <stdint.h>

#include "vread-ring-user.h"

#define IVSHMEM_MAX_VECTORS (1U + VREAD_MAX_QUEUES)
#define IVSHMEM_MAX_FDS (1U + 2U * IVSHMEM_MAX_VECTORS)

enum ivshmem_kind { IVSHMEM_COME = 1, IVSHMEM_GONE = 2, IVSHMEM_BUSY = 3 };

struct ivshmem_message {
	uint32_t kind;       /* enum ivshmem_kind */
	uint32_t queues;     /* 1 .. VREAD_MAX_QUEUES; 0 with GONE and BUSY, as the rest then */
	uint64_t connection; /* number of the QEMU's connection, which no other connection has */
	uint64_t memory;     /* bytes; 0 with GONE */
	char name[64];       /* of [ivshmem NAME], with a NUL */
};

#endif
