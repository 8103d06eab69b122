// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements ivshmem.h: the devices of the guests that vread-ivshmem tells of. control/daemon.c
 * calls it.
 */
#include "port/ivshmem/ivshmem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "port/ivshmem/device.h"
#include "port/ivshmem/server.h"

/* ---- what vread-ivshmem tells ------------------------------------------------------ */

static struct ivshmem_device *find(const struct ivshmem_port *p, uint64_t connection)
{
	for (struct ivshmem_device *d = p->devices; d; d = d->next)
		if (d->connection == connection && !d->gone)
			return d;
	return NULL;
}

/* NULL: out of memory. */
static struct ivshmem_guest *get_guest(struct ivshmem_port *p, const char *name)
{
	struct ivshmem_guest *g = p->guests;

	while (g && strcmp(g->name, name) != 0)
		g = g->next;
	if (g)
		return g;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	snprintf(g->name, sizeof(g->name), "%s", name);
	g->next = p->guests;
	p->guests = g;
	return g;
}

static bool is_needed(const struct ivshmem_port *p, const struct ivshmem_guest *g)
{
	for (size_t i = 0; i < p->num_rights; i++)
		if (strcmp(p->rights[i].name, g->name) == 0)
			return true;
	for (const struct ivshmem_device *d = p->devices; d; d = d->next)
		if (d->guest == g)
			return true;
	return false;
}

/* Forgets guests that have no section and no device. */
static void forget_guests(struct ivshmem_port *p)
{
	struct ivshmem_guest **link = &p->guests, *g;

	while ((g = *link)) {
		if (is_needed(p, g)) {
			link = &g->next;
			continue;
		}
		*link = g->next;
		free(g);
	}
}

/* A guest that cannot be served is logged, and is no fault of the message. */
static bool come(struct ivshmem_port *p, const struct ivshmem_message *m, int *fds,
		 unsigned num_fds)
{
	struct ivshmem_device *d = ivshmem_device_new(p, get_guest(p, m->name), m, fds, num_fds);

	if (d)
		ivshmem_device_update(d);
	return true;
}

static bool on_message(void *ctx, const struct ivshmem_message *m, int *fds, unsigned num_fds)
{
	struct ivshmem_port *p = ctx;
	struct ivshmem_device *d = find(p, m->connection);

	if (m->kind == IVSHMEM_COME && !d)
		return come(p, m, fds, num_fds);
	for (unsigned i = 0; i < num_fds; i++)
		close(fds[i]);
	if (m->kind != IVSHMEM_GONE)
		return false;
	if (d) {
		log_device(LOG_LEVEL_INFO, d->conn.name, "its QEMU has ended");
		ivshmem_device_leave(d, true);
	}
	return true;
}

static void for_each(struct ivshmem_port *p, void (*act)(struct ivshmem_device *d))
{
	struct ivshmem_device *next;

	for (struct ivshmem_device *d = p->devices; d; d = next) {
		next = d->next;
		act(d);
	}
}

static void leave(struct ivshmem_device *d)
{
	if (!d->gone)
		ivshmem_device_leave(d, false);
}

static void on_lost(void *ctx)
{
	for_each(ctx, leave);
}

static const struct ivshmem_server_handlers handlers = {.message = on_message, .lost = on_lost};

/* ---- start and stop ---------------------------------------------------------------- */

/* Closes the devices whose workers found the protocol broken. */
static int on_failed(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct ivshmem_port *p = userdata;
	eventfd_t count;

	(void)source, (void)events;
	eventfd_read(fd, &count);
	for (struct ivshmem_device *d = p->devices; d; d = d->next) {
		const char *reason = atomic_load(&d->failure);

		if (reason && d->session && !d->ending)
			ivshmem_device_fail(d, reason);
	}
	return 0;
}

static int prepare(struct ivshmem_port *p, const char *socket)
{
	int r = ivshmem_server_prepare(&p->server, p->event, socket, &handlers, p);

	if (r)
		return r;
	p->failed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->failed_fd < 0)
		return -errno;
	r = sd_event_add_io(p->event, &p->failed_io, p->failed_fd, EPOLLIN, on_failed, p);
	return r < 0 ? r : 0;
}

