// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A timer of sd-event on the clock of base/clock.h; see timer.h.  Called by control/, peer/ and
 * port/.
 *
 * The sd-event source is armed for one slice of clock_slice() at a time, and again until the moment
 * has come.
 */
#include "base/timer.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

struct timer {
	sd_event_source *source;
	timer_handler *handler;
	void *ctx;
	uint64_t until;
};

static int arm(struct timer *t)
{
	int r = sd_event_source_set_time_relative(t->source,
						  1000ULL * (uint64_t)clock_slice(t->until));

	if (r >= 0)
		r = sd_event_source_set_enabled(t->source, SD_EVENT_ONESHOT);
	return r < 0 ? r : 0;
}

static int on_time(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct timer *t = userdata;

	(void)source, (void)usec;
	if (clock_ms() < t->until)
		return arm(t);
	t->handler(t->ctx);
	return 0;
}

static int make(struct timer **ret, sd_event *event)
{
	struct timer *t = calloc(1, sizeof(*t));
	int r = t ? sd_event_add_time(event, &t->source, CLOCK_MONOTONIC, 0, 1, on_time, t)
		  : -ENOMEM;

	if (r < 0)
		timer_free(t);
	else
		*ret = t;
	return r;
}

int timer_start(struct timer **t, sd_event *event, uint64_t ms, timer_handler *handler, void *ctx)
{
	int r = *t ? 0 : make(t, event);

	if (r < 0)
		return r;
	(*t)->until = clock_ms() + ms;
	(*t)->handler = handler;
	(*t)->ctx = ctx;
	return arm(*t);
}

struct timer *timer_free(struct timer *t)
{
	if (t)
		sd_event_source_disable_unref(t->source);
	free(t);
	return NULL;
}
