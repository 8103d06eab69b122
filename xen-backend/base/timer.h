/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timer.h - a handler that an event loop calls when some time has passed on the clock of clock.h.
 *
 * Threads: the event loop's.
 */
#ifndef VREAD_TIMER_H
#define VREAD_TIMER_H

#include <stdint.h>
#include <systemd/sd-event.h>

struct timer;

/* It may free its timer. */
typedef void timer_handler(void *ctx);

/* Calls the handler once, in so many ms from now.  *t is the timer, or NULL: it is made.  A time that was
 * set before does not count any more.  0 or negative errno. */
int timer_start(struct timer **t, sd_event *event, uint64_t ms, timer_handler *handler, void *ctx);
/* Returns NULL. */
struct timer *timer_free(struct timer *t);

#endif
