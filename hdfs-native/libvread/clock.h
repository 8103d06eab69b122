/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - the clock of libvread's time limits, and the waits that have a limit.  No other file
 * of libvread reads a clock.  Waits in the driver of /dev/vread get their limit from
 * vclock_ms_left().
 *
 * Deadlines are in nanoseconds of CLOCK_MONOTONIC.  A signal neither ends nor prolongs a wait.
 *
 * A test can set the time.  If the environment variable VREAD_CLOCK names a file when the library
 * is loaded, the time is the uint64_t at the start of that file, in milliseconds and the machine's
 * byte order.  The time then changes only when the test writes another value, so the test decides
 * when a deadline passes.  Set-user-ID programs ignore VREAD_CLOCK.
 */
#ifndef LIBVREAD_CLOCK_H
#define LIBVREAD_CLOCK_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define VCLOCK_NS_PER_MS 1000000ULL
#define VCLOCK_BRIEF_NS (10 * VCLOCK_NS_PER_MS) /* real time; the longest brief wait */

uint64_t vclock_now(void);
/* The deadline that is timeout_ms from now. */
uint64_t vclock_deadline(unsigned timeout_ms);
/* Milliseconds until the deadline, rounded up.  0: the deadline has passed. */
uint32_t vclock_ms_left(uint64_t deadline);

/* As poll(), until the deadline.  brief: for at most VCLOCK_BRIEF_NS. */
int vclock_poll(struct pollfd *fds, nfds_t count, uint64_t deadline, bool brief);
/* Returns when the condition is signalled, at the deadline, or earlier without a reason.  brief: as
 * for vclock_poll(). */
void vclock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline, bool brief);
/* As connect(), which waits while the listener's backlog is full.  Sets SO_SNDTIMEO.  0, -ETIME or
 * another negative errno. */
int vclock_connect(int sock, const struct sockaddr *address, socklen_t length, uint64_t deadline);

/* Nanoseconds of the real CLOCK_MONOTONIC, for spinning and brief waits; a test cannot set it. */
uint64_t vclock_spinning(void);

#endif
