// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements conn.h: the life of one local frontend: accepted, hello, connected, gone. local.c
 * starts and ends connections.
 *
 * A frontend has a few seconds for its hello and gets one answer. From then on its socket is only a
 * sign of life: data on the socket, or its end, ends the connection.
 */
#include "port/local/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "base/words.h"
#include "policy/policy.h"
#include "port/doorbell.h"
#include "port/local/hello.h"

#define HELLO_SECONDS 5

/* ---- what workers call ----------------------------------------------------- */

static struct local_conn *conn_of(struct port_conn *conn)
{
	return (struct local_conn *)((char *)conn - offsetof(struct local_conn, conn));
}

static int event_fd(struct port_conn *conn, unsigned q)
{
	return conn_of(conn)->share.queue[q].epoll_fd;
}

static int event_take(struct port_conn *conn, unsigned q)
{
	return doorbell_take(conn_of(conn)->share.queue[q].epoll_fd);
}

/* Nothing to do; see doorbell_take(). */
static void event_rearm(struct port_conn *conn, unsigned q)
{
	(void)conn, (void)q;
}

static void notify(struct port_conn *conn, unsigned q)
{
	doorbell_ring(conn_of(conn)->share.queue[q].response_fd);
}

static void fail(struct port_conn *conn, const char *reason)
{
	struct local_conn *c = conn_of(conn);
	const char *none = NULL;

	atomic_compare_exchange_strong(&c->failure, &none, reason);
	eventfd_write(c->port->failed_fd, 1);
}

static void ended(struct port_conn *conn);

const struct port_conn_ops local_conn_ops = {
	.event_fd = event_fd,
	.event_take = event_take,
	.event_rearm = event_rearm,
	.notify = notify,
	.fail = fail,
	.ended = ended,
};

/* ---- hello and welcome --------------------------------------------------------- */

static int send_welcome(struct local_conn *c, const struct vread_local_hello *hello, int status)
{
	struct vread_local_welcome welcome = {
		.magic = VREAD_LOCAL_MAGIC,
		.version = VREAD_PROTOCOL_VERSION,
		.status = status,
		.pool_pages = hello->pool_pages,
		.num_queues = hello->num_queues,
		.ring_page_order = hello->ring_page_order,
	};
	struct iovec iov = {&welcome, sizeof(welcome)};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int) * SHARE_MAX_FDS)];
	} control = {0};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

	if (status == 0) {
		int fds[SHARE_MAX_FDS];
		size_t bytes = share_fds(&c->share, fds) * sizeof(int);
		struct cmsghdr *cmsg = &control.header;

		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(bytes);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(bytes);
		memcpy(CMSG_DATA(cmsg), fds, bytes);
	}
	return sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static int admit(struct local_conn *c, const struct vread_local_hello *hello,
		 const char **ret_reason)
{
	struct local_port *port = c->port;
	int r;

	if (port->num_connected >= port->settings.max_connections) {
		*ret_reason = "max-connections is reached";
		return -ENOMEM;
	}
	if (!share_has_room(&port->use, port->settings.max_total_pool_pages, hello)) {
		*ret_reason = share_is_small(hello)
				      ? "max-total-pool-pages is reached"
				      : "max-total-pool-pages has room for small pools only";
		return -ENOSPC;
	}
	r = share_create(&c->share, hello);
	if (r) {
		*ret_reason = "cannot create the shared memory";
		return -ENOMEM;
	}
	c->use.pages = share_pages(hello);
	c->use.large_pages = share_is_small(hello) ? 0 : c->use.pages;
	port->use.pages += c->use.pages;
	port->use.large_pages += c->use.large_pages;
	c->conn.pool = c->share.pool;
	c->conn.pool_pages = hello->pool_pages;
	c->conn.num_queues = hello->num_queues;
	for (unsigned i = 0; i < hello->num_queues; i++) {
		uint32_t ring_bytes = VREAD_PAGE_SIZE << hello->ring_page_order;

		c->conn.queue[i].sring = c->share.rings + i * (size_t)ring_bytes;
		c->conn.queue[i].ring_bytes = ring_bytes;
	}
	return 0;
}

static int check_pace(struct local_conn *c, const char **ret_reason)
{
	if (local_users_connect(&c->port->users, c->uid, clock_ms()))
		return 0;
	c->port->num_too_often++;
	*ret_reason = "this user connects too often";
	return -ENOMEM;
}

static int begin_session(struct local_conn *c, const char **ret_reason)
{
	struct local_port *port = c->port;
	int err = ENOMEM;

	c->session = port->events.connect(port->events.ctx, &c->conn, &err);
	if (!c->session) {
		*ret_reason = "cannot start a session";
		return -err;
	}
	port->num_waiting--;
	port->num_connected++;
	c->deadline = timer_free(c->deadline);
	return 0;
}

