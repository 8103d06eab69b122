// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements backend.h. The event loop calls it.
 *
 * Each guest has the number of the connection that vreadd knows, and of the present one. Where they
 * differ, vreadd is told, as far as the socket takes messages. So nothing is queued here, and a
 * vreadd that does not read delays nobody.
 */
#include "ivshmem-server/backend.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/unix_listen.h"

/* ---- messages ---------------------------------------------------------------------- */

static int send_message(int fd, const struct ivshmem_message *m, const int *fds, unsigned num_fds)
{
	struct iovec part = {(void *)m, sizeof(*m)};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int) * IVSHMEM_MAX_FDS)];
	} rights = {.header = {.cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS,
			       .cmsg_len = CMSG_LEN(sizeof(int) * num_fds)}};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (num_fds) {
		memcpy(CMSG_DATA(&rights.header), fds, sizeof(int) * num_fds);
		message.msg_control = &rights;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * num_fds);
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static int send_gone(struct backend *b, struct guest *g)
{
	struct ivshmem_message m = {.kind = IVSHMEM_GONE, .connection = g->told};
	int r;

	snprintf(m.name, sizeof(m.name), "%s", g->name);
	r = send_message(b->vreadd, &m, NULL, 0);
	if (!r)
		g->told = 0;
	return r;
}

static int send_come(struct backend *b, struct guest *g)
{
	struct ivshmem_message m = {.kind = IVSHMEM_COME,
				    .queues = g->share.queues,
				    .connection = g->connection,
				    .memory = g->share.memory};
	int fds[IVSHMEM_MAX_FDS], r;

	snprintf(m.name, sizeof(m.name), "%s", g->name);
	r = send_message(b->vreadd, &m, fds, guest_share_fds(&g->share, fds));
	if (!r)
		g->told = g->connection;
	return r;
}

/* Returns 0 if vreadd knows all now; otherwise negative errno. */
static int tell_all(struct backend *b)
{
	int r = 0;

	for (struct guest *g = b->guests->first; !r && g; g = g->next) {
		if (g->told && g->told != g->connection)
			r = send_gone(b, g);
		if (!r && g->connection && !g->told)
			r = send_come(b, g);
	}
	return r;
}

/* ---- vreadd's connection ----------------------------------------------------------- */

/* Tells the guests that the backend is gone. */
static void end_vreadd(struct backend *b)
{
	b->vreadd_io = sd_event_source_disable_unref(b->vreadd_io);
	close(b->vreadd);
	if (b->process >= 0)
		close(b->process);
	b->vreadd = b->process = -1;
	for (struct guest *g = b->guests->first; g; g = g->next) {
		g->told = 0;
		if (g->connection)
			guest_share_end_backend(&g->share, b->bell);
	}
	log_info("vreadd has ended: its guests are told");
}

/*
 * A process that was killed closes its descriptors one by one. The socket may be closed before
 * those through which its RDMA adapter still writes into the memory of guests. The process has
 * ended when all are closed.
 */
static bool has_ended(const struct backend *b)
{
	struct pollfd process = {.fd = b->process, .events = POLLIN};

	return b->process < 0 || poll(&process, 1, 0) == 1;
}

static int on_end(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct backend *b = userdata;

	(void)source, (void)fd, (void)events;
	end_vreadd(b);
	backend_tell(b);
	return 0;
}

/* The socket is closed. Guests are told when the process has ended, too. */
static void await_end(struct backend *b)
{
	int r = -ENOTCONN;

	b->vreadd_io = sd_event_source_disable_unref(b->vreadd_io);
	if (!has_ended(b))
		r = sd_event_add_io(b->guests->event, &b->vreadd_io, b->process, EPOLLIN, on_end,
				    b);
	if (r < 0)
		end_vreadd(b);
	else
		b->leaving = true;
}

/* -EAGAIN: the socket is full. -ETOOMANYREFS: too many descriptors are on their way. vreadd takes
 * both away by reading; the event loop tells when. */
