/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements local_link.h: sends one hello to a backend's local port, receives one welcome with
 * file descriptors, and checks each descriptor before it is used.
 */
#include "local_link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "vread-ring-user.h"

#define MAX_FDS (2 + 2 * VREAD_MAX_QUEUES) /* pool, rings, two events per queue */

static unsigned expected_fds(const struct local_link *link)
{
	return 2 + 2 * link->num_queues;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void local_link_close(struct local_link *link)
{
	close_fd(link->sock);
	close_fd(link->pool);
	close_fd(link->rings);
	for (unsigned q = 0; q < link->num_queues; q++) {
		close_fd(link->request_event[q]);
		close_fd(link->response_event[q]);
	}
}

static int open_socket(const char *path, uint64_t deadline)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int sock, r;

	if (strlen(path) >= sizeof(address.sun_path))
		return -EINVAL;
	strcpy(address.sun_path, path);
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return -errno;
	r = vclock_connect(sock, (const struct sockaddr *)&address, sizeof(address), deadline);
	if (r) {
		close(sock);
		return r == -ECONNREFUSED ? -ENOTCONN : r;
	}
	return sock;
}

/* ---- hello and welcome -------------------------------------------------------- */

/* The error of a failed send() or recvmsg().  A shortage of this host, such as ENOBUFS, keeps its
 * number. */
static int socket_error(void)
{
	if (errno == EPIPE || errno == ECONNRESET)
		return -ENOTCONN;
	return errno == EAGAIN ? -ETIME : -errno;
}

static int send_hello(const struct local_link *link, uint32_t pool_pages)
{
	struct vread_local_hello hello = {
		.magic = VREAD_LOCAL_MAGIC,
		.version = VREAD_PROTOCOL_VERSION,
		.pool_pages = pool_pages,
		.num_queues = (uint16_t)link->num_queues,
		.ring_page_order = LOCAL_RING_PAGE_ORDER,
	};

	return send(link->sock, &hello, sizeof(hello), MSG_NOSIGNAL) < 0 ? socket_error() : 0;
}

/* Receives the welcome.  The caller must close *ret_count descriptors, also on failure. */
static int receive_welcome(const struct local_link *link, struct vread_local_welcome *ret,
			   int fds[MAX_FDS], unsigned *ret_count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(MAX_FDS * sizeof(int))];
	} control = {0};
	struct iovec iov = {ret, sizeof(*ret)};
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = CMSG_SPACE(expected_fds(link) * sizeof(int)),
	};
	ssize_t n;

	*ret_count = 0;
	n = recvmsg(link->sock, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (n < 0)
		return socket_error();
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
		size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		if (count > expected_fds(link) - *ret_count)
			count = expected_fds(link) - *ret_count;
		memcpy(fds + *ret_count, CMSG_DATA(c), count * sizeof(int));
		*ret_count += (unsigned)count;
	}
	if (n == 0)
		return -ENOTCONN;
	if (n != sizeof(*ret) || message.msg_flags & MSG_TRUNC)
		return -EPROTO;
	/* There was room in the message for all expected descriptors.  So if fewer came, this
	 * process has no number left for the others, and the kernel has closed them. */
	if (message.msg_flags & MSG_CTRUNC)
		return *ret_count < expected_fds(link) ? -EMFILE : -EPROTO;
	return 0;
}

static int check_welcome(const struct vread_local_welcome *w, const struct local_link *link,
			 uint32_t pool_pages, unsigned fds)
{
	if (w->magic != VREAD_LOCAL_MAGIC)
		return -EPROTO;
	if (w->status)
		return w->status < 0 && w->status >= -4095 ? w->status : -EPROTO;
	if (w->version != VREAD_PROTOCOL_VERSION || w->pool_pages != pool_pages ||
	    w->num_queues != link->num_queues || w->ring_page_order != LOCAL_RING_PAGE_ORDER ||
	    fds != expected_fds(link))
		return -EPROTO;
	return 0;
}

/* If the memory could shrink while it is mapped, this process would die of SIGBUS. */
static int check_memory(int fd, uint64_t bytes)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW;
	struct stat st;

	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size != bytes)
		return -EPROTO;
	return (fcntl(fd, F_GET_SEALS) & seals) == seals ? 0 : -EPROTO;
}

/* An eventfd has no file type.  So a pipe, which could raise SIGPIPE, a file or a socket is
 * refused. */
static int check_event(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fstat(fd, &st) < 0 || (st.st_mode & S_IFMT) != 0)
		return -EPROTO;
	return fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -EPROTO : 0;
}

static void take_fds(struct local_link *link, const int fds[MAX_FDS])
{
	link->pool = fds[0];
	link->rings = fds[1];
	for (unsigned q = 0; q < link->num_queues; q++) {
		link->request_event[q] = fds[2 + 2 * q];
		link->response_event[q] = fds[3 + 2 * q];
	}
}

static int check_fds(const struct local_link *link, uint32_t pool_pages)
{
	int r = check_memory(link->pool, (uint64_t)pool_pages * VREAD_PAGE_SIZE);

	r = r ?: check_memory(link->rings, (uint64_t)link->num_queues * LOCAL_RING_BYTES);
	for (unsigned q = 0; q < link->num_queues && !r; q++)
		r = check_event(link->request_event[q]) ?: check_event(link->response_event[q]);
	return r;
}

static int handshake(struct local_link *link, uint32_t pool_pages, uint64_t deadline)
{
	struct pollfd answer = {.fd = link->sock, .events = POLLIN};
	struct vread_local_welcome welcome;
	int fds[MAX_FDS];
	unsigned count;
	int r;

	memset(fds, -1, sizeof(fds));
	r = send_hello(link, pool_pages);
	if (r)
		return r;
	r = vclock_poll(&answer, 1, deadline, false);
	if (r <= 0)
		return r < 0 ? -errno : -ETIME;
	r = receive_welcome(link, &welcome, fds, &count);
	take_fds(link, fds);
	r = r ?: check_welcome(&welcome, link, pool_pages, count);
	return r ?: check_fds(link, pool_pages);
}

int local_link_connect(const char *path, uint32_t pool_pages, unsigned num_queues,
		       uint64_t deadline, struct local_link *ret)
{
	struct local_link link = {.pool = -1, .rings = -1, .num_queues = num_queues};
	int r = open_socket(path, deadline);

	if (r < 0)
		return r;
	link.sock = r;
	memset(link.request_event, -1, sizeof(link.request_event));
	memset(link.response_event, -1, sizeof(link.response_event));
	r = handshake(&link, pool_pages, deadline);
	if (r) {
		local_link_close(&link);
		return r;
	}
	*ret = link;
	return 0;
}
