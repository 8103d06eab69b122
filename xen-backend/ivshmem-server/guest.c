// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements guest.h: listens for QEMUs and notices their ends. The event loop calls it.
 *
 * A QEMU gets all messages at once when it connects, and never sends one. While a QEMU is connected
 * to a guest's socket, another is refused.
 */
#include "ivshmem-server/guest.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory_group.h"
#include "base/unix_listen.h"
#include "control/config.h"

/*
 * A QEMU connects once in its life. A program that connects again and again would keep vreadd busy
 * with guests that come and go.
 */
static const struct pace_limit connects = {.burst = 30, .each_ms = 1000};

/* Beside the memory of guests: what the program itself takes. */
#define OWN_MEMORY (16 << 20)

/* ---- a QEMU ------------------------------------------------------------------------ */

/* Less than a message is nothing: a byte of the last one may still be counted. */
static bool has_unread(const struct guest *g)
{
	int bytes = 0;

	return ioctl(g->qemu, SIOCOUTQ, &bytes) == 0 && (size_t)bytes >= sizeof(int64_t);
}

/* Closes the socket of a QEMU that is not served any more, if it has nothing to take there. */
static void release_socket(struct guest *g)
{
	if (has_unread(g))
		return;
	g->qemu_io = sd_event_source_disable_unref(g->qemu_io);
	close(g->qemu);
	g->qemu = -1;
}

/*
 * Ends the share, and the connection as soon as possible. vreadd is told first: what its workers
 * find in the freed memory is no fault of the guest.
 */
static void end_connection(struct guest *g)
{
	g->connection = 0;
	g->all->changed(g->all->ctx);
	guest_share_punch(&g->share);
	guest_share_destroy(&g->share);
	shutdown(g->qemu, SHUT_RDWR);
	release_socket(g);
	if (g->qemu >= 0) /* each message that leaves the socket is an edge of EPOLLOUT */
		sd_event_source_set_io_events(g->qemu_io, EPOLLOUT | EPOLLET);
}

