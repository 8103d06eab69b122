/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * disks.h - the virtual disks that this domain gives to guests, and which of them is a given image.
 * control/ asks how an image must be read.
 *
 * The disks are read from the backend directories in xenstore. Only these directories tell whether
 * a guest's writes go through our page cache:
 *   blkback  writes to a block device by bio, past the page cache. If the
 *            block device is a loop device on a file, the writes go into the
 *            file's page cache, unless the loop device uses O_DIRECT.
 *   qemu     writes through the page cache unless direct-io-safe is set.
 *   tapdisk  never writes through the page cache.
 */
#ifndef VREAD_XEN_DISKS_H
#define VREAD_XEN_DISKS_H

#include <systemd/sd-event.h>

#include "disk/usage.h"

struct xen_disks;

/*
 * changed is called on the event loop when a disk was attached, detached or changed. 0; -ENODEV:
 * there is no xenstore; other negative errno (logged).
 */
int xen_disks_start(struct xen_disks **ret, sd_event *event, void (*changed)(void *ctx), void *ctx);
void xen_disks_stop(struct xen_disks *d); /* NULL is ignored */

/*
 * Tells how the image at path must be read at present; see image_usage_fn. Any thread. A disk whose
 * storage hangs delays the first callers by 2 s, and is then what it was before it hung.
 */
void xen_disks_usage(struct xen_disks *d, const char *path, struct image_usage *usage);

#endif
