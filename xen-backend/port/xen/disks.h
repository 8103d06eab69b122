/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * disks.h - the virtual disks this domain gives to guests, and which of them is an image.
 *
 * Read from the backend directories in xenstore: nobody else knows whether a guest's
 * writes go through our page cache.  blkback writes to a block device by bio, past the cache;
 * behind a loop device on a file they go into the file's page cache, unless the loop
 * device is told to use O_DIRECT.  qemu writes through the page cache unless
 * direct-io-safe is set; tapdisk never does.
 */
#ifndef VREAD_XEN_DISKS_H
#define VREAD_XEN_DISKS_H

#include <systemd/sd-event.h>

#include "disk/usage.h"

struct xen_disks;

/* changed is called on the event loop when a disk was attached, detached or changed.  0; -ENODEV
 * where there is no xenstore; other negative errno (logged). */
int xen_disks_start(struct xen_disks **ret, sd_event *event, void (*changed)(void *ctx), void *ctx);
void xen_disks_stop(struct xen_disks *d); /* NULL is ignored */

/* How the image at path is to be read as things are now.  Any thread. */
void xen_disks_usage(struct xen_disks *d, const char *path, struct image_usage *ret);

#endif