static int on_qemu(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct guest *g = userdata;
	struct guests *all = g->all;
	char byte;
	ssize_t n;

	(void)source, (void)events;
	if (g->connection) {
		n = recv(fd, &byte, 1, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		log_source(n > 0 ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, g->log_name, "%s: %s",
			   g->log_name,
			   n > 0 ? "its QEMU sent data, which the protocol does not allow: "
				   "disconnected"
				 : "its QEMU has ended");
		end_connection(g);
	} else {
		release_socket(g);
	}
	all->changed(all->ctx);
	return 0;
}

/* Notices an end of which the event loop has not told yet. */
static void look_at_qemu(struct guest *g)
{
	char byte;
	ssize_t n;

	if (g->qemu < 0)
		return;
	if (!g->connection) {
		release_socket(g);
		return;
	}
	n = recv(g->qemu, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	log_source(LOG_LEVEL_INFO, g->log_name, "%s: its QEMU has ended", g->log_name);
	end_connection(g);
}

/* Returns what is wrong with another connect now (static string), or NULL. */
static const char *refusal(struct guest *g)
{
	look_at_qemu(g);
	if (g->connection)
		return "another QEMU is connected";
	if (g->qemu >= 0)
		return "the last QEMU has not taken its descriptors, and keeps its connection";
	if (memory_group_spare("", 0) < (int64_t)g->memory + OWN_MEMORY)
		return "MemoryMax of this service leaves too little for the memory of its section";
	return pace_wait(&g->pace, &connects, clock_ms()) ? "QEMUs connect too often" : NULL;
}

/* Takes over fd. */
static int begin_connection(struct guest *g, int fd)
{
	int r;

	pace_use(&g->pace, &connects, clock_ms());
	g->qemu = fd;
	r = guest_share_create(&g->share, g->memory, g->queues);
	if (!r)
		r = sd_event_add_io(g->all->event, &g->qemu_io, fd, EPOLLIN, on_qemu, g);
	if (r >= 0)
		r = guest_share_send_to_qemu(&g->share, fd);
	if (r < 0) {
		guest_share_refuse_qemu(fd);
		end_connection(g);
		return r;
	}
	g->connection = ++g->all->num_connections;
	return 0;
}

static int on_accept(sd_event_source *source, int listener, uint32_t events, void *userdata)
{
	struct guest *g = userdata;
	struct guests *all = g->all;
	int fd = unix_accept(listener, &all->spare_fd), r;
	struct ucred peer = {0};
	socklen_t length = sizeof(peer);
	const char *wrong;

	(void)source, (void)events;
	if (fd < 0)
		return 0;
	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length);
	wrong = refusal(g);
	if (wrong) {
		log_source(LOG_LEVEL_WARN, g->log_name, "%s: %s: refused pid %d, uid %u: %s",
			   g->log_name, g->path, (int)peer.pid, (unsigned)peer.uid, wrong);
		guest_share_refuse_qemu(fd);
		close(fd);
		return 0;
	}
	r = begin_connection(g, fd);
	if (r)
		log_source(LOG_LEVEL_ERROR, g->log_name, "%s: cannot serve pid %d, uid %u: %s",
			   g->log_name, (int)peer.pid, (unsigned)peer.uid, strerror(-r));
	else
		log_source(LOG_LEVEL_INFO, g->log_name,
			   "%s: a QEMU has come (pid %d, uid %u): %zu MiB, %u vectors", g->log_name,
			   (int)peer.pid, (unsigned)peer.uid, g->memory >> 20, 1 + g->queues);
	all->changed(all->ctx);
	return 0;
}

/* ---- sockets ----------------------------------------------------------------------- */

/* Returns what somebody else did to the socket's file (static string), or NULL. */
static const char *harm_of(const struct guest *g)
{
	struct stat st;

	if (lstat(g->path, &st))
		return "was removed";
	if (st.st_dev != g->made.st_dev || st.st_ino != g->made.st_ino)
		return "was replaced by another file";
	if (st.st_uid != g->made.st_uid || st.st_gid != g->made.st_gid ||
	    st.st_mode != g->made.st_mode)
		return "has another owner, group or mode";
	return NULL;
}

static void stop_listening(struct guest *g)
{
	struct stat st;

	if (g->listener < 0)
		return;
	g->listener_io = sd_event_source_disable_unref(g->listener_io);
	close(g->listener);
	g->listener = -1;
	if (lstat(g->path, &st) == 0 && st.st_ino == g->made.st_ino && st.st_dev == g->made.st_dev)
		unlink(g->path);
}

/* True if QEMUs find the socket as it was made. Otherwise it is to be made anew. */
static bool is_listening(struct guest *g)
{
	const char *harm = g->listener >= 0 ? harm_of(g) : NULL;

	if (harm) {
		log_source(LOG_LEVEL_WARN, g->log_name, "%s: %s %s: making it anew", g->log_name,
			   g->path, harm);
		stop_listening(g);
	}
	return g->listener >= 0;
}

/* A failure is logged. The next reload tries again. */
static void start_listening(struct guest *g)
{
	int r;

	if (is_listening(g))
		return;
	g->listener = unix_listen(g->path, SOCK_STREAM, g->mode);
	if (g->listener < 0)
		return;
	g->made = (struct stat){0};
	lstat(g->path, &g->made);
	r = sd_event_add_io(g->all->event, &g->listener_io, g->listener, EPOLLIN, on_accept, g);
	if (r < 0) {
		log_device(LOG_LEVEL_ERROR, g->log_name, "%s: cannot listen: %s", g->path,
			   strerror(-r));
		stop_listening(g);
	}
}

/* ---- guests ------------------------------------------------------------------------ */

static struct guest *find(struct guests *all, const char *name)
{
	for (struct guest *g = all->first; g; g = g->next)
		if (strcmp(g->name, name) == 0)
			return g;
	return NULL;
}

static struct guest *add(struct guests *all, const char *name)
{
	struct guest *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->all = all;
	g->listener = g->qemu = -1;
	snprintf(g->name, sizeof(g->name), "%s", name);
	snprintf(g->log_name, sizeof(g->log_name), "kvm:%s", name);
	g->next = all->first;
	all->first = g;
	return g;
}

/* Stops listening where the guest has another socket now. */
static void set_guest(struct guests *all, const struct config_ivshmem *c)
{
	struct guest *g = find(all, c->name);
	char *path = strdup(c->socket);

	if (!g)
		g = add(all, c->name);
	if (!g || !path) {
		log_error("[ivshmem %s]: out of memory", c->name);
		free(path);
		return;
	}
	if (g->path && (strcmp(g->path, path) != 0 || g->mode != c->mode))
		stop_listening(g);
	free(g->path);
	g->path = path;
	g->mode = c->mode;
	g->memory = c->memory;
	g->queues = c->queues;
	g->configured = true;
}

void guests_set(struct guests *all, const struct config *config)
{
	for (struct guest *g = all->first; g; g = g->next)
		g->configured = false;
	for (size_t i = 0; i < config->num_ivshmem; i++)
		set_guest(all, &config->ivshmem[i]);
	/* Two guests may have exchanged their sockets: all that are to go are gone first. */
	for (struct guest *g = all->first; g; g = g->next)
		if (!g->configured)
			stop_listening(g);
	for (struct guest *g = all->first; g; g = g->next)
		if (g->configured)
			start_listening(g);
	guests_tidy(all);
}

static void free_guest(struct guest *g)
{
	stop_listening(g);
	if (g->connection)
		guest_share_destroy(&g->share);
	sd_event_source_disable_unref(g->qemu_io);
	if (g->qemu >= 0)
		close(g->qemu);
	free(g->path);
	free(g);
}

void guests_tidy(struct guests *all)
{
	struct guest **link = &all->first, *g;

	while ((g = *link)) {
		if (g->configured || g->qemu >= 0 || g->told) {
			link = &g->next;
			continue;
		}
		*link = g->next;
		log_device(LOG_LEVEL_INFO, g->log_name, "removed");
		free_guest(g);
	}
}

void guests_free(struct guests *all)
{
	while (all->first) {
		struct guest *g = all->first;

		all->first = g->next;
		free_guest(g);
	}
	if (all->spare_fd >= 0)
		close(all->spare_fd);
}
