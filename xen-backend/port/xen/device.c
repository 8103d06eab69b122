// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements device.h: the state machine of one device. The diagrams are in vreadif.h. xenbus.c
 * calls it.
 *
 * The backend rests in one of four states: Initialising (nothing published), InitWait, Connected,
 * Closed. Closing is passed through on the way to Closed: everything is unmapped in between, which
 * may have to wait for the end of the session. Until then the device is not updated. Then it is
 * updated once more, and what was begun before goes on, because each step can be repeated.
 */
#include "port/xen/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "base/timer.h"
#include "policy/policy.h"
#include "port/xen/connect.h"
#include "port/xen/rights.h"
#include "port/xen/store.h"
#include "vread-nodes.h"
#include "vread-ring-user.h"

/*
 * What failed is tried again after the first of these times, then after twice as long each time, up
 * to the second. A refused frontend is not looked at in between. So a frontend cannot make vreadd
 * map and log as fast as the frontend can write.
 */
#define RETRY_MS 1000U
#define RETRY_MAX_MS 32000U

/*
 * A frontend that has connected too often stays Closed for a while. So a device that connects and
 * closes again and again takes little of the control thread's time, and others are not delayed.
 */
static const struct pace_limit connects = {.burst = 60, .each_ms = 1000};

/* A frontend can write its state as fast as xenstored answers, and each look reads several nodes on
 * the control thread. So the looks that a domain causes have a pace. */
static const struct pace_limit looks = {.burst = 300, .each_ms = 10};

/* The nodes of one device at one moment. */
struct view {
	enum xenbus_state own, front;
	bool online;
};

const char *xen_state_name(enum xenbus_state state)
{
	static const char *const names[] = {
		"Unknown", "Initialising", "InitWait",      "Initialised",  "Connected",
		"Closing", "Closed",       "Reconfiguring", "Reconfigured",
	};

	return state <= XenbusStateReconfigured ? names[state] : "Unknown";
}

/* Nodes that are written in one transaction. */
struct change {
	const struct xen_device *device;
	enum xenbus_state state;
	bool offer; /* also write the limits that are offered */
};

