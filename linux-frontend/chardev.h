/* SPDX-License-Identifier: GPL-2.0 */
/*
 * chardev.h - /dev/vread and its open files.
 */
#ifndef VREAD_CHARDEV_H
#define VREAD_CHARDEV_H

#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "device.h"
#include "vread_ioctl.h"

#define VREAD_FILE_READS 64U /* READs of one open file in flight or not yet reaped */
#define VREAD_FILE_HANDLES 4096U

struct vread_file;

/* One READ: idle, in flight, or done and waiting to be reaped. */
struct vread_read {
	struct vread_req req;
	struct list_head node;
	struct vread_file *file;     /* held while in flight */
	struct vread_handle *handle; /* likewise */
	u64 user_data;
	unsigned int page, pages; /* of the slice */
	s32 result;
};

/* One open file; outlives it as long as READs are in flight, and only then returns its
 * slice to the pool. */
struct vread_file {
	struct kref ref;
	struct vread_device *dev;
	struct list_head node; /* of dev->files, while open */

	struct xarray handles; /* its lock protects the two below as well */
	u32 next_handle;
	unsigned int num_handles;

	struct mutex slice_mutex; /* two SLICEs at once */
	struct vread_read *reads; /* these four: constant once slice_pages is set */
	unsigned long *busy;      /* (contents: lock) slice pages of READs in flight */
	unsigned int slice_first;
	unsigned int slice_pages;

	spinlock_t lock;
	struct list_head idle;
	struct list_head done;
	unsigned int num_in_flight;
	unsigned int num_done;
	wait_queue_head_t wq; /* something done, or the link changed */
};

extern const struct file_operations vread_fops;

/* io.c: READs of one file. */
int vread_file_take_slice(struct vread_file *file, u64 *bytes);
int vread_file_submit(struct vread_file *file, const struct vread_ioc_read *args);
/* Waits as REAP says and stores completions; returns how many. */
int vread_file_reap(struct vread_file *file, const struct vread_ioc_reap *args);
bool vread_file_can_submit(struct vread_file *file);
void vread_file_put(struct vread_file *file);

/* A handle of this file by its number, with a reference; NULL if there is none. */
struct vread_handle *vread_file_handle(struct vread_file *file, u32 number);

#endif
