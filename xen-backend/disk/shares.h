/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shares.h - how much may be on its way from a disk for one stream of a client.
 *
 * The kernel schedules a disk's requests; what it does not know is for whom they are.  A
 * disk that is busy serves whom it has most requests of.  So what is read ahead is
 * shared out: every client that is being served from a disk may have the same number of
 * bytes on their way, and a client's streams divide that among them.
 * The sum is bounded, so that a small read meets a short queue; and each share is
 * asked for in one go, so that a stream's run at the disk is long.
 *
 * Threads: any.
 */
#ifndef VREAD_DISK_SHARES_H
#define VREAD_DISK_SHARES_H

#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#define SHARES_MOST (64U << 20)   /* on their way from one disk */
#define SHARES_LEAST (512U << 10) /* for a client, however many there are */

struct shares;

struct shares *shares_new(void);    /* NULL: out of memory */
void shares_free(struct shares *s); /* NULL is ignored */

/* One more stream of client, which is only compared, is served from disk: 0 or -ENOMEM. */
int shares_join(struct shares *s, dev_t disk, const void *client);
/* Of those that joined. */
void shares_leave(struct shares *s, dev_t disk, const void *client);
/* How many bytes a stream that joined may have on their way, if it wants window. */
uint64_t shares_window(struct shares *s, dev_t disk, const void *client, uint64_t window);

/* [{"disk": "254:0", "clients", "streams"}], of disks that are read ahead now; new reference. */
json_t *shares_status(struct shares *s);

#endif
