// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements guest.h: listens for QEMUs and notices their ends. The event loop calls it.
 *
 * A QEMU gets all messages at once when it connects, and never sends one. While a QEMU is connected
 * to a guest's socket, another is refused.
 */
#include "ivshmem-server/guest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/unix_listen.h"
#include "control/config.h"

/*
 * A QEMU connects once in its life. A program that connects again and again would keep vreadd busy
 * with guests that come and go.
 */
static const struct pace_limit connects = {.burst = 30, .each_ms = 1000};

/* ---- a QEMU ------------------------------------------------------------------------ */

static void end_connection(struct guest *g)
{
	g->qemu_io = sd_event_source_disable_unref(g->qemu_io);
	close(g->qemu);
	g->qemu = -1;
	g->connection = 0;
	guest_share_destroy(&g->share);
}

static int on_qemu(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct guest *g = userdata;
	struct guests *all = g->all;
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);

	(void)source, (void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	log_device(n > 0 ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, g->log_name,
		   n > 0 ? "its QEMU sent data, which the protocol does not allow: disconnected"
			 : "its QEMU has ended");
	end_connection(g);
	all->changed(all->ctx);
	return 0;
}

/* True if a QEMU is connected. Notices an end of which the event loop has not told yet. */
static bool is_connected(struct guest *g)
{
	char byte;

	if (g->qemu < 0 || recv(g->qemu, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0)
		return g->qemu >= 0;
	log_device(LOG_LEVEL_INFO, g->log_name, "its QEMU has ended");
	end_connection(g);
	return false;
}

/* Returns what is wrong with another connect now (static string), or NULL. */
static const char *refusal(struct guest *g)
{
	if (is_connected(g))
		return "another QEMU is connected";
	return pace_wait(&g->pace, &connects, clock_ms()) ? "QEMUs connect too often" : NULL;
}

/* Takes over fd. */
static int begin_connection(struct guest *g, int fd)
{
	int r;

	pace_use(&g->pace, &connects, clock_ms());
	r = guest_share_create(&g->share, g->memory, g->queues);
	g->qemu = fd;
	if (!r)
		r = guest_share_send_to_qemu(&g->share, fd);
	if (!r)
		r = sd_event_add_io(g->all->event, &g->qemu_io, fd, EPOLLIN, on_qemu, g);
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
		log_device(LOG_LEVEL_WARN, g->log_name, "%s: refused pid %d, uid %u: %s", g->path,
			   (int)peer.pid, (unsigned)peer.uid, wrong);
		guest_share_refuse_qemu(fd);
		close(fd);
		return 0;
	}
	r = begin_connection(g, fd);
	if (r)
		log_device(LOG_LEVEL_ERROR, g->log_name, "cannot serve pid %d, uid %u: %s",
			   (int)peer.pid, (unsigned)peer.uid, strerror(-r));
	else
		log_device(LOG_LEVEL_INFO, g->log_name,
			   "a QEMU has come (pid %d, uid %u): %zu MiB, %u vectors", (int)peer.pid,
			   (unsigned)peer.uid, g->memory >> 20, 1 + g->queues);
	all->changed(all->ctx);
	return 0;
}

/* ---- sockets ----------------------------------------------------------------------- */

static void stop_listening(struct guest *g)
{
	if (g->listener < 0)
		return;
	g->listener_io = sd_event_source_disable_unref(g->listener_io);
	close(g->listener);
	g->listener = -1;
	unlink(g->path);
}

/* A failure is logged. The next reload tries again. */
static void start_listening(struct guest *g)
{
	int r;

	if (g->listener >= 0)
		return;
	g->listener = unix_listen(g->path, SOCK_STREAM, g->mode);
	if (g->listener < 0)
		return;
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
	if (g->qemu >= 0)
		end_connection(g);
	free(g->path);
	free(g);
}

void guests_tidy(struct guests *all)
{
	struct guest **link = &all->first, *g;

	while ((g = *link)) {
		if (g->configured || g->connection || g->told) {
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
