/* SPDX-License-Identifier: GPL-2.0 */
/*
 * chardev.h - the system calls of /dev/vread and /dev/vread-publish.  xenbus.c makes the device
 * nodes of them.
 */
#ifndef VREAD_CHARDEV_H
#define VREAD_CHARDEV_H

#include <linux/fs.h>

extern const struct file_operations vread_fops;

#endif
