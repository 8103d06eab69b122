/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * disks.h - finds the files or devices of this host behind a domain's virtual disks.  keys.c calls
 * it, and xl-vread(8).
 *
 * They are read from the backend directories in xenstore.  These belong to this domain: the
 * toolstack writes them, and the guest can only read them.  The frontend directories, which the
 * guest writes, are not used.
 */
#ifndef VREAD_KEYS_DISKS_H
#define VREAD_KEYS_DISKS_H

#include <stdbool.h>
#include <xenstore.h>

struct disk {
	char *name;    /* "xvdb", as in the domain's configuration */
	char *image;   /* FORMAT:PATH, as in vread.conf(5); NULL: not possible */
	char *problem; /* why image is NULL; else NULL */
	bool writable; /* and not a CD */
};

struct disks {
	struct disk *disk;
	unsigned count;
};

/* Reads the disks that domain `own` gives to the domain, in the order of their device numbers.  If
 * the domain is just being made, reads the disks that exist so far.  0 or negative errno. */
int disks_read(struct xs_handle *xs, xs_transaction_t t, unsigned own, unsigned domid,
	       struct disks *ret);
void disks_free(struct disks *d);
/* The disk of that name.  NULL: there is none. */
const struct disk *disks_find(const struct disks *d, const char *name);

#endif
