/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bell.h - rings eventfds that another process shares, and never waits. ivshmem-server/ and
 * port/ivshmem call it from threads that serve several guests.
 *
 * A process that shares an eventfd can clear O_NONBLOCK and fill the counter. Then a write(2) waits
 * until somebody reads. So the kernel adds to the counter when an asynchronous request completes
 * (IOCB_FLAG_RESFD), which does not wait, whatever flags and counter are.
 *
 * Threads: one bell for each thread.
 */
#ifndef VREAD_BASE_BELL_H
#define VREAD_BASE_BELL_H

struct bell;

/* 0 or negative errno. */
int bell_new(struct bell **ret);
/* Adds 1 to the counter of an eventfd, unless the counter is full. */
void bell_ring(struct bell *b, int eventfd);
/* NULL is ignored. */
void bell_free(struct bell *b);

#endif
