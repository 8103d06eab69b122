// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sends and receives whole messages on a stream socket. vreadd (datanode/) and parsers
 * (parser/serve.c) call it; channel.h describes the functions.
 */
#include "parser-protocol/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define FIRST_BYTES (64U << 10)
/* A larger buffer is freed after its message, because long messages are rare. */
#define KEPT_BYTES (1U << 20)

void channel_limit(struct channel *c, unsigned limit_ms)
{
	c->end = limit_ms ? clock_ms() + limit_ms : 0;
}

/* Waits until the socket is ready for `events`. Returns 0, -ETIMEDOUT, or another negative errno.
 * A signal does not extend the deadline. Without a deadline this returns 0 at once, and recvmsg()
 * or sendmsg() waits: a parser may not call poll(). */
static int await(const struct channel *c, short events)
{
	struct pollfd fd = {c->fd, events, 0};
	int n;

	if (!c->end)
		return 0;
	if (clock_ms() >= c->end) /* even if bytes keep coming, a few at a time */
		return -ETIMEDOUT;
	n = clock_poll(&fd, 1, c->end);
	if (n < 0)
		return -errno;
	return n ? 0 : -ETIMEDOUT;
}

static int call_flags(const struct channel *c)
{
	return c->end ? MSG_DONTWAIT : 0;
}

static bool is_to_be_tried_again(int error)
{
	return error == EINTR || error == EAGAIN;
}

void channel_begin(struct channel *c)
{
	static const struct parser_header space;

	if (c->out.capacity > KEPT_BYTES) {
		free(c->out.data);
		c->out = (struct wire_out){0};
	}
	c->out.length = 0;
	c->out.failed = false;
	wire_put(&c->out, &space, sizeof(space));
}

static void attach(struct msghdr *m, char *space, size_t size, int fd)
{
	struct cmsghdr *control;

	memset(space, 0, size);
	m->msg_control = space;
	m->msg_controllen = size;
	control = CMSG_FIRSTHDR(m);
	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(control), &fd, sizeof(fd));
}

int channel_send(struct channel *c, uint32_t kind, int32_t result, int fd)
{
	struct parser_header header = {(uint32_t)(c->out.length - sizeof(header)), kind, result};
	struct iovec left = {c->out.data, c->out.length};
	struct msghdr m = {.msg_iov = &left, .msg_iovlen = 1};
	char space[CMSG_SPACE(sizeof(int))];

	if (c->out.failed)
		return -ENOMEM;
	memcpy(c->out.data, &header, sizeof(header));
	if (fd >= 0)
		attach(&m, space, sizeof(space), fd);
	while (left.iov_len > 0) {
		int r = await(c, POLLOUT);
		ssize_t n;

		if (r < 0)
			return r;
		n = sendmsg(c->fd, &m, MSG_NOSIGNAL | call_flags(c));
		if (n < 0 && is_to_be_tried_again(errno))
			continue;
		if (n < 0)
			return left.iov_base == c->out.data ? -errno : -EPIPE;
		left.iov_base = (uint8_t *)left.iov_base + n;
		left.iov_len -= (size_t)n;
		m.msg_control = NULL;
		m.msg_controllen = 0;
	}
	return 0;
}

static int take_descriptor(struct msghdr *m)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(m);
	int fd = -1;

	if (control && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS &&
	    control->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(control), sizeof(fd));
	return fd;
}

/* Receives bytes behind the first `got` of the buffer. Returns their number, or negative errno. */
static ssize_t receive_some(struct channel *c, size_t got, int *ret_fd)
{
	struct iovec space = {c->buffer + got, c->capacity - got};
	char control[CMSG_SPACE(sizeof(int))];
	struct msghdr m = {.msg_iov = &space, .msg_iovlen = 1};
	ssize_t n;

	if (ret_fd) {
		m.msg_control = control;
		m.msg_controllen = sizeof(control);
	}
	do {
		int r = await(c, POLLIN);

		if (r < 0)
			return r;
		n = recvmsg(c->fd, &m, MSG_CMSG_CLOEXEC | call_flags(c));
	} while (n < 0 && is_to_be_tried_again(errno));
	if (n < 0)
		return -errno;
	if (ret_fd && *ret_fd < 0)
		*ret_fd = take_descriptor(&m);
	return n == 0 ? -EPIPE : n;
}

static bool make_room(struct channel *c, size_t length)
{
	uint8_t *grown;

	if (length <= c->capacity)
		return true;
	grown = realloc(c->buffer, length);
	if (!grown)
		return false;
	c->buffer = grown;
	c->capacity = length;
	return true;
}

static void drop_large_buffer(struct channel *c)
{
	if (c->capacity <= KEPT_BYTES)
		return;
	free(c->buffer);
	c->buffer = NULL;
	c->capacity = 0;
}

static int receive_all(struct channel *c, struct parser_header *header, int *ret_fd)
{
	size_t got = 0, wanted = sizeof(*header);

	while (got < wanted) {
		ssize_t n = make_room(c, wanted) ? receive_some(c, got, ret_fd) : -ENOMEM;

		if (n < 0)
			return (int)n;
		got += (size_t)n;
		if (got < sizeof(*header))
			continue;
		memcpy(header, c->buffer, sizeof(*header));
		if (header->length > WIRE_MAX_BYTES)
			return -EBADMSG;
		wanted = sizeof(*header) + header->length;
	}
	return got == wanted ? 0 : -EBADMSG;
}

int channel_receive(struct channel *c, struct parser_header *ret, struct wire_in *ret_payload,
		    int *ret_fd)
{
	int r;

	if (ret_fd)
		*ret_fd = -1;
	drop_large_buffer(c);
	r = make_room(c, FIRST_BYTES) ? receive_all(c, ret, ret_fd) : -ENOMEM;
	if (r < 0 && ret_fd && *ret_fd >= 0)
		close(*ret_fd);
	if (r == 0)
		*ret_payload = (struct wire_in){c->buffer + sizeof(*ret), ret->length, false};
	return r;
}

void channel_clear(struct channel *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c->out.data);
	free(c->buffer);
	*c = (struct channel){.fd = -1};
}
