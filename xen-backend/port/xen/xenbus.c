// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements xen.h: the list of devices, and the watches that update them. control/daemon.c calls
 * it.
 *
 * A watch only marks devices. Each marked device is then updated once, however many events there
 * were.
 */
#include "port/xen/xen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/number.h"
#include "policy/policy.h"
#include "port/xen/device.h"
#include "port/xen/store.h"

#define MAX_DOMID 0x7fefU /* higher domids are special */
#define MAX_DEVICE_ID 65535U
#define TOKEN_BACKEND "backend"
#define TOKEN_DOMAINS "domains"

#ifdef __SANITIZE_ADDRESS__
/*
 * xs_close() cancels the reading thread of libxenstore, which "may leak an unpublished message
 * buffer" (libxenstore's own words). This happens once, when the process ends.
 */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libxenstore";
}
#endif

/* ---- table ---------------------------------------------------------------------- */

static struct xen_device *find(struct xen_port *p, uint32_t domid, uint32_t id)
{
	for (struct xen_device *d = p->devices; d; d = d->next)
		if (d->domid == domid && d->id == id)
			return d;
	return NULL;
}

struct xen_domain *xen_port_domain(struct xen_port *p, uint32_t domid)
{
	struct xen_domain *d = p->domains;

	while (d && d->domid != domid)
		d = d->next;
	if (d)
		return d;
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->domid = domid;
	d->next = p->domains;
	p->domains = d;
	return d;
}

/* Forgets domains without devices: the domains that are gone, or all. */
static void forget_domains(struct xen_port *p, bool all)
{
	for (struct xen_domain **link = &p->domains; *link;) {
		struct xen_domain *d = *link;

		if (d->devices || (!all && store_has_domain(p->xs, d->domid))) {
			link = &d->next;
			continue;
		}
		*link = d->next;
		free(d);
	}
}

/*
 * Returns the device named by these two path components, if they can name one. Adds a device that
 * is not known yet. NULL: no device.
 */
static struct xen_device *named(struct xen_port *p, const char *domid_text, const char *id_text)
{
	uint32_t domid, id;
	struct xen_device *d;

	if (!parse_number(domid_text, 0, MAX_DOMID, &domid) ||
	    !parse_number(id_text, 0, MAX_DEVICE_ID, &id))
		return NULL;
	d = find(p, domid, id);
	if (!d) {
		d = xen_device_new(p, domid, id);
		if (!d)
			return NULL;
		d->next = p->devices;
		p->devices = d;
	}
	return d;
}

/* Marks the device and returns it, as above. */
static struct xen_device *mark(struct xen_port *p, const char *domid_text, const char *id_text)
{
	struct xen_device *d = named(p, domid_text, id_text);

	if (d)
		d->dirty = true;
	return d;
}

static void mark_all(struct xen_port *p)
{
	for (struct xen_device *d = p->devices; d; d = d->next)
		d->dirty = true;
}

/*
 * Removes the empty directory of a domain that is gone. Such a directory is left when the removal
 * of the last device was interrupted.
 */
static void tidy(struct xen_port *p, const char *domid_text)
{
	uint32_t domid;

	if (parse_number(domid_text, 0, MAX_DOMID, &domid) && !store_has_domain(p->xs, domid))
		store_remove_if_empty(p->xs, "/local/domain/%u/backend/vread/%u", p->domid, domid);
}

/* Adds the devices that exist and are not known yet, and marks all devices. */
static void scan(struct xen_port *p)
{
	unsigned num_domains, num_ids;
	char **domains =
		store_list(p->xs, &num_domains, "/local/domain/%u/backend/vread", p->domid);

	for (unsigned i = 0; domains && i < num_domains; i++) {
		char **ids = store_list(p->xs, &num_ids, "/local/domain/%u/backend/vread/%s",
					p->domid, domains[i]);

		for (unsigned j = 0; ids && j < num_ids; j++)
			mark(p, domains[i], ids[j]);
		if (ids && !num_ids)
			tidy(p, domains[i]);
		free(ids);
	}
	free(domains);
	mark_all(p);
}

