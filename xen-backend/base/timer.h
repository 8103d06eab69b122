/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timer.h - a handler that an event loop calls after some time on the clock of base/clock.h.
 * Called by control/, peer/ and port/.
 *
 * Threads: the event loop's.
 */
#ifndef VREAD_TIMER_H
#define VREAD_TIMER_H

#include <stdint.h>
#include <systemd/sd-event.h>

struct timer;

/* The handler may free its timer. */
typedef void timer_handler(void *ctx);

/* Calls the handler once, ms from now.  If *t is NULL, makes the timer.  If the timer was already
 * started, the new time and handler replace the old ones.  Returns 0 or negative errno. */
int timer_start(struct timer **t, sd_event *event, uint64_t ms, timer_handler *handler, void *ctx);
/* t may be NULL.  Returns NULL. */
struct timer *timer_free(struct timer *t);

#endif
