// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdma/listen.c - accepts connection requests of other hosts.  peer/answering makes the
 * listener and awaits hosts; making.c takes their requests.
 *
 * A host that dials names a secret.  Only the two ends of a TLS connection can know this name.
 * If nobody awaits the name, the request is refused.  A refused request costs nothing: no queue
 * pair is made before.
 *
 * A name is awaited until one of its queue pairs is up, because the first request may have
 * failed on its way.  A host that dials must still prove that it knows the secret, over fresh
 * nonces.
 */
#include "peer/rdma/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"

#define BACKLOG 64
#define TURN 16 /* events to process at a time: strangers may dial, too */

struct rdma_awaited {
	struct rdma_listener *listener;
	struct rdma_secret secret;
	int fd; /* eventfd */
	struct rdma_meeting meeting;
	struct rdma_cm_id *id; /* the connection request; NULL: there is none, or it was taken */
	struct rdma_awaited *next;
};

struct rdma_listener {
	struct rdma *rdma;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	pthread_mutex_t lock; /* protects awaited (with id and meeting of each) and refused */
	struct rdma_awaited *awaited;
	unsigned long refused;
};

static int listen_at(struct rdma_listener *l, const struct sockaddr *address, char **ret_error)
{
	int flags;

	l->channel = rdma_create_event_channel();
	if (!l->channel)
		return error_text(ret_error, -ENODEV, "this host has no RDMA: %s", strerror(errno));
	flags = fcntl(l->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(l->channel->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return error_text(ret_error, -errno, "fcntl: %s", strerror(errno));
	if (rdma_create_id(l->channel, &l->id, l, RDMA_PS_TCP))
		return error_text(ret_error, -errno, "rdma_create_id: %s", strerror(errno));
	if (rdma_bind_addr(l->id, (struct sockaddr *)address))
		return error_text(ret_error, -errno, "no RDMA adapter has that address: %s",
				  strerror(errno));
	if (rdma_listen(l->id, BACKLOG))
		return error_text(ret_error, -errno, "rdma_listen: %s", strerror(errno));
	return 0;
}

int rdma_listener_new(struct rdma *r, const struct sockaddr *address, struct rdma_listener **ret,
		      char **ret_error)
{
	struct rdma_listener *l = calloc(1, sizeof(*l));
	int error;

	if (!l)
		return error_text(ret_error, -ENOMEM, "out of memory");
	l->rdma = r;
	pthread_mutex_init(&l->lock, NULL);
	error = listen_at(l, address, ret_error);
	if (error) {
		rdma_listener_free(l);
		return error;
	}
	*ret = l;
	return 0;
}

void rdma_listener_free(struct rdma_listener *l)
{
	if (!l)
		return;
	if (l->id)
		rdma_destroy_id(l->id);
	if (l->channel)
		rdma_destroy_event_channel(l->channel);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

int rdma_listener_fd(const struct rdma_listener *l)
{
	return l->channel->fd;
}

unsigned long rdma_listener_refused(struct rdma_listener *l)
{
	unsigned long refused;

	pthread_mutex_lock(&l->lock);
	refused = l->refused;
	pthread_mutex_unlock(&l->lock);
	return refused;
}

/* ---- dialling ------------------------------------------------------------------------ */

/* With the lock: who awaits that name, and has no connection request yet. */
static struct rdma_awaited *find(struct rdma_listener *l, const uint8_t *name)
{
	for (struct rdma_awaited *a = l->awaited; a; a = a->next)
		if (!a->id && memcmp(a->secret.name, name, RDMA_NAME_BYTES) == 0)
			return a;
	return NULL;
}

static void hand_over(struct rdma_awaited *a, struct rdma_cm_id *id, const struct rdma_meeting *m)
{
	uint64_t one = 1;

	a->id = id;
	a->meeting = *m;
	if (write(a->fd, &one, sizeof(one)) < 0)
		log_warn("eventfd: %s", strerror(errno));
}

/* Hands the request to who awaits it.  False: nobody does; the request is counted as refused. */
static bool give(struct rdma_listener *l, struct rdma_cm_id *id, const struct rdma_meeting *m)
{
	struct rdma_awaited *a;

	pthread_mutex_lock(&l->lock);
	a = m ? find(l, m->name) : NULL;
	if (a)
		hand_over(a, id, m);
	else
		l->refused++;
	pthread_mutex_unlock(&l->lock);
	return a != NULL;
}

static void refuse(struct rdma_cm_id *id)
{
	rdma_reject(id, NULL, 0);
	rdma_destroy_id(id);
}

/* An id can move to another channel only after its event has been acknowledged. */
static void take_dialled(struct rdma_listener *l, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *said = &event->param.conn;
	struct rdma_meeting m = {.asker_qp = said->qp_num};
	struct rdma_cm_id *id = event->id;
	int r = rdma_proof_take_hello(&m, said->private_data, said->private_data_len);

	rdma_ack_cm_event(event);
	if (!give(l, id, r ? NULL : &m))
		refuse(id);
}

void rdma_listener_process(struct rdma_listener *l)
{
	struct rdma_cm_event *event;

	for (unsigned n = 0; n < TURN && rdma_get_cm_event(l->channel, &event) == 0; n++) {
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			take_dialled(l, event);
		else
			rdma_ack_cm_event(event);
	}
}

/* ---- awaiting ------------------------------------------------------------------------ */

int rdma_await(struct rdma_listener *l, const struct rdma_secret *secret, struct rdma_awaited **ret)
{
	struct rdma_awaited *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->listener = l;
	a->secret = *secret;
	a->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->fd < 0) {
		int error = -errno;

		free(a);
		return error;
	}
	pthread_mutex_lock(&l->lock);
	a->next = l->awaited;
	l->awaited = a;
	pthread_mutex_unlock(&l->lock);
	*ret = a;
	return 0;
}

void rdma_await_free(struct rdma_awaited *a)
{
	struct rdma_awaited **at;

	if (!a)
		return;
	pthread_mutex_lock(&a->listener->lock);
	for (at = &a->listener->awaited; *at != a;)
		at = &(*at)->next;
	*at = a->next;
	pthread_mutex_unlock(&a->listener->lock);
	if (a->id)
		refuse(a->id);
	close(a->fd);
	explicit_bzero(&a->secret, sizeof(a->secret));
	free(a);
}

int rdma_await_fd(const struct rdma_awaited *a)
{
	return a->fd;
}

struct rdma_cm_id *rdma_await_take(struct rdma_awaited *a, struct rdma_meeting *ret)
{
	struct rdma_cm_id *id;
	uint64_t dialled;

	pthread_mutex_lock(&a->listener->lock);
	if (read(a->fd, &dialled, sizeof(dialled)) < 0 && errno != EAGAIN)
		log_warn("eventfd: %s", strerror(errno));
	id = a->id;
	a->id = NULL;
	*ret = a->meeting;
	pthread_mutex_unlock(&a->listener->lock);
	return id;
}

const struct rdma_secret *rdma_await_secret(const struct rdma_awaited *a)
{
	return &a->secret;
}

struct rdma *rdma_await_rdma(const struct rdma_awaited *a)
{
	return a->listener->rdma;
}