/* A host without guests of KVM needs no bell, which a kernel may refuse. */
static int start_serving(struct ivshmem_port *p)
{
	int r = 0;

	if (p->num_rights && !p->bell)
		r = bell_new(&p->bell);
	if (p->num_rights && !r)
		ivshmem_server_start(&p->server);
	return r;
}

int ivshmem_port_start(struct ivshmem_port **ret, sd_event *event,
		       const struct ivshmem_settings *settings, const struct port_events *events)
{
	struct ivshmem_port *p = calloc(1, sizeof(*p));
	int r = -ENOMEM;

	if (p) {
		p->event = event;
		p->events = *events;
		p->failed_fd = p->server.fd = -1;
		r = prepare(p, settings->socket);
	}
	if (!r)
		r = ivshmem_port_set(p, settings);
	if (r) {
		log_error("cannot start the port for guests of KVM: %s", strerror(-r));
		ivshmem_port_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

int ivshmem_port_set(struct ivshmem_port *p, const struct ivshmem_settings *settings)
{
	size_t bytes = settings->num_guests * sizeof(*p->rights);
	struct ivshmem_rights *rights = bytes ? malloc(bytes) : NULL;
	int r = rights || !bytes ? 0 : -ENOMEM;

	if (rights)
		memcpy(rights, settings->guests, bytes);
	free(p->rights);
	p->rights = rights;
	p->num_rights = r ? 0 : settings->num_guests;
	forget_guests(p);
	for_each(p, ivshmem_device_follow_rights);
	return r ? r : start_serving(p);
}

void ivshmem_port_close(struct ivshmem_port *p)
{
	if (!p)
		return;
	p->closing = true;
	ivshmem_server_stop(&p->server);
	for_each(p, ivshmem_device_shutdown);
}

void ivshmem_port_free(struct ivshmem_port *p)
{
	if (!p)
		return;
	for_each(p, ivshmem_device_free);
	ivshmem_server_close(&p->server);
	bell_free(p->bell);
	sd_event_source_disable_unref(p->failed_io);
	if (p->failed_fd >= 0)
		close(p->failed_fd);
	free(p->rights);
	p->num_rights = 0;
	forget_guests(p);
	free(p);
}

/* ---- status ------------------------------------------------------------------------ */

static const char *port_state(const struct ivshmem_port *p)
{
	if (!p->server.started)
		return "off";
	return p->server.fd >= 0 ? "on" : "unavailable";
}

json_t *ivshmem_port_status(const struct ivshmem_port *p)
{
	return json_pack("{s:s, s:s*, s:I, s:s*}", "state", port_state(p), "socket",
			 p->server.started ? p->server.path : NULL, "guests",
			 (json_int_t)p->num_rights, "last_error",
			 p->server.last_error[0] ? p->server.last_error : NULL);
}

static json_t *device_status(const struct ivshmem_device *d)
{
	const char *role = NULL;

	if (d->session)
		role = policy_role(d->policy) == POLICY_CLIENT ? "client" : "datanode";
	return json_pack("{s:s, s:s, s:s, s:s?, s:i, s:i, s:i, s:i, s:i, s:I, s:s?}", "port", "kvm",
			 "name", d->conn.name, "state", ivshmem_state_name(d->state), "role", role,
			 "num_queues", (int)d->conn.num_queues, "ring_pages", (int)d->ring_pages,
			 "max_queues", (int)d->offer.max_queues, "max_pool_pages",
			 (int)d->offer.pool_pages, "pool_pages", (int)d->conn.pool_pages,
			 "connects_delayed", (json_int_t)d->guest->num_delayed, "last_error",
			 d->last_error[0] ? d->last_error : NULL);
}

json_t *ivshmem_port_devices(const struct ivshmem_port *p)
{
	json_t *devices = json_array();

	for (const struct ivshmem_device *d = p->devices; d; d = d->next)
		json_array_append_new(devices, device_status(d));
	return devices;
}
