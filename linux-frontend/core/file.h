/* SPDX-License-Identifier: GPL-2.0 */
/*
 * file.h - one open file of a device node: its handles, its slice of the pool and its READs.
 * chardev.c calls these functions for system calls.
 *
 * Process context; errors as vread_ioctl.h says.
 */
#ifndef VREAD_FILE_H
#define VREAD_FILE_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>

#include "device.h"
#include "vread_ioctl.h"

#define VREAD_FILE_READS 64U     /* READs of one open file, in flight or not yet reaped */
#define VREAD_FILE_HANDLES 4096U /* open handles of one open file */

struct vread_file;

/* One READ: idle, in flight, or done and waiting to be reaped. */
struct vread_read {
	struct vread_req req;
	struct list_head node;
	struct vread_file *file;     /* a reference while in flight */
	struct vread_handle *handle; /* a reference while in flight */
	u64 user_data;
	unsigned int page, pages; /* of the slice */
	s32 result;
	u32 crc32c;
};

/* One open file.  After the file is closed, the struct lives on while READs are in flight.  Its
 * slice goes back to the pool when the struct is freed. */
struct vread_file {
	struct kref ref;
	struct vread_device *dev;
	struct vread_user *user; /* who opened it, with a reference */
	bool publishes; /* opened by the node of publishers: PUBLISH and KEYS, but no OPEN */
	bool writable;  /* opened for writing */
	struct vread_waiter waiter;

	struct xarray handles; /* its lock also protects next_handle and num_handles */
	u32 next_handle;
	unsigned int num_handles; /* in the table, and reserved */

	/* Held while the slice is taken.  The four pointers and numbers that follow are constant
	 * once slice_pages is not 0. */
	struct mutex slice_mutex;
	struct vread_read *reads;
	unsigned long *busy; /* a bit for each slice page: a READ in flight uses it; under lock */
	unsigned int slice_first;
	unsigned int slice_pages;

	spinlock_t lock; /* protects the bits of busy, and the members up to num_done */
	struct list_head idle;
	struct list_head done;
	unsigned int num_in_flight;
	unsigned int num_done;
};

/* A file without handles and slice.  mapping: of the struct file.  NULL: no memory. */
struct vread_file *vread_file_create(struct vread_device *dev, struct address_space *mapping);
/* Gives up the handles, and the caller's reference. */
void vread_file_close(struct vread_file *file);

/* Reserves room for a handle, before the backend opens it.  0 or -EMFILE. */
int vread_file_reserve_handle(struct vread_file *file);
void vread_file_unreserve_handle(struct vread_file *file);
/* Gives a handle a number, in reserved room.  Takes over the caller's reference, but only on
 * success.  0 or -ENOMEM: the room is still reserved. */
int vread_file_add_handle(struct vread_file *file, struct vread_handle *handle, u32 *ret_number);
/* The handle with that number, with a reference.  NULL: no such handle. */
struct vread_handle *vread_file_handle(struct vread_file *file, u32 number);
int vread_file_close_handle(struct vread_file *file, u32 number);

/* Takes away all pages that processes have mapped through open files of the device.  A process that
 * touches one then gets a page fault. */
void vread_files_unmap(struct vread_device *dev);

/* SLICE: takes *bytes, rounded up to pages, and sets *bytes to the size of the slice. */
int vread_file_take_slice(struct vread_file *file, u64 *bytes);
/* Starts one READ of a SUBMIT. */
int vread_file_submit(struct vread_file *file, const struct vread_ioc_read *args);
/* REAP: waits, stores completions and returns their number. */
int vread_file_reap(struct vread_file *file, const struct vread_ioc_reap *args);
/* True if a READ could probably be submitted now. */
bool vread_file_can_submit(struct vread_file *file);

#endif
