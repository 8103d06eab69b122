// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * connection.c - the link's thread: runs a connection from its beginning to its end, and sets the
 * pause after a connection that failed.
 *
 * link.c starts the thread with link_run().
 *
 * The thread ends with its connection, whether the connection was idle or has failed.  There is one
 * exception: requests asked while an idle connection is being closed, or while a connection to an
 * old address of the peer ends, make a new connection on the same thread.
 */
#include "peer/asking/link_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define CHECK_PAUSE 1000U /* ms between checks whether the peer is still accepted */
#define FIRST_PAUSE 100U  /* ms */
#define LONGEST_PAUSE 30000U

__attribute__((format(printf, 3, 4))) int link_failed(struct link *l, int error, const char *format,
						      ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(l->error, sizeof(l->error), format, ap);
	va_end(ap);
	return error;
}

int link_wait_ready(struct link *l, struct pollfd *fds, unsigned num_fds, uint64_t until)
{
	uint64_t woken;
	bool stopping;

	fds[num_fds] = (struct pollfd){.fd = l->wake, .events = POLLIN};
	clock_poll(fds, num_fds + 1, until);
	if (fds[num_fds].revents && read(l->wake, &woken, sizeof(woken)) < 0 && errno != EAGAIN)
		return link_failed(l, -errno, "eventfd: %s", strerror(errno));
	pthread_mutex_lock(&l->lock);
	stopping = l->stopping;
	pthread_mutex_unlock(&l->lock);
	return stopping ? link_failed(l, -ECANCELED, "vreadd is ending") : 0;
}

static bool is_silent(const struct link_request *r, void *unused)
{
	(void)unused;
	return r->silent;
}

/* True if the connection is idle and has been idle for idle_timeout; with at_once the time does not
 * matter.  Then the state is LINK_CLOSING, and no request is sent on this connection any more. */
static bool end_if_idle(struct link *l, bool at_once)
{
	struct link_request *chain;
	bool idle;

	if (l->used || !l->have_hello)
		return false;
	if (!at_once && (!l->transport->ops->is_flushed(l->transport) ||
			 clock_ms() - l->last_use < 1000ULL * l->settings.idle_timeout))
		return false;
	pthread_mutex_lock(&l->lock);
	/* Requests without an answer (CLOSE) are pointless on a connection that has ended. */
	chain = at_once ? request_queue_pick(&l->queue, is_silent, NULL) : NULL;
	idle = !l->queue.first;
	if (idle)
		l->state = LINK_CLOSING;
	pthread_mutex_unlock(&l->lock);
	request_chain_end(chain, -ENOTCONN);
	return idle;
}

/* Copies the transport's error text to l->error if r is an error.  Returns r. */
static int moved(struct link *l, int r)
{
	if (r < 0 && l->transport->error[0] && !l->error[0])
		link_failed(l, r, "%s", l->transport->error);
	return r;
}

/* Receives, sends queued requests and flushes.  Returns as the transport's advance(). */
static int advance(struct link *l)
{
	struct transport *t = l->transport;
	int r = moved(l, t->ops->advance(t));

	if (!r && l->have_hello)
		r = link_send_queued(l);
	return r ? r : moved(l, t->ops->flush(t));
}

/* True if the peer has closed the connection.  This is not a failure if no answer is due. */
static bool is_end(int error)
{
	return error == -ESHUTDOWN || error == -ECONNRESET;
}

/* Checks whether the peer's certificate has expired or was revoked. */
static int check_peer(struct link *l)
{
	struct transport *t = l->transport;

	if (clock_ms() - l->checked < CHECK_PAUSE)
		return 0;
	l->checked = clock_ms();
	return t->ops->recheck(t) ? link_failed(l, -EACCES, "not accepted as %s any more: %s",
						l->settings.name, t->error)
				  : 0;
}

/* Serves until the link is idle (0) or the connection is over (negative errno). */
static int serve(struct link *l, uint64_t hello_deadline)
{
	struct pollfd fds[TRANSPORT_MAX_FDS + 1];
	uint64_t next;
	int r;

	for (;;) {
		r = link_end_stopped(l);
		if (r)
			return r;
		r = advance(l);
		if (r < 0)
			return is_end(r) && end_if_idle(l, true) ? 0 : r;
		link_note_way(l);
		r = link_end_overdue(l, &next);
		if (!r)
			r = check_peer(l);
		if (!r && !l->have_hello && clock_ms() >= hello_deadline)
			r = link_failed(l, -ETIMEDOUT, "no HELLO within %u ms",
					l->settings.answer_timeout);
		if (r)
			return r;
		if (end_if_idle(l, false))
			return 0;
		r = link_wait_ready(l, fds, l->transport->ops->poll(l->transport, fds), next);
		if (r)
			return r;
	}
}

static uint64_t jittered(uint64_t pause)
{
	uint16_t noise = 0;

	if (getrandom(&noise, sizeof(noise), GRND_NONBLOCK) < 0)
		noise = 0x8000;
	return pause * 3 / 4 + pause * noise / 2 / UINT16_MAX;
}

