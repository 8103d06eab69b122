// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdma/end.c - makes, advances and frees one end of a queue pair: see rdma/end.h.  making.c
 * calls most of it.
 */
#include "peer/rdma/end_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* the proof, and messages whose completion has not been taken yet */
#define SPARE_MESSAGES 4U

__attribute__((format(printf, 3, 4))) int rdma_end_failed(struct rdma_end *e, int error,
							  const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(e->error, sizeof(e->error), format, ap);
	va_end(ap);
	e->state = END_FAILED;
	e->failure = error;
	return error;
}

int rdma_end_failed_errno(struct rdma_end *e, const char *what)
{
	int error = errno ? errno : EIO;

	return rdma_end_failed(e, -error, "%s: %s", what, strerror(error));
}

int rdma_end_make_unblocking(struct rdma_end *e, int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return rdma_end_failed_errno(e, "fcntl");
	return 0;
}

/* Before the queue pair is connected only events are taken: what the other end sends after
 * connecting completes later.  Once it is connected, completions are taken before events: what
 * the other end sent before it ended the queue pair is handed on before the end is noted. */
int rdma_end_advance(struct rdma_end *e)
{
	if (e->failure)
		return e->failure;
	if (e->have_pair && e->state != END_CONNECTING && rdma_end_take_completions(e))
		return e->failure;
	if (rdma_end_take_events(e))
		return e->failure;
	return e->have_pair && e->state != END_CONNECTING ? rdma_end_take_completions(e) : 0;
}

static struct rdma_end *new_end(const struct rdma_end_settings *settings, enum rdma_side side)
{
	struct rdma_end *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->side = side;
	e->rdma = settings->rdma;
	e->secret = *settings->secret;
	e->user = settings->user;
	e->ctx = settings->ctx;
	e->messages = settings->messages + SPARE_MESSAGES;
	e->writes = settings->writes;
	e->give_up = settings->give_up;
	return e;
}

static int make_channel(struct rdma_end *e)
{
	e->channel = rdma_create_event_channel();
	if (!e->channel)
		return rdma_end_failed_errno(e, "rdma_create_event_channel");
	return rdma_end_make_unblocking(e, e->channel->fd);
}

static int finish(struct rdma_end *e, int r, struct rdma_end **ret, char *error)
{
	if (r) {
		memcpy(error, e->error, RDMA_ERROR_TEXT);
		rdma_end_free(e);
		return r;
	}
	*ret = e;
	return 0;
}

int rdma_end_dial(const struct rdma_end_settings *settings, const struct sockaddr *address,
		  struct rdma_end **ret, char *error)
{
	struct rdma_end *e = new_end(settings, RDMA_ASKS);
	int r;

	if (!e) {
		snprintf(error, RDMA_ERROR_TEXT, "out of memory");
		return -ENOMEM;
	}
	r = make_channel(e);
	return finish(e, r ? r : rdma_end_resolve(e, address), ret, error);
}

int rdma_end_accept(const struct rdma_end_settings *settings, struct rdma_cm_id *id,
		    const struct rdma_meeting *m, struct rdma_end **ret, char *error)
{
	struct rdma_end *e = new_end(settings, RDMA_ANSWERS);
	int r;

	if (!e) {
		rdma_destroy_id(id);
		snprintf(error, RDMA_ERROR_TEXT, "out of memory");
		return -ENOMEM;
	}
	e->id = id;
	e->meeting = *m;
	r = make_channel(e);
	if (!r && rdma_migrate_id(id, e->channel))
		r = rdma_end_failed_errno(e, "rdma_migrate_id");
	return finish(e, r ? r : rdma_end_take_asker(e), ret, error);
}

void rdma_end_free(struct rdma_end *e)
{
	if (!e)
		return;
	rdma_end_free_windows(e);
	if (e->have_pair)
		rdma_end_free_pair(e);
	if (e->id)
		rdma_destroy_id(e->id);
	if (e->queue)
		ibv_destroy_cq(e->queue);
	if (e->completions)
		ibv_destroy_comp_channel(e->completions);
	if (e->buffers_region)
		ibv_dereg_mr(e->buffers_region);
	if (e->buffers)
		munmap(e->buffers, 2 * (size_t)e->messages * RDMA_BUFFER_BYTES);
	rdma_end_free_domain(e);
	if (e->channel)
		rdma_destroy_event_channel(e->channel);
	free(e->free_buffers);
	explicit_bzero(&e->secret, sizeof(e->secret));
	free(e);
}

void rdma_end_poll(const struct rdma_end *e, struct pollfd fds[RDMA_END_FDS])
{
	fds[0] = (struct pollfd){.fd = e->channel->fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = e->completions ? e->completions->fd : -1, .events = POLLIN};
}

const char *rdma_end_error(const struct rdma_end *e)
{
	return e->error;
}

bool rdma_end_is_up(const struct rdma_end *e)
{
	return e->state == END_UP;
}

bool rdma_end_was_up(const struct rdma_end *e)
{
	return e->was_up;
}

struct rdma_device *rdma_end_device(const struct rdma_end *e)
{
	return e->device;
}
