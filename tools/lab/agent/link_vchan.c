/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link_vchan.c - link as a libxenvchan server for dom0, and the calls that serve
 * both a port and a vchan.
 *
 * Non-blocking libxenvchan calls ask the peer for an event only when they
 * return 0, which is why callers try until 0 before they sleep.
 */
#include "link_impl.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <libxenvchan.h>
#include <xenstore.h>

#define RING_BYTES (256U << 10)
#define STATE_GONE 0
#define STATE_WAITING 2

static bool wait_for_client(struct libxenvchan *vchan)
{
	while (libxenvchan_is_open(vchan) == STATE_WAITING)
		if (libxenvchan_wait(vchan))
			return false;
	return libxenvchan_is_open(vchan) != STATE_GONE;
}

/* The kernel sets watches anew after a restore, and each one fires when it is set. */
static bool watch_node(struct link *link, const char *path)
{
	snprintf(link->node, sizeof(link->node), "%s/ring-ref", path);
	link->xs = xs_open(0);
	return link->xs && xs_watch(link->xs, link->node, "vchan");
}

struct link *link_open_vchan(const char *path)
{
	struct libxenvchan *vchan = libxenvchan_server_init(NULL, 0, path, RING_BYTES, RING_BYTES);
	struct link *link;

	if (!vchan) {
		fprintf(stderr, "lab-agent: cannot serve vchan %s: %s\n", path, strerror(errno));
		return NULL;
	}
	link = calloc(1, sizeof(*link));
	if (!link || !watch_node(link, path) || !wait_for_client(vchan)) {
		libxenvchan_close(vchan);
		if (link)
			xs_close(link->xs);
		free(link);
		return NULL;
	}
	vchan->blocking = 0;
	link->vchan = vchan;
	link->fd = libxenvchan_fd_for_select(vchan);
	return link;
}

int link_fd(const struct link *link)
{
	return link->fd;
}

short link_events(const struct link *link, bool sending)
{
	return sending && !link->vchan ? POLLIN | POLLOUT : POLLIN;
}

void link_woken(struct link *link)
{
	if (link->vchan)
		libxenvchan_wait(link->vchan);
}

int link_watch_fd(const struct link *link)
{
	return link->xs ? xs_fileno(link->xs) : -1;
}

bool link_lost(struct link *link)
{
	unsigned int count;
	char *value;

	free(xs_read_watch(link->xs, &count));
	value = xs_read(link->xs, XBT_NULL, link->node, &count);
	free(value);
	link->lost = !value;
	return link->lost;
}

ssize_t link_recv(struct link *link, void *data, size_t size)
{
	return link->vchan ? libxenvchan_read(link->vchan, data, size)
			   : port_recv(link, data, size);
}

ssize_t link_send(struct link *link, const void *data, size_t size)
{
	return link->vchan ? libxenvchan_write(link->vchan, data, size)
			   : port_send(link, data, size);
}

void link_close(struct link *link)
{
	if (!link->vchan)
		close(link->fd);
	else if (!link->lost)
		libxenvchan_close(link->vchan);
	xs_close(link->xs);
	free(link);
}