/* Answers the hello. True if the connection stays open. */
static bool take_hello(struct local_conn *c, const void *message, size_t length)
{
	struct vread_local_hello hello = {0};
	const char *reason;
	int status = check_pace(c, &reason);

	if (!status)
		status = hello_parse(message, length, c->port->settings.max_pool_pages, &hello,
				     &reason);
	if (!status)
		status = admit(c, &hello, &reason);
	if (!status)
		status = begin_session(c, &reason);
	if (status) {
		c->port->num_refused++;
		snprintf(c->port->last_error, sizeof(c->port->last_error), "%s: refused: %s (%s)",
			 c->conn.name, reason, strerror(-status));
		log_source(LOG_LEVEL_WARN, "local", "%s (pid %d, uid %u): refused: %s (%s)",
			   c->conn.name, (int)c->pid, (unsigned)c->uid, reason, strerror(-status));
		send_welcome(c, &hello, status);
		return false;
	}
	log_source(LOG_LEVEL_INFO, "local",
		   "%s (pid %d, uid %u): connected: %u queues, %u pool pages", c->conn.name,
		   (int)c->pid, (unsigned)c->uid, hello.num_queues, hello.pool_pages);
	if (send_welcome(c, &hello, 0))
		return false;
	share_close_memory_fds(&c->share);
	return true;
}

/* ---- events ------------------------------------------------------------------------ */

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct local_conn *c = userdata;
	char message[sizeof(struct vread_local_hello) + 1];
	ssize_t n = recv(fd, message, sizeof(message), MSG_DONTWAIT);

	(void)source, (void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n > 0 && !c->session && take_hello(c, message, (size_t)n))
		return 0;
	if (n > 0 && c->session)
		log_device(LOG_LEVEL_WARN, c->conn.name, "closed: data after HELLO");
	local_conn_end(c);
	return 0;
}

static void on_deadline(void *conn)
{
	struct local_conn *c = conn;

	log_source(LOG_LEVEL_WARN, "local", "%s (pid %d): closed: no HELLO within %d s",
		   c->conn.name, (int)c->pid, HELLO_SECONDS);
	c->port->num_refused++;
	local_conn_end(c);
}

static int watch_socket(struct local_conn *c)
{
	sd_event *event = c->port->event;
	int r = sd_event_add_io(event, &c->io, c->fd, EPOLLIN, on_readable, c);

	if (r < 0)
		return r;
	return timer_start(&c->deadline, event, 1000ULL * HELLO_SECONDS, on_deadline, c);
}

void local_conn_set_rights(struct local_conn *c)
{
	char uid[16];
	size_t length = (size_t)snprintf(uid, sizeof(uid), "%u", (unsigned)c->uid);

	atomic_store(&c->conn.may_publish, words_have(c->port->settings.publish_uids, uid, length));
}

void local_conn_start(struct local_port *port, int fd)
{
	struct local_conn *c = calloc(1, sizeof(*c));
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t length = sizeof(peer);

	if (!c) {
		close(fd);
		return;
	}
	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length);
	c->port = port;
	c->fd = fd;
	c->pid = peer.pid;
	c->uid = peer.uid;
	c->conn.user = peer.uid + 1;
	c->share.pool_fd = c->share.rings_fd = -1;
	c->conn.ops = &local_conn_ops;
	c->conn.policy = port->settings.policy;
	local_conn_set_rights(c);
	snprintf(c->conn.name, sizeof(c->conn.name), "local:%llu",
		 (unsigned long long)++port->num_accepted);
	c->next = port->conns;
	port->conns = c;
	port->num_waiting++;
	if (watch_socket(c) < 0) {
		log_device(LOG_LEVEL_ERROR, c->conn.name, "out of memory");
		local_conn_end(c);
	}
}

static void forget(struct local_conn *c)
{
	struct local_conn **link = &c->port->conns;

	while (*link != c)
		link = &(*link)->next;
	*link = c->next;
}

static void local_conn_free(struct local_conn *c)
{
	forget(c);
	share_destroy(&c->share);
	c->port->use.pages -= c->use.pages;
	c->port->use.large_pages -= c->use.large_pages;
	free(c);
}

static void ended(struct port_conn *conn)
{
	struct local_conn *c = conn_of(conn);

	c->port->num_connected--;
	log_device(LOG_LEVEL_INFO, c->conn.name, "disconnected, %u pages freed", c->use.pages);
	local_conn_free(c);
}

void local_conn_end(struct local_conn *c)
{
	struct local_port *port = c->port;

	if (c->ending)
		return;
	c->io = sd_event_source_disable_unref(c->io);
	c->deadline = timer_free(c->deadline);
	close(c->fd);
	c->fd = -1;
	if (c->session) {
		c->ending = true;
		port->events.disconnect(port->events.ctx, c->session);
	} else {
		port->num_waiting--;
		local_conn_free(c);
	}
}
