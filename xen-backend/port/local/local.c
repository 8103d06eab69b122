// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements local.h: the listening socket and the list of connections. control/daemon.c calls it.
 */
#include "port/local/local.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/unix_listen.h"
#include "policy/policy.h"
#include "port/local/conn.h"

#define MAX_HELLOS 64U  /* of a user: many programs may start at once */
#define MAX_ANSWERS 16U /* of a user: a program reads its answer at once */

static int on_accept(sd_event_source *source, int listener, uint32_t events, void *userdata)
{
	struct local_port *p = userdata;
	int fd = unix_accept(listener, &p->spare_fd);

	(void)source, (void)events;
	if (fd < 0)
		return 0;
	local_conn_start(p, fd);
	return 0;
}

/* Closes the connections whose workers found the protocol broken. */
static int on_failed(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct local_port *p = userdata;
	struct local_conn *next;
	eventfd_t count;

	(void)source, (void)events;
	eventfd_read(fd, &count);
	for (struct local_conn *c = p->conns; c; c = next) {
		const char *reason = atomic_load(&c->failure);

		next = c->next;
		if (!reason || c->over)
			continue;
		p->num_failed++;
		local_user_violated(c->user, clock_ms());
		snprintf(p->last_error, sizeof(p->last_error), "%s: protocol error: %s",
			 c->conn.name, reason);
		log_device(LOG_LEVEL_WARN, c->conn.name, "pid %d: protocol error: %s; closed",
			   (int)c->pid, reason);
		local_conn_end(c);
	}
	return 0;
}

static int start(struct local_port *p)
{
	int r;

	p->path = strdup(p->settings.socket);
	p->failed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!p->path || p->failed_fd < 0)
		return -ENOMEM;
	p->fd = unix_listen(p->path, SOCK_SEQPACKET, p->settings.mode);
	if (p->fd < 0)
		return p->fd;
	r = sd_event_add_io(p->event, &p->io, p->fd, EPOLLIN, on_accept, p);
	if (r < 0)
		return r;
	r = sd_event_add_io(p->event, &p->failed_io, p->failed_fd, EPOLLIN, on_failed, p);
	return r < 0 ? r : 0;
}

static void set_limits(struct local_port *p, const struct local_settings *settings)
{
	p->settings.max_connections = settings->max_connections;
	p->settings.max_pool_pages = settings->max_pool_pages;
	p->settings.max_total_pool_pages = settings->max_total_pool_pages;
	p->users.most[LOCAL_HELLOS] = MAX_HELLOS;
	p->users.most[LOCAL_ANSWERS] = MAX_ANSWERS;
	p->users.most[LOCAL_CONNECTIONS] = settings->max_connections;
	p->users.most[LOCAL_PAGES] = settings->max_total_pool_pages;
	p->users.most[LOCAL_LARGE_PAGES] = share_large_pages(settings->max_total_pool_pages);
}

int local_port_start(struct local_port **ret, sd_event *event,
		     const struct local_settings *settings, const struct port_events *events)
{
	struct local_port *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->event = event;
	p->settings = *settings;
	set_limits(p, settings);
	p->events = *events;
	p->fd = p->failed_fd = -1;
	p->spare_fd = unix_spare_fd();
	r = start(p);
	if (r) {
		local_port_free(p);
		return r;
	}
	log_info("%s: listening for local frontends", p->path);
	*ret = p;
	return 0;
}

void local_port_set(struct local_port *p, const struct local_settings *settings)
{
	p->settings.publish_uids = settings->publish_uids;
	for (struct local_conn *c = p->conns; c; c = c->next)
		local_conn_set_rights(c);
	set_limits(p, settings);
}

void local_port_close(struct local_port *p)
{
	struct local_conn *next;

	if (!p || p->fd < 0)
		return;
	p->io = sd_event_source_disable_unref(p->io);
	close(p->fd);
	p->fd = -1;
	unlink(p->path);
	for (struct local_conn *c = p->conns; c; c = next) {
		next = c->next;
		local_conn_end(c);
	}
}

void local_port_free(struct local_port *p)
{
	if (!p)
		return;
	local_port_close(p);
	while (p->conns)
		local_conn_free(p->conns);
	local_users_free(&p->users);
	sd_event_source_disable_unref(p->failed_io);
	if (p->failed_fd >= 0)
		close(p->failed_fd);
	if (p->spare_fd >= 0)
		close(p->spare_fd);
	free(p->path);
	free(p);
}

json_t *local_port_status(const struct local_port *p)
{
	const uint64_t *held = p->users.held;

	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s*}", "state", "on",
			 "socket", p->path, "connections", (json_int_t)held[LOCAL_CONNECTIONS],
			 "max_connections", (json_int_t)p->settings.max_connections, "accepted",
			 (json_int_t)p->num_accepted, "refused", (json_int_t)p->num_refused,
			 "too_often", (json_int_t)p->num_too_often, "protocol_errors",
			 (json_int_t)p->num_failed, "pages", (json_int_t)held[LOCAL_PAGES],
			 "unread", (json_int_t)held[LOCAL_ANSWERS], "last_error",
			 p->last_error[0] ? p->last_error : NULL);
}

static const char *state_name(const struct local_conn *c)
{
	if (c->over)
		return "Closing";
	return c->session ? "Connected" : "Initialising";
}

json_t *local_port_devices(const struct local_port *p)
{
	json_t *devices = json_array();

	for (const struct local_conn *c = p->conns; c; c = c->next) {
		uint32_t ring_pages = c->conn.queue[0].ring_bytes / VREAD_PAGE_SIZE;
		bool waits = c->over && !c->session;

		json_array_append_new(
			devices,
			json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:s?}", "port",
				  "local", "name", c->conn.name, "state", state_name(c), "role",
				  policy_role(c->conn.policy) == POLICY_CLIENT ? "client"
									       : "datanode",
				  "num_queues", (int)c->conn.num_queues, "ring_pages",
				  (int)ring_pages, "pool_pages", (int)c->conn.pool_pages, "pid",
				  (int)c->pid, "uid", (int)c->user->uid, "last_error",
				  waits ? local_conn_awaits(c) : NULL));
	}
	return devices;
}
