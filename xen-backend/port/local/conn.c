// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements conn.h: the life of one local frontend: accepted, hello, connected, gone. local.c
 * starts and ends connections.
 *
 * A frontend has a few seconds for its hello and gets one answer. From then on its socket is only a
 * sign of life: data on the socket, or its end, ends the connection.
 *
 * The frontend gives the memory back by hanging up. Until then it may copy the bytes of a response
 * out of the pool, also when we have ended the connection, and a freed page reads as zeros. So we
 * end a connection by shutting our side down, and the pages stay, and count, until the frontend
 * hangs up. When the port closes, the pages are left to the frontends.
 *
 * The kernel counts descriptors that nobody has taken from a socket against the user of vreadd,
 * also after vreadd has closed its end. So a user may leave only a few answers unread: later hellos
 * of that user wait in their sockets. An answer is unread until SIOCOUTQ is 0: the frontend has
 * taken it, or has closed its last descriptor of the socket. The kernel reports each message that
 * leaves the socket by an edge of EPOLLOUT.
 *
 *   hello ---> queued, while earlier answers are unread
 *        `---> session ---> over ---> freed, when the session has ended, the frontend has hung up
 *                                     and the answer was read
 */
#include "port/local/conn.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
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

/* ---- places ------------------------------------------------------------------------ */

static bool take(struct local_conn *c, enum local_place kind, uint64_t n)
{
	if (!local_users_take(&c->port->users, c->user, kind, n))
		return false;
	c->held[kind] += n;
	return true;
}

static void give_back(struct local_conn *c, enum local_place kind)
{
	local_users_give_back(&c->port->users, c->user, kind, c->held[kind]);
	c->held[kind] = 0;
}

/* Lets hellos that wait be read, the oldest first. */
static void resume(struct local_port *port)
{
	for (struct local_conn *c = port->conns; c; c = c->next) {
		if (!c->queued || !take(c, LOCAL_ANSWERS, 1))
			continue;
		c->queued = false;
		sd_event_source_set_enabled(c->io, SD_EVENT_ON);
	}
}

/* ---- hello and welcome --------------------------------------------------------- */

/* share NULL: no descriptors. */
static int send_welcome(int fd, const struct vread_local_hello *hello, int status,
			const struct share *share)
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

	if (share) {
		int fds[SHARE_MAX_FDS];
		size_t bytes = share_fds(share, fds) * sizeof(int);
		struct cmsghdr *cmsg = &control.header;

		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(bytes);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(bytes);
		memcpy(CMSG_DATA(cmsg), fds, bytes);
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* Tells the frontend, the log and the status that the frontend is refused. */
static void refuse(struct local_conn *c, const struct vread_local_hello *hello, int status,
		   const char *reason)
{
	struct local_port *port = c->port;

	port->num_refused++;
	snprintf(port->last_error, sizeof(port->last_error), "%s: refused: %s (%s)", c->conn.name,
		 reason, strerror(-status));
	log_device(LOG_LEVEL_WARN, c->conn.name, "refused: %s (%s), pid %d", reason,
		   strerror(-status), (int)c->pid);
	send_welcome(c->fd, hello, status, NULL);
}

/*
 * Refuses a frontend whose hello was not read. An unread hello would make the kernel report
 * ECONNRESET to the frontend in place of the answer.
 */
static void refuse_unheard(struct local_conn *c, const char *reason)
{
	char hello[sizeof(struct vread_local_hello)];

	recv(c->fd, hello, sizeof(hello), MSG_DONTWAIT);
	refuse(c, &(struct vread_local_hello){0}, -ENOMEM, reason);
}

static int take_pages(struct local_conn *c, const struct vread_local_hello *hello,
		      const char **ret_reason)
{
	const uint32_t pages = share_pages(hello);

	*ret_reason = "this user has as many pages as max-total-pool-pages allows";
	if (!take(c, LOCAL_PAGES, pages))
		return -ENOSPC;
	*ret_reason = "this user may take pages for small pools only (max-total-pool-pages)";
	if (share_is_small(hello) || take(c, LOCAL_LARGE_PAGES, pages))
		return 0;
	give_back(c, LOCAL_PAGES);
	return -ENOSPC;
}

static int admit(struct local_conn *c, const struct vread_local_hello *hello,
		 const char **ret_reason)
{
	int r;

	if (!take(c, LOCAL_CONNECTIONS, 1)) {
		*ret_reason = "this user has as many connections as max-connections allows";
		return -ENOMEM;
	}
	r = take_pages(c, hello, ret_reason);
	if (r)
		return r;
	r = share_create(&c->share, hello);
	if (r) {
		*ret_reason = "cannot create the shared memory";
		return -ENOMEM;
	}
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
	const char *wait = local_user_connect(c->user, clock_ms());

	if (!wait)
		return 0;
	c->port->num_too_often++;
	*ret_reason = wait;
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
	give_back(c, LOCAL_HELLOS);
	c->deadline = timer_free(c->deadline);
	return 0;
}

/* Hands the descriptors over. From then on the socket tells when they were taken and given back. */
static int welcome_frontend(struct local_conn *c, const struct vread_local_hello *hello,
			    const char **ret_reason)
{
	int r = send_welcome(c->fd, hello, 0, &c->share);

	if (!r)
		r = sd_event_source_set_io_events(c->io, EPOLLIN | EPOLLOUT | EPOLLET);
	if (r < 0) {
		*ret_reason = strerror(-r);
		return -ENOMEM;
	}
	c->handed_out = true;
	share_close_memory_fds(&c->share);
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
	if (!status)
		status = welcome_frontend(c, &hello, &reason);
	if (!status)
		log_device(LOG_LEVEL_DEBUG, c->conn.name, "pid %d: %u queues, %u pool pages",
			   (int)c->pid, hello.num_queues, hello.pool_pages);
	else
		refuse(c, &hello, status, reason);
	return !status;
}

/* ---- events ------------------------------------------------------------------------ */

/*
 * True if the frontend has taken the answer. A byte of the last message may still be counted while
 * the kernel reports the edge.
 */
static bool answer_was_read(const struct local_conn *c)
{
	int bytes = 0;

	return ioctl(c->fd, SIOCOUTQ, &bytes) == 0 &&
	       (size_t)bytes < sizeof(struct vread_local_welcome);
}

/* True if the frontend may still read the memory. */
static bool is_lent(const struct local_conn *c)
{
	return c->handed_out && !c->given_back;
}

static void free_memory(struct local_conn *c)
{
	share_destroy(&c->share, !is_lent(c));
	give_back(c, LOCAL_PAGES);
	give_back(c, LOCAL_LARGE_PAGES);
}

/* Frees memory, socket and c, as far as nothing more is to come. */
static void tidy(struct local_conn *c)
{
	const bool awaited = is_lent(c) && c->port->fd >= 0;

	if (!c->session && !awaited)
		free_memory(c);
	if (c->fd >= 0 && !c->held[LOCAL_ANSWERS] && !awaited) {
		c->io = sd_event_source_disable_unref(c->io);
		close(c->fd);
		c->fd = -1;
	}
	if (c->fd < 0 && !c->session)
		local_conn_free(c);
}

static void look_at_answer(struct local_conn *c)
{
	if (!c->held[LOCAL_ANSWERS] || !answer_was_read(c))
		return;
	if (!c->over)
		sd_event_source_set_io_events(c->io, EPOLLIN);
	give_back(c, LOCAL_ANSWERS);
	resume(c->port);
}

/* The frontend reads the memory no more. If the port is closing, the pages stay: a frontend that
 * hangs up because of that may have threads that have not noticed. */
static void hang_up(struct local_conn *c)
{
	c->given_back |= c->port->fd >= 0;
}

static int on_socket(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct local_conn *c = userdata;
	char message[sizeof(struct vread_local_hello) + 1];
	bool connected = c->session;
	ssize_t n;

	if (connected || c->over)
		look_at_answer(c);
	if (c->over) {
		if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
			hang_up(c);
		tidy(c);
		return 0;
	}
	if (!connected && !c->held[LOCAL_ANSWERS] && !take(c, LOCAL_ANSWERS, 1)) {
		c->queued = true;
		return sd_event_source_set_enabled(source, SD_EVENT_OFF);
	}
	n = recv(fd, message, sizeof(message), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n > 0 && !connected && take_hello(c, message, (size_t)n))
		return 0;
	if (n <= 0)
		hang_up(c);
	if (n > 0 && connected) {
		local_user_violated(c->user, clock_ms());
		log_device(LOG_LEVEL_WARN, c->conn.name, "closed: data after HELLO");
	}
	local_conn_end(c);
	return 0;
}

static void on_deadline(void *conn)
{
	struct local_conn *c = conn;

	if (c->queued) {
		refuse_unheard(c, "programs of this user do not read their answers");
	} else {
		log_device(LOG_LEVEL_WARN, c->conn.name, "closed: no HELLO within %d s, pid %d",
			   HELLO_SECONDS, (int)c->pid);
		c->port->num_refused++;
	}
	local_conn_end(c);
}

static int watch_socket(struct local_conn *c)
{
	sd_event *event = c->port->event;
	int r = sd_event_add_io(event, &c->io, c->fd, EPOLLIN, on_socket, c);

	if (r < 0)
		return r;
	return timer_start(&c->deadline, event, 1000ULL * HELLO_SECONDS, on_deadline, c);
}

const char *local_conn_awaits(const struct local_conn *c)
{
	return c->held[LOCAL_ANSWERS] ? "its program has not taken the descriptors"
				      : "its program has not hung up";
}

/* ---- beginning and end ------------------------------------------------------------- */

void local_conn_set_rights(struct local_conn *c)
{
	char uid[16];
	size_t length = (size_t)snprintf(uid, sizeof(uid), "%u", (unsigned)c->user->uid);

	atomic_store(&c->conn.may_publish, words_have(c->port->settings.publish_uids, uid, length));
}

static void append(struct local_port *port, struct local_conn *c)
{
	struct local_conn **link = &port->conns;

	while (*link)
		link = &(*link)->next;
	*link = c;
}

void local_conn_start(struct local_port *port, int fd)
{
	struct local_conn *c = calloc(1, sizeof(*c));
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t length = sizeof(peer);

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length);
	if (c)
		c->user = local_users_find(&port->users, peer.uid);
	if (!c || !c->user) {
		free(c);
		close(fd);
		return;
	}
	c->port = port;
	c->fd = fd;
	c->pid = peer.pid;
	c->conn.user = peer.uid + 1;
	c->share.pool_fd = c->share.rings_fd = -1;
	c->conn.ops = &local_conn_ops;
	c->conn.policy = port->settings.policy;
	local_conn_set_rights(c);
	snprintf(c->conn.name, sizeof(c->conn.name), "local:%u/%llu", (unsigned)peer.uid,
		 (unsigned long long)++port->num_accepted);
	append(port, c);
	if (!take(c, LOCAL_HELLOS, 1)) {
		refuse_unheard(c, "too many connections of this user wait for an answer");
		local_conn_end(c);
	} else if (watch_socket(c) < 0) {
		log_device(LOG_LEVEL_ERROR, c->conn.name, "out of memory");
		local_conn_end(c);
	}
}

void local_conn_free(struct local_conn *c)
{
	struct local_conn **link = &c->port->conns;

	while (*link != c)
		link = &(*link)->next;
	*link = c->next;
	sd_event_source_disable_unref(c->io);
	if (c->fd >= 0)
		close(c->fd);
	free_memory(c);
	for (unsigned kind = 0; kind < LOCAL_PLACES; kind++)
		give_back(c, kind);
	resume(c->port);
	free(c);
}

static void ended(struct port_conn *conn)
{
	struct local_conn *c = conn_of(conn);

	log_device(LOG_LEVEL_DEBUG, c->conn.name, "disconnected");
	c->session = NULL;
	tidy(c);
}

static void end(struct local_conn *c)
{
	c->over = true;
	c->deadline = timer_free(c->deadline);
	if (!c->session)
		give_back(c, LOCAL_ANSWERS); /* it has no descriptors */
	if (c->held[LOCAL_ANSWERS] || is_lent(c)) {
		shutdown(c->fd, SHUT_WR);
		sd_event_source_set_io_events(c->io, EPOLLRDHUP | EPOLLOUT | EPOLLET);
		look_at_answer(c);
	}
	if (c->session)
		c->port->events.disconnect(c->port->events.ctx, c->session);
}

void local_conn_end(struct local_conn *c)
{
	if (!c->over)
		end(c);
	tidy(c);
}