void xen_port_update(struct xen_port *p)
{
	for (struct xen_device *d = p->devices; d; d = d->next)
		if (d->dirty)
			xen_device_update(d);
	for (struct xen_device **link = &p->devices; *link;) {
		struct xen_device *d = *link;

		if (d->gone) {
			*link = d->next;
			xen_device_free(d);
		} else {
			link = &d->next;
		}
	}
}

/* ---- watches -------------------------------------------------------------------- */

/* rest: "" or "/<domid>" or "/<domid>/<id>" or deeper. */
static void on_backend(struct xen_port *p, char *rest)
{
	char *save, *domid = strtok_r(rest, "/", &save);
	char *id = domid ? strtok_r(NULL, "/", &save) : NULL;
	struct xen_device *d = id ? mark(p, domid, id) : NULL;

	if (d)
		d->set_anew = true;
	if (!id)
		scan(p);
}

static void on_watch(struct xen_port *p, char *path, char *token)
{
	char base[64];
	int length = snprintf(base, sizeof(base), "/local/domain/%u/backend/vread", p->domid);

	if (strcmp(token, TOKEN_DOMAINS) == 0) {
		scan(p); /* empty directories may now belong to a gone domain */
		forget_domains(p, false);
	} else if (strcmp(token, TOKEN_BACKEND) == 0) {
		if (strncmp(path, base, (size_t)length) == 0)
			on_backend(p, path + length);
	} else if (strncmp(token, "front/", 6) == 0) {
		char *save, *domid = strtok_r(token + 6, "/", &save);
		char *id = strtok_r(NULL, "/", &save);
		struct xen_device *d = domid && id ? named(p, domid, id) : NULL;

		if (d)
			xen_device_front_changed(d);
	}
}

/* The daemon ends. Its supervisor starts it again, until xenstored answers. */
static int end_with_xenstored(struct xen_port *p)
{
	log_error("xenstored does not answer any more: restart vreadd when xenstored answers "
		  "again");
	p->failed = true;
	sd_event_source_set_enabled(p->watch_io, SD_EVENT_OFF);
	sd_event_source_set_enabled(p->end_io, SD_EVENT_OFF);
	return sd_event_exit(p->event, -EIO);
}

static int on_end(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	(void)source, (void)fd, (void)events;
	return end_with_xenstored(userdata);
}

static int on_watch_fd(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct xen_port *p = userdata;
	char **event;

	(void)source, (void)fd, (void)events;
	while ((event = xs_check_watch(p->xs)) != NULL) {
		on_watch(p, event[XS_WATCH_PATH], event[XS_WATCH_TOKEN]);
		free(event);
	}
	if (errno != EAGAIN)
		return end_with_xenstored(p);
	xen_port_update(p);
	return 0;
}

/* Closes the devices whose workers found the protocol broken. */
static int on_failed(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct xen_port *p = userdata;
	eventfd_t count;

	(void)source, (void)events;
	eventfd_read(fd, &count);
	for (struct xen_device *d = p->devices; d; d = d->next) {
		const char *reason = atomic_load(&d->failure);

		if (reason && d->session && !d->ending)
			xen_device_fail(d, reason);
	}
	return 0;
}

/* ---- start and stop ---------------------------------------------------------------- */

static int watch(struct xen_port *p)
{
	char base[64];
	int r = sd_event_add_io(p->event, &p->watch_io, xs_fileno(p->xs), EPOLLIN, on_watch_fd, p);

	if (r < 0)
		return r;
	p->end_fd = store_end_fd();
	if (p->end_fd >= 0)
		r = sd_event_add_io(p->event, &p->end_io, p->end_fd, EPOLLIN, on_end, p);
	if (r < 0)
		return r;
	snprintf(base, sizeof(base), "/local/domain/%u/backend/vread", p->domid);
	if (xs_watch(p->xs, base, TOKEN_BACKEND) &&
	    xs_watch(p->xs, "@introduceDomain", TOKEN_DOMAINS) &&
	    xs_watch(p->xs, "@releaseDomain", TOKEN_DOMAINS))
		return 0;
	r = -errno;
	log_error("cannot watch %s: %s", base, strerror(-r));
	return r;
}

