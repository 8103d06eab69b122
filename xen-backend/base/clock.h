/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock.h - the time of the daemon: deadlines, periods and pauses.  All of vreadd and vread-parser,
 * and the tools, take the time from here.  No other file of vreadd and vread-parser asks the kernel
 * for the time, or waits with a time limit.
 *
 * A moment is a value of clock_ms(), in ms.  CLOCK_NEVER is later than every moment.
 *
 * A test may own the time.  With VREAD_CLOCK=FILE in the environment of vreadd, FILE holds the
 * time: one uint64_t in native byte order, ms since the epoch.  A second uint64_t is the CPU time
 * that each process has used, in ms.  The time stands still until the test writes a later value.
 * vreadd maps the file when it starts, read only, and refuses to start if it cannot map the file.
 * The parsers of vreadd map the same file.  A wait with a limit then looks at the value again every
 * few ms of real time.  So a limit passes soon after the test says so, and never because the
 * machine is slow.  Without the variable each function is one system call.
 *
 * Some waits use real time even if a test owns the time: the time limits of the kernel itself
 * (TCP_USER_TIMEOUT), systemd's watchdog, measurements, and the short pauses of clock_rest_us() and
 * clock_rest_poll(), which wait for another process.
 *
 * Threads: any.  clock_start() and clock_follow() must come before the first thread.
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
#include <sys/types.h>

#define CLOCK_VARIABLE "VREAD_CLOCK"
#define CLOCK_NEVER UINT64_MAX

/* Maps the file that VREAD_CLOCK names, if VREAD_CLOCK is set.  Call it before the first thread
 * starts.  Returns 0 or negative errno. */
int clock_start(void);
/* Makes *ms the time from now on; NULL: the kernel's time again.  Call it before the first thread
 * starts. */
void clock_follow(const _Atomic uint64_t *ms);
/* "VREAD_CLOCK=FILE", for the environment of a child; NULL: the time is the kernel's. */
const char *clock_setting(void);

/* ms of a monotonic clock.  Its zero has no meaning. */
uint64_t clock_ms(void);
/* ms since the epoch. */
uint64_t clock_wall_ms(void);
/* CPU time in ms that process `pid` has used so far, all its threads together, also if the process
 * has ended and nobody has reaped it; 0 if there is no such process.  On a unit test's clock
 * (clock_follow()): 0. */
uint64_t clock_cpu_ms(pid_t pid);

/* Like poll(2), until the moment `until`.  Continues to wait after a signal. */
int clock_poll(struct pollfd *fds, nfds_t count, uint64_t until);
/* Like epoll_wait(2) for one event, until the moment `until`.  Continues to wait after a signal. */
int clock_epoll(int epoll, struct epoll_event *ret, uint64_t until);
/* Waits for cond.  Returns false if the moment `until` has come.  As with pthread_cond_wait(3),
 * true does not mean that cond was signalled: check the awaited condition again. */
bool clock_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t until);
/* Returns how many ms of real time a wait for the moment `until` may take before the caller looks
 * at clock_ms() again; -1: any number.  For waits inside another library, such as sd-event. */
int clock_slice(uint64_t until);
/* Makes timerfd readable at the moment `until`, and sometimes earlier. */
int clock_set_timerfd(int timerfd, uint64_t until);

/* ---- always in real time ---- */

/* Monotonic ns, to measure how long something takes. */
uint64_t clock_measure_ns(void);
/* ms since the epoch, to compare with the times of a file. */
uint64_t clock_file_ms(void);
void clock_rest_us(unsigned us);
/* Like poll(2). */
int clock_rest_poll(struct pollfd *fds, nfds_t count, int ms);
/* Like sem_wait(3).  Returns false if sem was not posted within ms. */
bool clock_rest_sem(sem_t *sem, unsigned ms);

#endif
