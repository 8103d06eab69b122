/* SPDX-License-Identifier: GPL-2.0 */
/*
 * chardev.h - the system calls of /dev/vread and /dev/vread-publish.  connect.c makes the device
 * nodes of them.
 */
#ifndef VREAD_CHARDEV_H
#define VREAD_CHARDEV_H

#include <linux/fs.h>

struct vread_device;

extern const struct file_operations vread_fops;

/* Moves the pool of a device that is gone to ordinary memory, also in the mappings of processes.
 * The link must be down, and everybody who waits woken.  When the call returns, nobody uses the
 * shared memory any more.  Process context. */
void vread_chardev_move_pool(struct vread_device *dev);

#endif
