/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * share.h - what a guest, its QEMU and vreadd share: memory and doorbells. guest.c makes a share
 * for each connection of a QEMU.
 */
#ifndef VREAD_IVSHMEM_SHARE_H
#define VREAD_IVSHMEM_SHARE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bell.h"
#include "port/ivshmem/server_protocol.h"

struct guest_share {
	size_t memory; /* bytes */
	unsigned queues;
	int memory_fd;
	int to_host[IVSHMEM_MAX_VECTORS];  /* eventfds that the guest writes */
	int to_guest[IVSHMEM_MAX_VECTORS]; /* eventfds that the host writes */
	uint8_t *pages;                    /* the first two pages of the memory */
};

/* 0 or negative errno. On failure nothing is left to destroy. */
int guest_share_create(struct guest_share *s, size_t memory, unsigned queues);
/* Tells the guest that vreadd has ended, in whatever way (vread-ivshmem.h). */
void guest_share_end_backend(const struct guest_share *s, struct bell *bell);
/*
 * Frees the pages of the memory, also if the QEMU keeps its descriptor or mapping. A page that the
 * QEMU touches from then on is zero, and counts against the QEMU.
 */
void guest_share_punch(const struct guest_share *s);
/* Lets go of the share. A QEMU that goes on keeps what is in the memory. */
void guest_share_destroy(struct guest_share *s);

/* Sends the share to a QEMU on its new connection; 0 or negative errno. Does not wait. */
int guest_share_send_to_qemu(const struct guest_share *s, int connection);
/* Tells a QEMU that it is refused: QEMU ends with an error. The caller then closes. */
void guest_share_refuse_qemu(int connection);
/*
 * Fills fds with the descriptors for vreadd, in the order of server_protocol.h. Returns their
 * number.
 */
unsigned guest_share_fds(const struct guest_share *s, int fds[IVSHMEM_MAX_FDS]);

#endif
