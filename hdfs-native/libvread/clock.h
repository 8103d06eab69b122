/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - the time of libvread's limits, and every wait that has one.
 *
 * Nothing else here asks for the time.  Deadlines are nanoseconds of
 * CLOCK_MONOTONIC; a signal neither ends a wait nor prolongs it.
 *
 * A test can own the time.  If VREAD_CLOCK names a file when the library is
 * loaded, the time is the uint64_t at the start of that file, in milliseconds
 * and the machine's byte order: it stands still until the test writes another
 * value, and a deadline passes because the test said so.
 */
#ifndef LIBVREAD_CLOCK_H
#define LIBVREAD_CLOCK_H

#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>

#define VCLOCK_NS_PER_MS 1000000ULL

uint64_t vclock_now(void);
/* The deadline of what begins now. */
uint64_t vclock_deadline(unsigned timeout_ms);
/* For those who take a limit in ms: what is left, rounded up; 0 once the deadline has passed. */
uint32_t vclock_ms_left(uint64_t deadline);

/* poll() until the deadline. */
int vclock_poll(struct pollfd *fds, nfds_t count, uint64_t deadline);
/* Waits until the condition is signalled, until the deadline, or for no reason. */
void vclock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline);
/* connect(), which waits while the listener's backlog is full: 0, -ETIME or -errno. */
int vclock_connect(int sock, const struct sockaddr *address, socklen_t length, uint64_t deadline);

/* Nanoseconds to spin by: those of the processor, whoever owns the time. */
uint64_t vclock_spinning(void);

#endif