static int start(struct xen_port *p)
{
	int r = store_read_number(p->xs, MAX_DOMID, &p->domid, "domid");

	if (r == -ENOENT)
		p->domid = 0;
	else if (r) {
		log_error("xenstore: domid: %s", strerror(-r));
		return r;
	}
	p->failed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->failed_fd < 0)
		return -errno;
	r = sd_event_add_io(p->event, &p->failed_io, p->failed_fd, EPOLLIN, on_failed, p);
	if (r < 0)
		return r;
	return watch(p);
}

bool xen_store_answers(void)
{
	struct xs_handle *xs = xs_open(0);

	xs_close(xs);
	return xs;
}

void xen_port_set_limits(struct xen_port *p, const struct xen_settings *settings)
{
	p->limits = (struct xen_limits){settings->max_queues, settings->max_ring_page_order,
					settings->max_pool_pages};
}

int xen_port_start(struct xen_port **ret, sd_event *event, const struct xen_settings *settings,
		   const struct port_events *events)
{
	struct xs_handle *xs = xs_open(XS_UNWATCH_FILTER);
	struct xen_port *p;
	int r;

	if (!xs)
		return -ENODEV;
	p = calloc(1, sizeof(*p));
	if (!p) {
		xs_close(xs);
		return -ENOMEM;
	}
	p->event = event;
	p->xs = xs;
	xen_port_set_limits(p, settings);
	p->events = *events;
	p->failed_fd = p->end_fd = -1;
	r = start(p);
	if (r) {
		xen_port_free(p);
		return r;
	}
	log_info("xen: watching backend/vread of domain %u", p->domid);
	*ret = p;
	return 0;
}

void xen_port_close(struct xen_port *p)
{
	if (!p)
		return;
	p->closing = true;
	for (struct xen_device *d = p->devices; d; d = d->next)
		xen_device_shutdown(d);
}

void xen_port_free(struct xen_port *p)
{
	if (!p)
		return;
	while (p->devices) {
		struct xen_device *d = p->devices;

		p->devices = d->next;
		xen_device_free(d);
	}
	forget_domains(p, true);
	sd_event_source_disable_unref(p->watch_io);
	sd_event_source_disable_unref(p->failed_io);
	sd_event_source_disable_unref(p->end_io);
	if (p->end_fd >= 0)
		close(p->end_fd);
	if (p->failed_fd >= 0)
		close(p->failed_fd);
	xs_close(p->xs);
	free(p);
}

/* ---- status -------------------------------------------------------------------------- */

json_t *xen_port_status(const struct xen_port *p)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:I}", "state", p->failed ? "unavailable" : "on",
			 "domid", (json_int_t)p->domid, "max_queues",
			 (json_int_t)p->limits.max_queues, "max_ring_page_order",
			 (json_int_t)p->limits.max_ring_page_order, "max_pool_pages",
			 (json_int_t)p->limits.max_pool_pages);
}

json_t *xen_port_devices(const struct xen_port *p)
{
	json_t *devices = json_array();

	for (const struct xen_device *d = p->devices; d; d = d->next)
		json_array_append_new(
			devices,
			json_pack("{s:s, s:s, s:s, s:s?, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:I, "
				  "s:s?}",
				  "port", "xen", "name", d->conn.name, "state",
				  xen_state_name(d->state), "role",
				  d->policy ? xen_role_name(policy_role(d->policy)) : NULL,
				  "num_queues", (int)d->conn.num_queues, "ring_pages",
				  (int)d->map.ring_pages, "max_queues", (int)d->limits.max_queues,
				  "max_pool_pages", (int)d->limits.max_pool_pages, "pool_pages",
				  (int)d->conn.pool_pages, "domid", (int)d->domid, "device",
				  (int)d->id, "connects_delayed", (json_int_t)d->num_delayed,
				  "last_error", d->last_error[0] ? d->last_error : NULL));
	return devices;
}
