/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock.h - the time of the daemon: deadlines, periods and pauses.
 *
 * No other file of vreadd and vread-parser asks the kernel for the time, or waits with a time limit.
 * A moment is a number of ms of clock_ms(); CLOCK_NEVER is later than all of them.
 *
 * A test may own the time.  With VREAD_CLOCK=FILE in the environment of vreadd the time is what FILE
 * says: one uint64_t in native byte order, ms since the epoch.  The time stands still until the test
 * writes a later value.  vreadd maps the file when it starts, read only, and refuses to start if it
 * cannot; its parsers map the same file.  A wait with a limit then looks at the value again every
 * few ms of real time, so a limit passes soon after the test says so, and never because the machine
 * is slow.  Without the variable each function is one system call.
 *
 * Real time stays: what the kernel itself limits (TCP_USER_TIMEOUT), systemd's watchdog, measurements,
 * and the short rests of clock_rest_us() and clock_rest_poll(), which wait for another process.
 *
 * Threads: any, but for clock_start() and clock_follow().
 */
#ifndef VREAD_CLOCK_H
#define VREAD_CLOCK_H

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#define CLOCK_VARIABLE "VREAD_CLOCK"
#define CLOCK_NEVER UINT64_MAX

/* Before the first thread: maps the file that VREAD_CLOCK names, if it is set.  0 or negative errno. */
int clock_start(void);
/* Before the first thread: the time is *ms from now on; NULL: it is the kernel's again. */
void clock_follow(const _Atomic uint64_t *ms);
/* "VREAD_CLOCK=FILE" for the environment of a child; NULL: the time is the kernel's. */
const char *clock_setting(void);

/* ms of a clock that only goes on, from no moment in particular. */
uint64_t clock_ms(void);
/* ms since the epoch. */
uint64_t clock_wall_ms(void);

/* As poll(2), until that moment; goes on when a signal interrupts it. */
int clock_poll(struct pollfd *fds, nfds_t count, uint64_t until);
/* As epoll_wait(2) for one event, likewise. */
int clock_epoll(int epoll, struct epoll_event *ret, uint64_t until);
/* Waits for cond; false: the moment has come.  As with pthread_cond_wait(3) true does not mean that
 * cond was signalled: look at what is waited for again. */
bool clock_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t until);
/* How many ms of real time a wait for that moment may take before it asks clock_ms() again; -1: any.
 * For waits that are made by others. */
int clock_slice(uint64_t until);
/* Makes a timerfd readable at that moment, and sometimes before it. */
int clock_set_timerfd(int timerfd, uint64_t until);

/* ---- always of real time ---- */

/* For how long something takes. */
uint64_t clock_measure_ns(void);
/* ms since the epoch, to compare with a file's times. */
uint64_t clock_file_ms(void);
void clock_rest_us(unsigned us);
/* As poll(2). */
int clock_rest_poll(struct pollfd *fds, nfds_t count, int ms);
/* As sem_wait(3); false: it was not posted within so many ms. */
bool clock_rest_sem(sem_t *sem, unsigned ms);

#endif
