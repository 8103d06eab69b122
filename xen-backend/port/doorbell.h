/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doorbell.h - eventfds as the event channels of queues. port/local/ and port/ivshmem/ use it.
 *
 * The other end has each eventfd, too. It may read it, fill it, or make it blocking. So the eventfd
 * that it writes is never read: an epoll of this process watches it, and reports an edge for each
 * write. The epoll is not shared.
 *
 * Threads: doorbell_watch() the event loop's, the others the workers of the queue.
 */
#ifndef VREAD_PORT_DOORBELL_H
#define VREAD_PORT_DOORBELL_H

/*
 * Returns an epoll that is readable when somebody has written to the eventfd, or negative errno.
 * The caller closes the epoll.
 */
int doorbell_watch(int eventfd);
/*
 * Takes the pending edge; 0 or negative errno. Each write makes another edge, whether or not the
 * last one was taken, so nothing has to be armed again.
 */
int doorbell_take(int epoll);
/*
 * Rings the other end. Waits if the other end has filled the eventfd and made it blocking; the end
 * of the session interrupts that.
 */
void doorbell_ring(int eventfd);

#endif
