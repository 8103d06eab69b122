/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shares.h - limits how many bytes of read-ahead one stream of a client may have on their way from
 * a disk.  read/ahead.c joins a stream to a disk and asks for its window.
 *
 * The kernel schedules the requests of a disk, but does not know which client a request is for.  A
 * busy disk serves the client with the most requests.  So the bytes that are read ahead are shared
 * out: every client that reads from a disk may have the same number of bytes on their way, and the
 * streams of a client divide that number among them.
 *
 * The sum is bounded, so that a small read meets a short queue.  Each share is asked for in one go,
 * so that the run of a stream at the disk is long.
 *
 * Threads: any.
 */
#ifndef VREAD_DISK_SHARES_H
#define VREAD_DISK_SHARES_H

#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#define SHARES_MOST (64U << 20)   /* bytes on their way from one disk */
#define SHARES_LEAST (512U << 10) /* bytes for one client, however many clients there are */

struct shares;

struct shares *shares_new(void);    /* NULL: out of memory */
void shares_free(struct shares *s); /* NULL is ignored */

/* Adds one stream of client on disk.  client is only compared, never dereferenced.  Returns 0 or
 * -ENOMEM. */
int shares_join(struct shares *s, dev_t disk, const void *client);
/* Removes one stream that joined. */
void shares_leave(struct shares *s, dev_t disk, const void *client);
/* Returns how many bytes a stream that joined may have on their way, if it wants window bytes. */
uint64_t shares_window(struct shares *s, dev_t disk, const void *client, uint64_t window);

/* [{"disk": "254:0", "clients", "streams"}], for the disks that are read ahead now.  Returns a new
 * reference. */
json_t *shares_status(struct shares *s);

#endif
