/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * disks.h - a domain's virtual disks, and what files or devices of this host they are.
 *
 * Read from the backend directories below /local/domain/0/backend, which belong to dom0: libxl
 * writes them, and the guest can only read them.  What a guest says of its disks (its frontend
 * directories) is not looked at.
 */
#ifndef XL_VREAD_DISKS_H
#define XL_VREAD_DISKS_H

#include <stdbool.h>
#include <xenstore.h>

struct disk {
	char *name;    /* "xvdb", as in the domain's configuration */
	char *image;   /* as vread.conf(5) has it, with its format; NULL: it cannot be said so */
	char *problem; /* then why */
	bool writable; /* and no CD */
};

struct disks {
	struct disk *disk;
	unsigned count;
};

/* In the order of their device numbers; of a domain that is just being made, those so far.  0 or
 * negative errno. */
int disks_read(struct xs_handle *xs, unsigned domid, struct disks *ret);
void disks_free(struct disks *d);
/* NULL: there is none of that name. */
const struct disk *disks_find(const struct disks *d, const char *name);

#endif