void backend_tell(struct backend *b)
{
	bool connected = b->vreadd >= 0 && !b->leaving;
	int r = connected ? tell_all(b) : 0;
	bool full = r == -EAGAIN || r == -ETOOMANYREFS;

	if (connected && (!r || full)) {
		sd_event_source_set_io_events(b->vreadd_io, EPOLLIN | (full ? EPOLLOUT : 0));
	} else if (connected) {
		if (r != -EPIPE && r != -ECONNRESET)
			log_error("cannot tell vreadd of a guest: %s", strerror(-r));
		await_end(b);
	}
	guests_tidy(b->guests);
}

static int on_vreadd(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct backend *b = userdata;
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);

	(void)source, (void)events;
	if (n > 0)
		end_vreadd(b); /* vreadd sends nothing */
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		await_end(b);
	backend_tell(b);
	return 0;
}

/* pid: of the process that connects now. If it is the one that was connected, it has let go of the
 * guests itself. */
static bool is_connected(struct backend *b, pid_t pid)
{
	char byte;

	if (b->vreadd < 0 || recv(b->vreadd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0)
		return b->vreadd >= 0;
	if (!has_ended(b) && pid != b->pid)
		return true;
	end_vreadd(b);
	return false;
}

static pid_t pid_of(int fd)
{
	struct ucred peer = {0};
	socklen_t length = sizeof(peer);

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length);
	return peer.pid;
}

static int on_accept(sd_event_source *source, int listener, uint32_t events, void *userdata)
{
	struct backend *b = userdata;
	int fd = unix_accept(listener, &b->spare_fd), r;
	pid_t pid = fd < 0 ? 0 : pid_of(fd);

	(void)source, (void)events;
	if (fd < 0)
		return 0;
	if (is_connected(b, pid)) {
		const struct ivshmem_message busy = {.kind = IVSHMEM_BUSY};

		log_source(LOG_LEVEL_WARN, "control", "%s: refused: another vreadd is connected",
			   b->path);
		send_message(fd, &busy, NULL, 0);
		close(fd);
		return 0;
	}
	b->vreadd = fd;
	b->pid = pid;
	b->leaving = false;
	/* 0: this process cannot see it, as in another container. Its guests are told at once. */
	b->process = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	r = sd_event_add_io(b->guests->event, &b->vreadd_io, fd, EPOLLIN, on_vreadd, b);
	if (r < 0) {
		log_error("cannot serve vreadd: %s", strerror(-r));
		end_vreadd(b);
		return 0;
	}
	log_info("vreadd is connected");
	backend_tell(b);
	return 0;
}

/* ---- start and stop ---------------------------------------------------------------- */

int backend_start(struct backend *b, struct guests *guests, const char *path)
{
	int r;

	*b = (struct backend){.guests = guests, .listener = -1, .vreadd = -1, .process = -1};
	b->spare_fd = unix_spare_fd();
	b->path = strdup(path);
	r = b->path ? bell_new(&b->bell) : -ENOMEM;
	if (r) {
		log_error("cannot ring the guests: %s", strerror(-r));
		return r;
	}
	b->listener = unix_listen(path, SOCK_SEQPACKET, 0600);
	if (b->listener < 0)
		return b->listener;
	r = sd_event_add_io(guests->event, &b->listener_io, b->listener, EPOLLIN, on_accept, b);
	return r < 0 ? r : 0;
}

void backend_stop(struct backend *b)
{
	sd_event_source_disable_unref(b->listener_io);
	sd_event_source_disable_unref(b->vreadd_io);
	if (b->listener >= 0) {
		close(b->listener);
		unlink(b->path);
	}
	if (b->vreadd >= 0)
		close(b->vreadd);
	if (b->process >= 0)
		close(b->process);
	if (b->spare_fd >= 0)
		close(b->spare_fd);
	bell_free(b->bell);
	free(b->path);
}