static int write_offer(const struct xen_device *d, xs_transaction_t t)
{
	const struct {
		const char *node;
		uint32_t value;
	} numbers[] = {
		{VREAD_NODE_MAX_QUEUES, d->limits.max_queues},
		{VREAD_NODE_MAX_RING_PAGE_ORDER, d->limits.max_ring_page_order},
		{VREAD_NODE_MAX_POOL_PAGES, d->limits.max_pool_pages},
		{VREAD_NODE_FEATURE_PUBLISH, 1},
		{VREAD_NODE_FEATURE_USER, 1},
	};
	int r = store_write(d->port->xs, t, d->backend_path, VREAD_NODE_VERSIONS, "1");

	for (size_t i = 0; !r && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		r = store_write_number(d->port->xs, t, d->backend_path, numbers[i].node,
				       numbers[i].value);
	return r;
}

/* Does not write if the device was removed meanwhile: writing would create its nodes again. */
static int write_change(struct xs_handle *xs, xs_transaction_t t, const void *ctx)
{
	const struct change *c = ctx;
	char *state;
	int r = store_read(xs, t, &state, "%s/%s", c->device->backend_path, VREAD_NODE_STATE);

	if (r)
		return r;
	free(state);
	r = c->offer ? write_offer(c->device, t) : 0;
	return r ?: store_write_number(xs, t, c->device->backend_path, VREAD_NODE_STATE, c->state);
}

static int change_state(struct xen_device *d, enum xenbus_state state, bool offer)
{
	struct change c = {d, state, offer};
	int r = store_change(d->port->xs, write_change, &c);

	if (r && r != -ENOENT)
		log_device(LOG_LEVEL_ERROR, d->conn.name, "cannot write state %s: %s%s",
			   xen_state_name(state), strerror(-r),
			   r == -ENOSPC ? ": xenstored's quota for this domain is used up" : "");
	log_device(LOG_LEVEL_DEBUG, d->conn.name, "%s -> %s", xen_state_name(d->state),
		   xen_state_name(state));
	return r;
}

static void retry_later(struct xen_device *d);

/* A state that xenstored does not take is written again later: the frontend waits for it. */
static void set_state(struct xen_device *d, enum xenbus_state state)
{
	int r = change_state(d, state, false);

	d->state = state;
	d->unwritten = r && r != -ENOENT;
	if (d->unwritten)
		retry_later(d);
}

/* ---- errors ----------------------------------------------------------------------- */

/* Writes the error where Linux' xenbus writes errors, so that the usual tools find it. */
static void report(struct xen_device *d, int err, const char *text)
{
	char directory[STORE_MAX_PATH];

	snprintf(d->last_error, sizeof(d->last_error), "%d %s", -err, text);
	snprintf(directory, sizeof(directory), "/local/domain/%u/error/backend/vread/%u/%u",
		 d->port->domid, d->domid, d->id);
	store_write(d->port->xs, XBT_NULL, directory, "error", d->last_error);
}

static void clear_report(struct xen_device *d)
{
	d->last_error[0] = '\0';
	store_remove(d->port->xs, "/local/domain/%u/error/backend/vread/%u/%u", d->port->domid,
		     d->domid, d->id);
	store_remove_if_empty(d->port->xs, "/local/domain/%u/error/backend/vread/%u",
			      d->port->domid, d->domid);
}

/* ---- transitions ------------------------------------------------------------------ */

static void to_closed(struct xen_device *d)
{
	if (d->state != XenbusStateClosing)
		set_state(d, XenbusStateClosing);
	if (xen_disconnect(d))
		set_state(d, XenbusStateClosed);
}

static void on_retry(void *device)
{
	struct xen_device *d = device;

	d->retry = timer_free(d->retry);
	d->dirty = true;
	xen_port_update(d->port);
}

static void retry_later(struct xen_device *d)
{
	if (d->retry)
		return;
	d->retry_ms = d->retry_ms ? 2 * d->retry_ms : RETRY_MS;
	if (d->retry_ms > RETRY_MAX_MS)
		d->retry_ms = RETRY_MAX_MS;
	timer_start(&d->retry, d->port->event, d->retry_ms, on_retry, d);
}

/*
 * Closes the device. After a fault of the frontend it stays Closed until the frontend begins anew.
 * After anything else, a shortage of the host or a mistake of the toolstack, it is offered again.
 */
static void refuse(struct xen_device *d, int err, const char *text, enum xen_fault fault)
{
	bool closed = d->state == XenbusStateClosed, again;
	char told[sizeof(d->last_error)];

	snprintf(told, sizeof(told), "%d %s", -err, text);
	again = strcmp(told, d->last_error) == 0;
	if (closed && again)
		return; /* already refused for the same reason */
	log_event(LOG_EVENT_DEVICE_REFUSED,
		  again && fault == XEN_FAULT_HOST ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARN, d->conn.name,
		  "refused: %s", text);
	report(d, err, text);
	d->refused = fault == XEN_FAULT_FRONTEND;
	if (!closed)
		to_closed(d);
	retry_later(d);
}

/*
 * Reads the limit that the toolstack sets for this device, if any. A lower limit replaces *limit.
 */
static int take_limit(struct xen_device *d, const char *node, uint32_t min, uint32_t max,
		      uint32_t *limit, char error[XEN_ERROR_SIZE])
{
	char *value;
	uint32_t said;
	int r = store_read(d->port->xs, XBT_NULL, &value, "%s/%s", d->backend_path, node);

	if (r == -ENOENT)
		return 0;
	if (r) {
		snprintf(error, XEN_ERROR_SIZE, "backend %s: cannot read: %s", node, strerror(-r));
		return r;
	}
	if (!parse_number(value, min, max, &said)) {
		snprintf(error, XEN_ERROR_SIZE,
			 "backend %s: \"%.32s\": expected a number from %u to %u", node, value, min,
			 max);
		r = -EINVAL;
	} else if (said < *limit) {
		*limit = said;
	}
	free(value);
	return r;
}

static int take_limits(struct xen_device *d, char error[XEN_ERROR_SIZE])
{
	struct xen_limits limits = d->port->limits;
	int r = take_limit(d, VREAD_NODE_LIMIT_QUEUES, 1, VREAD_MAX_QUEUES, &limits.max_queues,
			   error);

	if (!r)
		r = take_limit(d, VREAD_NODE_LIMIT_POOL_PAGES, VREAD_MIN_POOL_PAGES,
			       VREAD_MAX_POOL_PAGES, &limits.max_pool_pages, error);
	if (!r)
		d->limits = limits;
	return r;
}

static int check_rights(struct xen_device *d, char error[XEN_ERROR_SIZE])
{
	struct policy *policy;
	int r = xen_rights_read(d, &policy, error);

	if (!r)
		policy_free(policy);
	return r;
}

static void publish(struct xen_device *d)
{
	char error[XEN_ERROR_SIZE];
	int r = take_limits(d, error) ?: check_rights(d, error);

	if (r) {
		refuse(d, r, error, XEN_FAULT_TOOLSTACK);
		return;
	}
	r = change_state(d, XenbusStateInitWait, true);
	if (r) {
		if (r != -ENOENT) {
			report(d, r, "cannot write the backend's limits and features to xenstore");
			retry_later(d);
		}
		return;
	}
	d->refused = false;
	d->state = XenbusStateInitWait;
}

static void connect_frontend(struct xen_device *d)
{
	enum xen_fault fault;
	char error[XEN_ERROR_SIZE];
	int r;

	d->set_anew = false;
	r = xen_connect(d, error, &fault);
	if (r) {
		refuse(d, r, error, fault);
		return;
	}
	d->retry_ms = 0;
	pace_use(&d->domain->connects, &connects, clock_ms());
	clear_report(d);
	log_event(LOG_EVENT_DEVICE_CONNECTED, LOG_LEVEL_INFO, d->conn.name,
		  "connected: %u queues of %u pages, %u pool pages, role %s", d->conn.num_queues,
		  d->map.ring_pages, d->conn.pool_pages, xen_role_name(policy_role(d->policy)));
	set_state(d, XenbusStateConnected);
}

/* ---- states ------------------------------------------------------------------------- */

static void in_init_wait(struct xen_device *d, const struct view *v)
{
	if (!v->online || v->front == XenbusStateClosing)
		to_closed(d);
	else if (v->front == XenbusStateInitialised)
		connect_frontend(d);
}

/*
 * The toolstack may change the rights of a connected device. Reads that are on their way ask the
 * policy again before their answer goes out. The role stays until the next connection.
 */
static void follow_rights(struct xen_device *d)
{
	struct policy *policy;
	char error[XEN_ERROR_SIZE];
	int r;

	if (!d->set_anew)
		return;
	d->set_anew = false;
	r = xen_rights_read(d, &policy, error);
	if (r) {
		refuse(d, r, error, XEN_FAULT_TOOLSTACK);
		return;
	}
	if (policy_equals(d->policy, policy)) {
		policy_free(policy);
		return;
	}
	policy_replace(d->policy, policy);
	log_device(LOG_LEVEL_INFO, d->conn.name, "its rights have changed");
}

static void in_connected(struct xen_device *d, const struct view *v)
{
	if (v->online && (v->front == XenbusStateInitialised || v->front == XenbusStateConnected)) {
		follow_rights(d);
		return;
	}
	log_device(LOG_LEVEL_INFO, d->conn.name, "closing: %s is %s",
		   v->online ? "frontend" : "device",
		   v->online ? xen_state_name(v->front) : "offline");
	to_closed(d);
}

/* True if both are devices of one guest in two of its lives: a guest that reboots is another domain
 * with the same unique id. */
static bool is_reborn(const struct xen_device *d, const struct xen_device *other)
{
	return d->domid != other->domid && d->vm && other->vm && strcmp(d->vm, other->vm) == 0;
}

/*
 * True if the guest's last domain has a session that still waits for a disk. There is never a
 * second one beside it, however often the guest reboots.
 */
static bool has_predecessor(struct xen_device *d)
{
	static const char text[] = "the device of the guest's last domain still waits for a disk";
	const struct xen_device *older = d->port->devices;
	char told[sizeof(d->last_error)];

	while (older && !(older->ending && is_reborn(d, older)))
		older = older->next;
	if (!older)
		return false;
	snprintf(told, sizeof(told), "%d %s", EAGAIN, text);
	if (strcmp(told, d->last_error) == 0)
		return true;
	log_device(LOG_LEVEL_WARN, d->conn.name, "%s: it gets no offer until then", text);
	report(d, -EAGAIN, text);
	return true;
}

/* True if the frontend must wait before it may connect again. */
static bool must_wait(struct xen_device *d)
{
	uint64_t ms = pace_wait(&d->domain->connects, &connects, clock_ms());
	char text[XEN_ERROR_SIZE];

	if (!ms)
		return false;
	d->num_delayed++;
	snprintf(text, sizeof(text), "it connects too often: expected at most one connect in %u ms",
		 (unsigned)connects.each_ms);
	log_device(LOG_LEVEL_WARN, d->conn.name, "%s; it waits", text);
	report(d, -EAGAIN, text);
	timer_start(&d->retry, d->port->event, ms, on_retry, d);
	return true;
}

static void in_closed(struct xen_device *d, const struct view *v)
{
	if (!v->online || d->retry)
		return;
	if (v->front != XenbusStateInitialising && (v->front != XenbusStateClosed || d->refused))
		return;
	if (!has_predecessor(d) && !must_wait(d))
		publish(d);
}

/* The first look at a device: a new device, or a device that a dead predecessor left. */
static void adopt(struct xen_device *d, const struct view *v)
{
	switch (v->own) {
	case XenbusStateUnknown: /* the toolstack is not done */
		return;
	case XenbusStateInitialising:
	case XenbusStateInitWait:
		d->state = XenbusStateInitialising;
		return;
	case XenbusStateClosed:
		d->state = XenbusStateClosed;
		return;
	default:
		log_device(LOG_LEVEL_INFO, d->conn.name,
			   "left in state %s by an earlier vreadd: closing; the frontend will "
			   "reconnect",
			   xen_state_name(v->own));
		to_closed(d);
	}
}

/* Begins as with a new device. */
static void forget_failures(struct xen_device *d)
{
	d->refused = d->unwritten = false;
	d->retry_ms = 0;
}

/* vreadd writes "state", but a toolstack resets it to set up or to close the device. */
static void follow_toolstack(struct xen_device *d, const struct view *v)
{
	if (v->own == d->state || d->state == XenbusStateUnknown)
		return;
	if (v->own == XenbusStateClosing && d->state != XenbusStateClosed) {
		log_device(LOG_LEVEL_INFO, d->conn.name, "the toolstack closes the device");
		to_closed(d);
	} else if (v->own == XenbusStateInitialising) {
		if (!xen_disconnect(d))
			return;
		log_device(LOG_LEVEL_INFO, d->conn.name,
			   "the toolstack has set up the device again");
		d->state = XenbusStateInitialising;
		forget_failures(d);
	}
}

static void step(struct xen_device *d, const struct view *v)
{
	if (d->state == XenbusStateUnknown)
		adopt(d, v);
	if (d->state == XenbusStateClosing)
		to_closed(d);
	if (d->state == XenbusStateInitialising && v->online && !has_predecessor(d))
		publish(d);
	switch (d->state) {
	case XenbusStateInitWait:
		in_init_wait(d, v);
		break;
	case XenbusStateConnected:
		in_connected(d, v);
		break;
	default:
		break;
	}
	if (d->state == XenbusStateClosed)
		in_closed(d, v);
}

/* ---- is it there at all ---------------------------------------------------------------- */

/* Removes what the device of a gone domain left; nobody else does. */
static void remove_all(struct xen_device *d)
{
	struct xs_handle *xs = d->port->xs;

	if (!xen_disconnect(d))
		return;
	log_device(LOG_LEVEL_INFO, d->conn.name,
		   "domain %u is gone: removing its backend directory", d->domid);
	clear_report(d);
	store_remove(xs, "%s", d->backend_path);
	store_remove_if_empty(xs, "/local/domain/%u/backend/vread/%u", d->port->domid, d->domid);
	d->gone = true;
}

/* True also if xenstored does not tell. */
static bool path_exists(struct xs_handle *xs, const char *path)
{
	unsigned count;
	char **names = store_list(xs, &count, "%s", path);

	free(names);
	return names || errno != ENOENT;
}

/*
 * A domain has its nodes before it is introduced. A toolstack removes the nodes together with the
 * domain.
 */
static bool domain_is_gone(const struct xen_device *d)
{
	char path[48];

	snprintf(path, sizeof(path), "/local/domain/%u", d->domid);
	return !store_has_domain(d->port->xs, d->domid) && !path_exists(d->port->xs, path);
}

/*
 * True if the domid now belongs to another domain than at the first look: a domid can be reused.
 * The vm node names the domain's unique id. Only the toolstack writes that node.
 */
static bool domain_changed(struct xen_device *d)
{
	char *vm = NULL;
	bool changed;

	if (store_read(d->port->xs, XBT_NULL, &vm, "/local/domain/%u/vm", d->domid))
		return false;
	changed = d->vm && strcmp(d->vm, vm) != 0;
	if (d->vm)
		free(vm);
	else
		d->vm = vm;
	return changed;
}

/* Goes on with another domain of the same domid. */
static void adopt_domain(struct xen_device *d)
{
	log_device(LOG_LEVEL_INFO, d->conn.name, "domain %u is another domain now", d->domid);
	free(d->vm);
	d->vm = NULL;
	domain_changed(d); /* remembers the vm node */
	d->state = XenbusStateUnknown;
	forget_failures(d);
	d->domain->connects = d->domain->looks = (struct pace){0};
}

/* True if the state machine is to run. Sets d->gone if the domain is gone. */
static bool check_domain(struct xen_device *d, const struct view *v)
{
	bool fresh = v->own == XenbusStateInitialising; /* just written by the toolstack */

	if (!store_has_domain(d->port->xs, d->domid)) {
		if (d->introduced || !fresh || domain_is_gone(d))
			remove_all(d);
		return false;
	}
	d->introduced = true;
	if (!domain_changed(d))
		return true;
	if (!fresh) {
		remove_all(d);
		return false;
	}
	if (!xen_disconnect(d))
		return false;
	adopt_domain(d);
	return true;
}

static int read_frontend_path(struct xen_device *d)
{
	char prefix[64];
	int r;

	if (d->frontend_path)
		return 0;
	r = store_read(d->port->xs, XBT_NULL, &d->frontend_path, "%s/" VREAD_NODE_FRONTEND,
		       d->backend_path);
	if (r)
		return r;
	snprintf(prefix, sizeof(prefix), "/local/domain/%u/", d->domid);
	if (strncmp(d->frontend_path, prefix, strlen(prefix)) == 0) {
		char path[STORE_MAX_PATH], token[48];

		snprintf(path, sizeof(path), "%s/" VREAD_NODE_STATE, d->frontend_path);
		snprintf(token, sizeof(token), "front/%u/%u", d->domid, d->id);
		if (xs_watch(d->port->xs, path, token))
			return 0;
		r = -errno;
		log_device(LOG_LEVEL_ERROR, d->conn.name, "cannot watch %s: %s", path,
			   strerror(-r));
	} else {
		r = -EINVAL;
		log_device(LOG_LEVEL_ERROR, d->conn.name, "frontend: %s: expected a path below %s",
			   d->frontend_path, prefix);
	}
	free(d->frontend_path);
	d->frontend_path = NULL;
	return r;
}

static void unwatch(struct xen_device *d)
{
	char path[STORE_MAX_PATH], token[48];

	if (!d->frontend_path)
		return;
	snprintf(path, sizeof(path), "%s/" VREAD_NODE_STATE, d->frontend_path);
	snprintf(token, sizeof(token), "front/%u/%u", d->domid, d->id);
	xs_unwatch(d->port->xs, path, token);
}

/*
 * Returns the frontend's state. A frontend may write anything there; a value that is no state
 * counts as Unknown.
 */
static enum xenbus_state read_front(struct xen_device *d)
{
	uint32_t state;

	if (store_read_number(d->port->xs, XenbusStateReconfigured, &state, "%s/" VREAD_NODE_STATE,
			      d->frontend_path))
		return XenbusStateUnknown;
	return state;
}

/*
 * 0 and the view; -ENOENT: the device no longer exists; other errors: the nodes cannot be read now.
 */
static int look(struct xen_device *d, struct view *ret)
{
	uint32_t own, online = 1;
	int r = store_read_number(d->port->xs, XenbusStateReconfigured, &own,
				  "%s/" VREAD_NODE_STATE, d->backend_path);

	if (r)
		return r;
	r = read_frontend_path(d);
	if (r)
		return r == -ENOENT ? -EAGAIN : r;
	r = store_read_number(d->port->xs, 1, &online, "%s/" VREAD_NODE_ONLINE, d->backend_path);
	if (r && r != -ENOENT)
		return r;
	*ret = (struct view){.own = own, .front = read_front(d), .online = online};
	return 0;
}

/*
 * Called when look() failed: the toolstack has removed the device, or has not finished it, or never
 * will.
 */
static void cannot_look(struct xen_device *d, int err)
{
	if (path_exists(d->port->xs, d->backend_path) && domain_is_gone(d)) {
		remove_all(d);
	} else if (err == -ENOENT) {
		if (!xen_disconnect(d))
			return;
		if (d->state != XenbusStateUnknown)
			log_device(LOG_LEVEL_INFO, d->conn.name, "removed");
		clear_report(d);
		d->gone = true;
	} else {
		log_device(LOG_LEVEL_DEBUG, d->conn.name, "cannot read its nodes: %s",
			   strerror(-err));
		if (err != -EAGAIN && err != -EINVAL) /* no watch tells when they can be read */
			retry_later(d);
	}
}

void xen_device_update(struct xen_device *d)
{
	struct view v;
	int r;

	d->dirty = false;
	if (d->ending)
		return;
	r = look(d, &v);
	if (r) {
		cannot_look(d, r);
		return;
	}
	if (!check_domain(d, &v))
		return;
	follow_toolstack(d, &v);
	if (d->unwritten)
		set_state(d, d->state);
	step(d, &v);
}

static void on_late(void *device)
{
	struct xen_device *d = device;

	d->late = timer_free(d->late);
	xen_device_front_changed(d);
	xen_port_update(d->port);
}

void xen_device_front_changed(struct xen_device *d)
{
	uint64_t now = clock_ms(), ms = pace_wait(&d->domain->looks, &looks, now);

	if (d->dirty || d->late)
		return;
	if (ms && timer_start(&d->late, d->port->event, ms, on_late, d) == 0)
		return;
	pace_use(&d->domain->looks, &looks, now);
	d->dirty = true;
}

void xen_device_fail(struct xen_device *d, const char *reason)
{
	char text[XEN_ERROR_SIZE];

	snprintf(text, sizeof(text), "protocol error: %s", reason);
	refuse(d, -EPROTO, text, XEN_FAULT_FRONTEND);
}

void xen_device_shutdown(struct xen_device *d)
{
	if (d->state == XenbusStateConnected)
		to_closed(d);
}

void xen_device_ended(struct xen_device *d)
{
	if (d->port->closing) {
		to_closed(d);
		return;
	}
	d->dirty = true;
	for (struct xen_device *other = d->port->devices; other; other = other->next)
		other->dirty |= is_reborn(other, d);
	xen_port_update(d->port);
}

struct xen_device *xen_device_new(struct xen_port *port, uint32_t domid, uint32_t id)
{
	struct xen_domain *domain = xen_port_domain(port, domid);
	struct xen_device *d = domain ? calloc(1, sizeof(*d)) : NULL;

	if (!d || asprintf(&d->backend_path, "/local/domain/%u/backend/vread/%u/%u", port->domid,
			   domid, id) < 0) {
		log_error("xen:%u/%u: out of memory", domid, id);
		free(d);
		return NULL;
	}
	d->port = port;
	d->domain = domain;
	d->domain->devices++;
	d->domid = domid;
	d->id = id;
	snprintf(d->conn.name, sizeof(d->conn.name), "xen:%u/%u", domid, id);
	return d;
}

void xen_device_free(struct xen_device *d)
{
	unwatch(d);
	xen_disconnect(d);
	timer_free(d->retry);
	timer_free(d->late);
	d->domain->devices--;
	free(d->backend_path);
	free(d->frontend_path);
	free(d->vm);
	free(d);
}
