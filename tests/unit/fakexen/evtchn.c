/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * evtchn.c - a fake of libxenevtchn.  A channel is the guest's port and two flags.
 *
 * As in the kernel's driver, reading an event masks its channel, and an event on a masked channel
 * waits until the channel is unmasked.  A new binding has one pending event.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <xenevtchn.h>

#include "fakexen.h"

#define FIRST_LOCAL_PORT 100
#define MAX_CHANNELS 64

struct xenevtchn_handle {
	int fd;
	struct channel *channel;
};

struct channel {
	struct xenevtchn_handle *handle; /* NULL: unbound */
	uint32_t remote_port;
	bool masked, waiting;
	unsigned notified;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct channel channels[MAX_CHANNELS];
static unsigned num_channels, handles, fail_in;

void fake_evtchn_reset(void)
{
	memset(channels, 0, sizeof(channels));
	num_channels = handles = fail_in = 0;
}

void fake_reset(void)
{
	fake_store_reset();
	fake_gnttab_reset();
	fake_evtchn_reset();
}

void fake_fail_evtchn(unsigned n)
{
	fail_in = n;
}

unsigned fake_evtchn_handles(void)
{
	return handles;
}

/* Returns the channel that was bound to that port last. */
static struct channel *find(uint32_t remote_port)
{
	for (unsigned i = num_channels; i-- > 0;)
		if (channels[i].remote_port == remote_port)
			return &channels[i];
	abort();
}

static void raise_event(struct channel *c)
{
	if (c->masked)
		c->waiting = true;
	else if (c->handle)
		eventfd_write(c->handle->fd, 1);
}

void fake_event(uint32_t remote_port)
{
	pthread_mutex_lock(&lock);
	raise_event(find(remote_port));
	pthread_mutex_unlock(&lock);
}

unsigned fake_notified(uint32_t remote_port)
{
	unsigned n;

	pthread_mutex_lock(&lock);
	n = find(remote_port)->notified;
	pthread_mutex_unlock(&lock);
	return n;
}

bool fake_masked(uint32_t remote_port)
{
	bool masked;

	pthread_mutex_lock(&lock);
	masked = find(remote_port)->masked;
	pthread_mutex_unlock(&lock);
	return masked;
}

void fake_evtchn_unmapped(uint32_t local_port)
{
	struct channel *c = &channels[local_port - FIRST_LOCAL_PORT];

	pthread_mutex_lock(&lock);
	if (!c->handle) /* the event would go nowhere */
		abort();
	c->notified++;
	pthread_mutex_unlock(&lock);
}

static bool fails(void)
{
	errno = ENOSPC;
	return fail_in && --fail_in == 0;
}

xenevtchn_handle *xenevtchn_open(struct xentoollog_logger *logger, unsigned flags)
{
	struct xenevtchn_handle *h;

	(void)logger, (void)flags;
	if (fails())
		return NULL;
	h = calloc(1, sizeof(*h));
	h->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	handles++;
	return h;
}

int xenevtchn_close(xenevtchn_handle *h)
{
	pthread_mutex_lock(&lock);
	if (h->channel)
		h->channel->handle = NULL;
	pthread_mutex_unlock(&lock);
	close(h->fd);
	free(h);
	handles--;
	return 0;
}

int xenevtchn_fd(xenevtchn_handle *h)
{
	return h->fd;
}

xenevtchn_port_or_error_t xenevtchn_bind_interdomain(xenevtchn_handle *h, uint32_t domid,
						     evtchn_port_t remote_port)
{
	(void)domid;
	if (fails())
		return -1;
	if (num_channels == MAX_CHANNELS)
		abort();
	h->channel = &channels[num_channels];
	*h->channel = (struct channel){.handle = h, .remote_port = remote_port};
	eventfd_write(h->fd, 1);
	return FIRST_LOCAL_PORT + (int)num_channels++;
}

xenevtchn_port_or_error_t xenevtchn_pending(xenevtchn_handle *h)
{
	eventfd_t count;

	if (eventfd_read(h->fd, &count))
		return -1;
	pthread_mutex_lock(&lock);
	h->channel->masked = true;
	pthread_mutex_unlock(&lock);
	return FIRST_LOCAL_PORT + (int)(h->channel - channels);
}

int xenevtchn_unmask(xenevtchn_handle *h, evtchn_port_t port)
{
	pthread_mutex_lock(&lock);
	if (h->channel != &channels[port - FIRST_LOCAL_PORT])
		abort();
	h->channel->masked = false;
	if (h->channel->waiting) {
		h->channel->waiting = false;
		raise_event(h->channel);
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

int xenevtchn_notify(xenevtchn_handle *h, evtchn_port_t port)
{
	pthread_mutex_lock(&lock);
	if (h->channel != &channels[port - FIRST_LOCAL_PORT])
		abort();
	h->channel->notified++;
	pthread_mutex_unlock(&lock);
	return 0;
}
