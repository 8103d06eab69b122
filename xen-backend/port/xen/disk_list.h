/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * disk_list.h - the virtual disks that a domain gives to guests, as its backend directories in
 * xenstore list them. disks.c calls it.
 *
 * Threads: a list is read only, but for references and the last fields of a disk, which the
 * caller's lock protects.
 */
#ifndef VREAD_XEN_DISK_LIST_H
#define VREAD_XEN_DISK_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "disk/backing.h"
#include "port/xen/store.h"

#define DISK_LIST_MAX_DOMID 0x7fefU

/*
 * A directory below backend/, the program that serves it, and whether that program bypasses the
 * page cache of a file in every case.
 */
struct disk_kind {
	const char *directory, *server;
	bool direct;
};
#define DISK_KINDS 3U
extern const struct disk_kind disk_kinds[DISK_KINDS];

struct vdisk {
	unsigned references; /* of lists */
	const struct disk_kind *kind;
	uint32_t domid, id;
	char *path;     /* path of a file or device; NULL: none */
	bool on_device; /* device is set */
	dev_t device;
	bool writes;
	bool direct_io_safe;

	/* The rest changes. */
	bool examining; /* a thread examines the disk */
	bool unknown;   /* the last examination failed */
	int found;      /* by backing_of_path(); negative: never examined */
	struct backing backing;
};

/* The disks at one moment. */
struct disk_list {
	unsigned references;
	bool incomplete; /* there was no memory for all disks */
	size_t count;
	struct vdisk **disks;
};

/*
 * Reads the list of the disks that domain `domid` gives to guests. A disk that is as it was in
 * `last` (NULL: there is none) is the same object. So what was found about it stays known, even if
 * its storage hangs now. Returns a reference, or NULL: out of memory.
 */
struct disk_list *disk_list_read(struct xs_handle *xs, uint32_t domid,
				 const struct disk_list *last);
void disk_list_put(struct disk_list *list); /* NULL is ignored */

#endif
