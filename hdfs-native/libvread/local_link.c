/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects to a backend's local port: one hello, one welcome with file
 * descriptors, every one of them checked before it is used.  See local_link.h.
 */
#include "local_link.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "vread-ring-user.h"

#define LINK_FDS 4 /* pool, rings, request event, response event */

void local_link_close(struct local_link *link)
{
	int fds[] = {link->sock, link->pool, link->ring, link->request_event, link->response_event};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* ---- time: signals neither end a wait nor prolong it ------------------------- */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int wait_readable(int sock, int64_t deadline_ms)
{
	struct pollfd fd = {.fd = sock, .events = POLLIN};
	int r;

	do {
		int64_t left = deadline_ms - now_ms();
		r = poll(&fd, 1, left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left);
	} while (r < 0 && errno == EINTR);
	return r > 0 ? 0 : r < 0 ? -errno : -ETIME;
}

/* Blocks only while the backend's backlog is full, bounded by SO_SNDTIMEO. */
static int connect_by(int sock, const struct sockaddr_un *address, int64_t deadline_ms)
{
	int r;

	do
		r = connect(sock, (const struct sockaddr *)address, sizeof(*address));
	while (r < 0 && errno == EINTR && now_ms() < deadline_ms);
	if (!r)
		return 0;
	if (errno == EINTR || errno == EAGAIN)
		return -ETIME;
	return errno == ECONNREFUSED ? -ENOTCONN : -errno;
}

static int open_socket(const char *path, unsigned timeout_ms, int64_t deadline_ms)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval timeout = {timeout_ms / 1000, (timeout_ms % 1000) * 1000};
	int sock, r;

	if (strlen(path) >= sizeof(address.sun_path))
		return -EINVAL;
	strcpy(address.sun_path, path);
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return -errno;
	if (setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0)
		r = -errno;
	else
		r = connect_by(sock, &address, deadline_ms);
	if (r) {
		close(sock);
		return r;
	}
	return sock;
}

/* ---- hello and welcome -------------------------------------------------------- */

static int send_hello(int sock, uint32_t pool_pages)
{
	struct vread_local_hello hello = {
		.magic = VREAD_LOCAL_MAGIC,
		.version = VREAD_PROTOCOL_VERSION,
		.pool_pages = pool_pages,
		.num_queues = 1,
		.ring_page_order = LOCAL_RING_PAGE_ORDER,
	};

	return send(sock, &hello, sizeof(hello), MSG_NOSIGNAL) == sizeof(hello) ? 0 : -ENOTCONN;
}

/* Receives the welcome; *ret_count descriptors are ours to close, whatever is returned. */
static int receive_welcome(int sock, struct vread_local_welcome *ret, int fds[LINK_FDS],
			   unsigned *ret_count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(LINK_FDS * sizeof(int))];
	} control = {0};
	struct iovec iov = {ret, sizeof(*ret)};
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n;

	*ret_count = 0;
	n = recvmsg(sock, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (n < 0)
		return -ENOTCONN;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		if (count > LINK_FDS - *ret_count)
			count = LINK_FDS - *ret_count;
		memcpy(fds + *ret_count, CMSG_DATA(c), count * sizeof(int));
		*ret_count += (unsigned)count;
	}
	if (n == 0)
		return -ENOTCONN;
	if (n != sizeof(*ret) || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return -EPROTO;
	return 0;
}

static int check_welcome(const struct vread_local_welcome *w, uint32_t pool_pages, unsigned fds)
{
	if (w->magic != VREAD_LOCAL_MAGIC)
		return -EPROTO;
	if (w->status)
		return w->status < 0 && w->status >= -4095 ? w->status : -EPROTO;
	if (w->version != VREAD_PROTOCOL_VERSION || w->pool_pages != pool_pages ||
	    w->num_queues != 1 || w->ring_page_order != LOCAL_RING_PAGE_ORDER || fds != LINK_FDS)
		return -EPROTO;
	return 0;
}

/* Memory that could shrink while mapped would kill us with SIGBUS. */
static int check_memory(int fd, uint64_t bytes)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW;
	struct stat st;

	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size != bytes)
		return -EPROTO;
	return (fcntl(fd, F_GET_SEALS) & seals) == seals ? 0 : -EPROTO;
}

/* An eventfd has no file type: not a pipe that raises SIGPIPE, not a file, not a socket. */
static int check_event(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fstat(fd, &st) < 0 || (st.st_mode & S_IFMT) != 0)
		return -EPROTO;
	return fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -EPROTO : 0;
}

static int handshake(struct local_link *link, uint32_t pool_pages, int64_t deadline_ms)
{
	struct vread_local_welcome welcome;
	int fds[LINK_FDS] = {-1, -1, -1, -1};
	unsigned count;
	int r;

	r = send_hello(link->sock, pool_pages) ?: wait_readable(link->sock, deadline_ms);
	if (r)
		return r;
	r = receive_welcome(link->sock, &welcome, fds, &count);
	link->pool = fds[0];
	link->ring = fds[1];
	link->request_event = fds[2];
	link->response_event = fds[3];
	r = r ?: check_welcome(&welcome, pool_pages, count);
	r = r ?: check_memory(link->pool, (uint64_t)pool_pages * VREAD_PAGE_SIZE);
	r = r ?: check_memory(link->ring, VREAD_PAGE_SIZE << LOCAL_RING_PAGE_ORDER);
	return r ?: check_event(link->request_event) ?: check_event(link->response_event);
}

int local_link_connect(const char *path, uint32_t pool_pages, unsigned timeout_ms,
		       struct local_link *ret)
{
	struct local_link link = {-1, -1, -1, -1, -1};
	int64_t deadline_ms = now_ms() + timeout_ms;
	int r = open_socket(path, timeout_ms, deadline_ms);

	if (r < 0)
		return r;
	link.sock = r;
	r = handshake(&link, pool_pages, deadline_ms);
	if (r) {
		local_link_close(&link);
		return r;
	}
	*ret = link;
	return 0;
}
