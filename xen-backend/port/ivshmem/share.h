/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * share.h - memory and doorbells of a guest of KVM, as vread-ivshmem has given them. device.c makes
 * and uses a share; ivshmem.c has received the descriptors.
 *
 * The memory is sealed against resizing, so no access can fault. The guest's QEMU has the same open
 * eventfds and can change their flags and counters. So vreadd never reads an eventfd.
 * Edge-triggered epolls, which need no read, report the guest's doorbells.
 */
#ifndef VREAD_IVSHMEM_PORT_SHARE_H
#define VREAD_IVSHMEM_PORT_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/ivshmem/server_protocol.h"
#include "vread-ivshmem.h"

struct ivshmem_share {
	uint8_t *memory;
	size_t bytes;
	unsigned queues;
	int to_host[IVSHMEM_MAX_VECTORS];  /* the guest writes them */
	int to_guest[IVSHMEM_MAX_VECTORS]; /* vreadd writes them */
	int epoll[VREAD_MAX_QUEUES];       /* of to_host[1 + q], while the device is connected */
};

/*
 * Makes a share of a COME and its descriptors, which it takes over in any case. 0, or negative
 * errno: the message is not what server_protocol.h says, or there is no memory.
 */
int ivshmem_share_take(struct ivshmem_share *s, const struct ivshmem_message *m, int *fds,
		       unsigned num_fds);
/*
 * free_pages: frees the pages of the memory, also if the guest's QEMU keeps its descriptor or
 * mapping. False: others go on with what is in the memory.
 */
void ivshmem_share_destroy(struct ivshmem_share *s, bool free_pages);

struct vread_ivshmem_control *ivshmem_share_control(const struct ivshmem_share *s);
void ivshmem_share_set_alive(const struct ivshmem_share *s, bool alive);

/* Begins to watch the doorbells of the first `queues` queues; 0 or negative errno. */
int ivshmem_share_watch(struct ivshmem_share *s, unsigned queues);
/* Ends it, in any state that ivshmem_share_watch() left. */
void ivshmem_share_unwatch(struct ivshmem_share *s);

#endif