/* Sets the pause after a failure.  With the lock.  Returns all queued requests as a chain; the
 * caller ends them. */
static struct link_request *back_off(struct link *l)
{
	l->pause = l->pause ? 2 * l->pause : FIRST_PAUSE;
	if (l->pause > LONGEST_PAUSE)
		l->pause = LONGEST_PAUSE;
	l->may_connect = clock_ms() + jittered(l->pause);
	l->state = LINK_BACKING_OFF;
	l->failures++;
	memcpy(l->last_error, l->error, sizeof(l->last_error));
	return request_queue_pick(&l->queue, request_is_any, NULL);
}

static void close_connection(struct link *l, bool orderly)
{
	if (!l->transport)
		return;
	if (orderly)
		l->transport->ops->shutdown(l->transport);
	pthread_mutex_lock(&l->lock);
	link_count_rdma(l);
	pthread_mutex_unlock(&l->lock);
	link_end_rdma(l);
	l->transport->ops->free(l->transport);
	l->transport = NULL;
}

static bool is_bound(const struct link_request *r, void *unused)
{
	(void)unused;
	return r->epoch != 0;
}

/* The same for a connection that ends without a failure.  With the lock.  Requests that can go to
 * another connection stay in the queue, unless the link is freed or has no address. */
static struct link_request *let_go(struct link *l, int why)
{
	bool ends = why == -ECANCELED || !l->have_address;

	l->state = LINK_CLOSING;
	return request_queue_pick(&l->queue, ends ? request_is_any : is_bound, NULL);
}

/* Ends the requests of a connection that is over.  The transport is freed already, so no bytes can
 * be placed any more. */
static void fail_all(struct link *l, int why)
{
	struct link_request *chain;
	bool failed = why != -ECANCELED && why != -ESTALE;
	enum log_level level;

	pthread_mutex_lock(&l->lock);
	chain = failed ? back_off(l) : let_go(l, why);
	/* A peer may stay away for days: attempts after the longest pause are no news. */
	level = l->pause < LONGEST_PAUSE ? LOG_LEVEL_WARN : LOG_LEVEL_DEBUG;
	pthread_mutex_unlock(&l->lock);
	if (failed)
		log_event(LOG_EVENT_PEER_FAILED, level, l->settings.name, "%s", l->error);
	for (unsigned i = 0; i < l->credits; i++)
		if (l->slots[i].id)
			link_settle(l, &l->slots[i], -ENOTCONN, NULL);
	request_chain_end(chain, -ENOTCONN);
}

/* Sets l->to to the peer's present address.  -ESTALE: there is none. */
static int take_address(struct link *l)
{
	int r;

	pthread_mutex_lock(&l->lock);
	if (l->moved)
		l->no_rdma_until = 0;
	l->moved = false;
	l->to = l->address;
	r = l->have_address ? 0 : -ESTALE;
	pthread_mutex_unlock(&l->lock);
	return r;
}

/* Runs one connection, from its beginning to its end. */
static void connection(struct link *l)
{
	uint64_t deadline = clock_ms() + l->settings.answer_timeout;
	int r;

	l->error[0] = '\0';
	l->last_use = clock_ms();
	r = take_address(l);
	if (!r)
		r = link_open_connection(l, deadline);
	if (!r)
		r = serve(l, deadline);
	close_connection(l, r == 0 || r == -ECANCELED || r == -ESTALE);
	if (r)
		fail_all(l, r);
	free(l->slots);
	l->slots = NULL;
	l->credits = l->used = 0;
	l->have_hello = false;
	l->by_frames = 0;
}

void link_begin_connection(struct link *l)
{
	l->state = LINK_CONNECTING;
	l->epoch++;
	l->connects++;
}

/* With the lock.  True if requests were asked while an idle connection was being closed, or while a
 * connection to an old address of the peer ended.  Then a new connection has begun. */
static bool goes_on(struct link *l)
{
	if (l->moved && l->state == LINK_BACKING_OFF) /* the new address has not failed */
		l->state = LINK_CLOSING;
	if (l->state != LINK_CLOSING || l->stopping)
		return false;
	l->state = LINK_IDLE;
	if (!l->queue.first || !l->have_address)
		return false;
	link_begin_connection(l);
	return true;
}

void *link_run(void *arg)
{
	struct link *l = arg;
	struct link_request *chain;
	bool again;

	do {
		connection(l);
		pthread_mutex_lock(&l->lock);
		again = goes_on(l);
		if (again)
			pthread_mutex_unlock(&l->lock);
	} while (again);
	close(l->wake);
	l->wake = -1;
	l->moved = false;
	chain = request_queue_pick(&l->queue, request_is_any, NULL);
	pthread_mutex_unlock(&l->lock); /* after this, link_ask() joins this thread */
	request_chain_end(chain, -ENOTCONN);
	return NULL;
}
