// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdma/making.c - a transport's queue pair, until it is up.  transport.c calls these functions.
 *
 * The asker dials, and dials again if no queue pair came up.  The answerer takes the host that
 * dialled last.  Nothing is posted before a queue pair is up.  So a queue pair that never was
 * up can be dropped without loss.
 */
#include "peer/rdma/transport_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "base/clock.h"
#include "base/log.h"
#include "peer/rdma/listen.h"

#define WRITES 64U /* most RDMA writes under way */

static struct rdma_end_settings settings_of(struct rdma_transport *t,
					    const struct rdma_secret *secret)
{
	return (struct rdma_end_settings){
		.rdma = t->rdma,
		.secret = secret,
		.messages = t->credits,
		.writes = t->side == RDMA_ANSWERS ? WRITES : 0,
		.user = &rdma_transport_user,
		.ctx = t,
	};
}

int rdma_pair_watch(struct rdma_transport *t, int fd)
{
	struct epoll_event e = {.events = EPOLLIN};

	return epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &e) < 0
		       ? rdma_transport_failed(t, -errno, strerror(errno))
		       : 0;
}

/* The end opens its descriptors one after the other, so new ones are added here. */
static int watch_end(struct rdma_transport *t)
{
	struct pollfd fds[RDMA_END_FDS];
	int r = 0;

	rdma_end_poll(t->end, fds);
	for (unsigned i = 0; i < RDMA_END_FDS && !r; i++) {
		if (fds[i].fd == t->watched[i])
			continue;
		r = rdma_pair_watch(t, fds[i].fd);
		t->watched[i] = fds[i].fd;
	}
	return r;
}

/* Only for a queue pair that never was up: nothing has passed, and nothing was posted. */
static void drop_end(struct rdma_transport *t)
{
	rdma_end_free(t->end);
	t->end = NULL;
	for (unsigned i = 0; i < RDMA_END_FDS; i++)
		t->watched[i] = -1;
}

/* ---- the answerer's queue pair ----------------------------------------------------------- */

/* The host that is awaited may have dialled, or have dialled again. */
static void take_dialled(struct rdma_transport *t)
{
	struct rdma_end_settings settings = settings_of(t, rdma_await_secret(t->awaited));
	struct rdma_meeting m;
	struct rdma_cm_id *id = rdma_await_take(t->awaited, &m);
	char error[RDMA_ERROR_TEXT];

	if (!id)
		return;
	drop_end(t);
	if (rdma_end_accept(&settings, id, &m, &t->end, error))
		log_source(LOG_LEVEL_WARN, "rdma", "rdma: cannot answer the dialling host: %s",
			   error);
}

static void stop_awaiting(struct rdma_transport *t)
{
	rdma_await_free(t->awaited);
	t->awaited = NULL;
}

/* ---- the asker's queue pair -------------------------------------------------------------- */

static int dial_failed(struct rdma_transport *t, int error, const char *why)
{
	snprintf(t->why, sizeof(t->why), "rdma: %s", why);
	drop_end(t);
	return rdma_dial_failed(&t->dial, clock_ms()) ? 0 : rdma_transport_failed(t, error, why);
}

static int dial(struct rdma_transport *t)
{
	struct rdma_end_settings settings = settings_of(t, &t->secret);
	char error[RDMA_ERROR_TEXT];
	int r;

	settings.give_up = t->give_up;
	r = rdma_end_dial(&settings, (struct sockaddr *)&t->address, &t->end, error);
	return r ? dial_failed(t, r, error) : 0;
}

static int set_timer(struct rdma_transport *t)
{
	/* This also clears an expiration that has not been read. */
	int r = clock_set_timerfd(t->timer, rdma_dial_next(&t->dial, clock_ms()));

	return r ? rdma_transport_failed(t, r, strerror(-r)) : 0;
}

static int advance_dial(struct rdma_transport *t)
{
	int r = 0;

	if (rdma_dial_is_overdue(&t->dial, clock_ms()))
		r = dial_failed(t, -ETIMEDOUT, "the other host's adapter does not answer");
	if (!r && rdma_dial_is_due(&t->dial, clock_ms()))
		r = dial(t);
	if (!r && rdma_dial_goes_by_tls(&t->dial, clock_ms()))
		rdma_transport_by_tls(t);
	return r ? r : set_timer(t);
}

/* ---- either's ------------------------------------------------------------------------------ */

/* A queue pair that never was up may be tried again.  But -EPROTO means that the other end has
 * not proved the secret, so it is not the peer: the transport fails. */
static int end_failed(struct rdma_transport *t, int error)
{
	char why[RDMA_ERROR_TEXT];

	if (t->transport.error[0])
		return error;
	memcpy(why, rdma_end_error(t->end), sizeof(why));
	if (rdma_end_was_up(t->end) || error == -EPROTO)
		return rdma_transport_failed(t, error, why);
	if (t->side == RDMA_ASKS)
		return dial_failed(t, error, why);
	drop_end(t);
	return 0;
}

static int advance_end(struct rdma_transport *t)
{
	int r = rdma_end_advance(t->end);

	if (r)
		return end_failed(t, r);
	if (rdma_end_is_up(t->end) && t->awaited)
		stop_awaiting(t);
	if (rdma_end_is_up(t->end) && t->side == RDMA_ASKS && t->dial.state != RDMA_DIAL_UP) {
		rdma_dial_succeeded(&t->dial);
		r = set_timer(t);
	}
	return r;
}

int rdma_pair_advance(struct rdma_transport *t)
{
	int r = 0;

	if (t->awaited)
		take_dialled(t);
	if (t->end)
		r = advance_end(t);
	if (!r && t->side == RDMA_ASKS && t->dial.state != RDMA_DIAL_UP)
		r = advance_dial(t);
	return !r && t->end ? watch_end(t) : r;
}

int rdma_pair_begin(struct rdma_transport *t, const struct rdma_choice *choice)
{
	t->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (t->timer < 0)
		return rdma_transport_failed(t, -errno, strerror(errno));
	rdma_dial_begin(&t->dial, choice, clock_ms());
	t->give_up = choice->give_up;
	if (rdma_pair_watch(t, t->timer))
		return -1;
	return rdma_pair_advance(t);
}
