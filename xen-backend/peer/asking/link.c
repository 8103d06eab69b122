// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * link.c - the functions of link.h: queues requests and starts the link's thread.
 *
 * Called by the files behind peer.h, on any thread.
 */
#include "peer/asking/link_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

static void wake(struct link *l)
{
	uint64_t one = 1;

	if (l->wake >= 0 && write(l->wake, &one, sizeof(one)) < 0)
		log_peer(LOG_LEVEL_WARN, l->settings.name, "cannot wake its thread: %s",
			 strerror(errno));
}

/* With the lock. */
static int start_thread(struct link *l)
{
	int r;

	if (l->have_thread)
		pthread_join(l->thread, NULL);
	l->have_thread = false;
	l->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (l->wake < 0)
		return -errno;
	r = pthread_create(&l->thread, NULL, link_run, l);
	if (r) {
		close(l->wake);
		l->wake = -1;
		return -r;
	}
	l->have_thread = true;
	link_begin_connection(l);
	return 0;
}

/* With the lock.  Starts the thread if there is none.  0, or an error as of link_ask(). */
static int make_ready(struct link *l)
{
	if (l->stopping || !l->have_address)
		return -ENODEV;
	if (l->wake >= 0)
		return l->state == LINK_BACKING_OFF && !l->moved ? -ENODEV : 0;
	if (l->state == LINK_BACKING_OFF && clock_ms() < l->may_connect)
		return -ENODEV;
	return start_thread(l) ? -ENOMEM : 0;
}

struct link *link_new(const struct link_settings *settings)
{
	struct link *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->settings = *settings;
	l->have_address = settings->address;
	if (settings->address)
		l->address = *settings->address;
	l->wake = -1;
	pthread_mutex_init(&l->lock, NULL);
	return l;
}

void link_free(struct link *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->stopping = true;
	wake(l);
	pthread_mutex_unlock(&l->lock);
	if (l->have_thread)
		pthread_join(l->thread, NULL);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static int enqueue(struct link *l, struct link_request *r)
{
	int error = 0;

	/* No connection is made for a request that belongs to a connection that has ended. */
	if (r->epoch && (r->epoch != l->epoch || l->state != LINK_UP))
		error = -EAGAIN;
	else if (!r->silent && request_queue_waiting(&l->queue, r->owner) >= LINK_MAX_QUEUED_EACH)
		error = -EAGAIN;
	else
		error = make_ready(l);
	if (error)
		return error;
	r->link = l;
	request_queue_append(&l->queue, r);
	wake(l);
	return 0;
}

int link_ask(struct link *l, struct link_request *r)
{
	int error;

	pthread_mutex_lock(&l->lock);
	error = enqueue(l, r);
	pthread_mutex_unlock(&l->lock);
	return error;
}

void link_stop(struct link *l, const void *owner)
{
	pthread_mutex_lock(&l->lock);
	if (l->num_stopped < LINK_MAX_STOPPED)
		l->stopped[l->num_stopped++] = owner;
	else
		l->stop_all = true;
	if (l->wake < 0) { /* nothing is under way */
		l->num_stopped = 0;
		l->stop_all = false;
	}
	wake(l);
	pthread_mutex_unlock(&l->lock);
}

void link_set_address(struct link *l, const struct address *address)
{
	pthread_mutex_lock(&l->lock);
	l->have_address = address;
	if (address)
		l->address = *address;
	l->pause = 0;
	l->may_connect = 0;
	l->moved = l->wake >= 0; /* the thread has, makes or has just lost a connection */
	if (!l->moved) {
		l->no_rdma_until = 0;
		if (l->state == LINK_BACKING_OFF)
			l->state = LINK_IDLE;
	}
	wake(l);
	pthread_mutex_unlock(&l->lock);
}

void link_set_frames(struct link *l, unsigned frames)
{
	pthread_mutex_lock(&l->lock);
	l->frames = frames;
	pthread_mutex_unlock(&l->lock);
}

void link_wake(struct link *l)
{
	pthread_mutex_lock(&l->lock);
	make_ready(l);
	pthread_mutex_unlock(&l->lock);
}

uint64_t link_epoch(struct link *l)
{
	uint64_t epoch;

	pthread_mutex_lock(&l->lock);
	epoch = l->epoch;
	pthread_mutex_unlock(&l->lock);
	return epoch;
}

bool link_is_up(struct link *l)
{
	bool up;

	pthread_mutex_lock(&l->lock);
	up = l->state == LINK_UP;
	pthread_mutex_unlock(&l->lock);
	return up;
}

bool link_is_down(struct link *l)
{
	bool down;

	pthread_mutex_lock(&l->lock);
	down = !l->have_address || (l->state == LINK_BACKING_OFF && !l->moved &&
				    (l->wake >= 0 || clock_ms() < l->may_connect));
	pthread_mutex_unlock(&l->lock);
	return down;
}

void link_status(struct link *l, json_t *o)
{
	static const char *const states[] = {"idle", "connecting", "authenticated",
					     "up",   "closing",    "backing off"};

	pthread_mutex_lock(&l->lock);
	json_object_set_new(o, "state", json_string(states[l->state]));
	json_object_set_new(o, "transport",
			    l->state == LINK_UP ? json_string(l->transport_name) : json_null());
	json_object_set_new(o, "requests", json_integer((json_int_t)l->requests));
	json_object_set_new(o, "bytes", json_integer((json_int_t)l->bytes));
	json_object_set_new(o, "direct", json_integer((json_int_t)l->direct));
	json_object_set_new(o, "bounced", json_integer((json_int_t)l->bounced));
	json_object_set_new(o, "encrypted", json_integer((json_int_t)l->encrypted));
	json_object_set_new(o, "plain", json_integer((json_int_t)l->plain_bytes));
	json_object_set_new(o, "under_way", json_integer(l->queue.count + l->num_sent));
	json_object_set_new(o, "connects", json_integer((json_int_t)l->connects));
	json_object_set_new(o, "failures", json_integer((json_int_t)l->failures));
	json_object_set_new(o, "last_error",
			    l->last_error[0] ? json_string(l->last_error) : json_null());
	pthread_mutex_unlock(&l->lock);
}
