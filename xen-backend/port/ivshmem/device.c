// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements device.h: the backend's half of the states that vread-ivshmem.h draws. ivshmem.c calls
 * it.
 *
 * The backend rests in one of four states: Initialising (nothing was offered yet), InitWait,
 * Connected, Closed. Closing lasts until the session has ended, which may have to wait for a disk.
 * Then the device is updated, and a new offer follows. The frontend's word of another epoch than
 * the newest offer's says nothing, so no frontend can answer an offer that it has not seen.
 */
#include "port/ivshmem/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timer.h"
#include "port/doorbell.h"

#define MAX_EPOCH ((1U << 24) - 1)

/* A refused frontend gets no new offer for this time. */
#define REFUSED_MS 1000U

/* A frontend that breaks the protocol again and again stays Closed for a minute each time. */
static const struct pace_limit violations = {.burst = 5, .each_ms = 60000};

/*
 * A frontend that has closed too many offers stays Closed for a while. So it takes little of the
 * control thread's time, and others are not delayed.
 */
static const struct pace_limit offers = {.burst = 60, .each_ms = 1000};

/* Nor does a frontend take much time that rings vector 0 as fast as it can. */
static const struct pace_limit rings = {.burst = 100, .each_ms = 10};

const char *ivshmem_state_name(enum xenbus_state state)
{
	static const char *const names[] = {
		"Unknown",   "Initialising", "InitWait", "Initialised",
		"Connected", "Closing",      "Closed",
	};

	return state <= XenbusStateClosed ? names[state] : "Unknown";
}

/* ---- what workers call ------------------------------------------------------------- */

static struct ivshmem_device *device_of(struct port_conn *conn)
{
	return (struct ivshmem_device *)((char *)conn - offsetof(struct ivshmem_device, conn));
}

static int event_fd(struct port_conn *conn, unsigned q)
{
	return device_of(conn)->share.epoll[q];
}

static int event_take(struct port_conn *conn, unsigned q)
{
	return doorbell_take(device_of(conn)->share.epoll[q]);
}

/* Nothing to do; see doorbell_take(). */
static void event_rearm(struct port_conn *conn, unsigned q)
{
	(void)conn, (void)q;
}

static void notify(struct port_conn *conn, unsigned q)
{
	doorbell_ring(device_of(conn)->share.to_guest[VREAD_IVSHMEM_VECTOR_QUEUE(q)]);
}

static void fail(struct port_conn *conn, const char *reason)
{
	struct ivshmem_device *d = device_of(conn);
	const char *none = NULL;

	atomic_compare_exchange_strong(&d->failure, &none, reason);
	eventfd_write(d->port->failed_fd, 1);
}

static void ended(struct port_conn *conn);

static const struct port_conn_ops conn_ops = {
	.event_fd = event_fd,
	.event_take = event_take,
	.event_rearm = event_rearm,
	.notify = notify,
	.fail = fail,
	.ended = ended,
};

/* ---- states ------------------------------------------------------------------------ */

static void set_state(struct ivshmem_device *d, enum xenbus_state state)
{
	struct vread_ivshmem_control *control = ivshmem_share_control(&d->share);

	log_device(LOG_LEVEL_DEBUG, d->conn.name, "%s -> %s", ivshmem_state_name(d->state),
		   ivshmem_state_name(state));
	d->state = state;
	__atomic_store_n(&control->backend, VREAD_IVSHMEM_WORD(d->epoch, state), __ATOMIC_SEQ_CST);
	bell_ring(d->port->bell, d->share.to_guest[VREAD_IVSHMEM_VECTOR_STATE]);
}

/* Returns false if the session has to end first. Call it again then. */
static bool to_closed(struct ivshmem_device *d)
{
	if (d->state == XenbusStateClosed)
		return true;
	if (d->state != XenbusStateClosing)
		set_state(d, XenbusStateClosing);
	if (d->session && !d->ending) {
		d->ending = true;
		d->port->events.disconnect(d->port->events.ctx, d->session);
	}
	if (d->session)
		return false;
	ivshmem_share_unwatch(&d->share);
	ivshmem_share_set_alive(&d->share, false);
	policy_free(d->policy);
	d->policy = NULL;
	d->conn.num_queues = d->conn.pool_pages = d->ring_pages = 0;
	set_state(d, XenbusStateClosed);
	return true;
}

static void on_retry(void *device)
{
	struct ivshmem_device *d = device;

	d->retry = timer_free(d->retry);
	ivshmem_device_update(d);
}

/* Closes the device. It gets no new offer for `ms`. */
static void pause_for(struct ivshmem_device *d, uint64_t ms)
{
	int r = timer_start(&d->retry, d->port->event, ms, on_retry, d);

	if (r)
		log_device(LOG_LEVEL_ERROR, d->conn.name, "cannot start a timer: %s", strerror(-r));
	to_closed(d);
}

static void refuse(struct ivshmem_device *d, int err, const char *text)
{
	uint64_t now = clock_ms();
	bool again = false;

	if (err == -EPROTO || err == -EINVAL) {
		pace_use(&d->guest->violations, &violations, now);
		again = pace_wait(&d->guest->violations, &violations, now) > 0;
	}
	snprintf(d->last_error, sizeof(d->last_error), "%d %s", -err, text);
	log_event(LOG_EVENT_DEVICE_REFUSED, LOG_LEVEL_WARN, d->conn.name, "refused: %s%s", text,
		  again ? "; it breaks the protocol too often, and stays closed for a minute" : "");
	pause_for(d, again ? violations.each_ms : REFUSED_MS);
}

/* ---- the offer --------------------------------------------------------------------- */

static const struct ivshmem_rights *rights_of(const struct ivshmem_device *d)
{
	const struct ivshmem_port *p = d->port;

	for (size_t i = 0; i < p->num_rights; i++)
		if (strcmp(p->rights[i].name, d->guest->name) == 0)
			return &p->rights[i];
	return NULL;
}

/* Tells once that there are none. */
static bool has_rights(struct ivshmem_device *d)
{
	char text[sizeof(d->last_error)];

	if (rights_of(d))
		return true;
	snprintf(text, sizeof(text),
		 "no section [ivshmem %s] in the configuration: write it, then xl-vread reload",
		 d->guest->name);
	if (strcmp(text, d->last_error) != 0)
		log_device(LOG_LEVEL_WARN, d->conn.name, "%s", text);
	memcpy(d->last_error, text, sizeof(text));
	return false;
}

/* NULL: failed (logged). */
static struct policy *make_policy(const struct ivshmem_device *d, const struct ivshmem_rights *r)
{
	const char *wrong = NULL;
	struct policy *p = policy_new(r->role, r->allow_datanodes, r->allow_pools, &wrong);

	if (p)
		wrong = policy_set_publish(p, r->publish_datanodes)
				?: policy_set_unnamed(p, r->unnamed_datanodes);
	if (p && !wrong)
		return p;
	log_device(LOG_LEVEL_ERROR, d->conn.name, "[ivshmem %s]: expected %s", d->guest->name,
		   wrong);
	policy_free(p);
	return NULL;
}

/* Tells once that the session of the guest's last QEMU has not ended. */
static bool has_predecessor(struct ivshmem_device *d)
{
	static const char text[] = "the device of the last QEMU still waits for a disk";
	const struct ivshmem_device *older = d->next;

	while (older && older->guest != d->guest)
		older = older->next;
	if (older && strcmp(text, d->last_error) != 0)
		log_device(LOG_LEVEL_WARN, d->conn.name, "%s: it gets no offer until then", text);
	if (older)
		memcpy(d->last_error, text, sizeof(text));
	return older;
}

/* True if the frontend must wait for an offer. */
static bool must_wait(struct ivshmem_device *d)
{
	struct ivshmem_guest *g = d->guest;
	const char *why = "it breaks the protocol too often";
	uint64_t now = clock_ms(), ms = pace_wait(&g->violations, &violations, now);

	if (!ms) {
		why = "it connects too often: expected at most one connect a second";
		ms = pace_wait(&g->offers, &offers, now);
	}
	if (!ms) {
		pace_use(&g->offers, &offers, now);
		return false;
	}
	g->num_delayed++;
	snprintf(d->last_error, sizeof(d->last_error), "%d %s", EAGAIN, why);
	log_device(LOG_LEVEL_WARN, d->conn.name, "%s; it waits", d->last_error);
	pause_for(d, ms);
	return true;
}

static void write_offer(struct ivshmem_device *d)
{
	struct vread_ivshmem_control *c = ivshmem_share_control(&d->share);
	const bool datanode = policy_role(d->policy) == POLICY_DATANODE;

	__atomic_store_n(&c->offered_version, VREAD_PROTOCOL_VERSION, __ATOMIC_RELAXED);
	__atomic_store_n(&c->flags,
			 VREAD_IVSHMEM_PUBLISH | VREAD_IVSHMEM_USER |
				 (datanode ? VREAD_IVSHMEM_DATANODE : 0),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&c->max_queues, d->offer.max_queues, __ATOMIC_RELAXED);
	__atomic_store_n(&c->max_ring_page_order, d->offer.max_ring_page_order, __ATOMIC_RELAXED);
	__atomic_store_n(&c->pool_first, d->offer.pool_first, __ATOMIC_RELAXED);
	__atomic_store_n(&c->pool_pages, d->offer.pool_pages, __ATOMIC_RELAXED);
}

/* Returns false if the frontend gets no offer now. */
static bool make_offer(struct ivshmem_device *d)
{
	if (d->retry || d->port->closing || !has_rights(d) || has_predecessor(d) || must_wait(d))
		return false;
	d->policy = make_policy(d, rights_of(d));
	if (!d->policy)
		return false;
	d->epoch = d->epoch >= MAX_EPOCH ? 1 : d->epoch + 1;
	write_offer(d);
	set_state(d, XenbusStateInitWait);
	return true;
}

/* ---- the session ------------------------------------------------------------------- */

static int start_session(struct ivshmem_device *d, const struct ivshmem_answer *a, char *error)
{
	struct port_events *events = &d->port->events;
	int err = ENOMEM;

	d->conn.ops = &conn_ops;
	d->conn.policy = d->policy;
	atomic_store(&d->conn.may_publish, true); /* the policy says for which datanodes */
	d->conn.pool = d->share.memory + (size_t)d->offer.pool_first * VREAD_PAGE_SIZE;
	d->conn.pool_pages = d->offer.pool_pages;
	d->conn.num_queues = a->num_queues;
	d->ring_pages = 1U << a->ring_page_order;
	for (unsigned q = 0; q < a->num_queues; q++) {
		d->conn.queue[q].sring = d->share.memory + ivshmem_offer_ring(&d->offer, q);
		d->conn.queue[q].ring_bytes = d->ring_pages * VREAD_PAGE_SIZE;
	}
	atomic_store(&d->failure, NULL);
	d->session = events->connect(events->ctx, &d->conn, &err);
	if (d->session)
		return 0;
	snprintf(error, IVSHMEM_ERROR_SIZE, "cannot start a session: %s", strerror(err));
	return -err;
}

static void connect_frontend(struct ivshmem_device *d)
{
	struct ivshmem_answer answer = ivshmem_answer_read(ivshmem_share_control(&d->share));
	char error[IVSHMEM_ERROR_SIZE];
	int r = ivshmem_answer_check(&answer, &d->offer, error);

	if (r) {
		refuse(d, r, error);
		return;
	}
	r = ivshmem_share_watch(&d->share, answer.num_queues);
	if (r)
		snprintf(error, sizeof(error), "cannot watch its doorbells: %s", strerror(-r));
	else
		r = start_session(d, &answer, error);
	if (r) {
		refuse(d, r == -EINVAL ? -EIO : r, error);
		return;
	}
	d->last_error[0] = '\0';
	log_event(LOG_EVENT_DEVICE_CONNECTED, LOG_LEVEL_INFO, d->conn.name,
		  "connected: %u queues of %u pages, %u pool pages, role %s", d->conn.num_queues,
		  d->ring_pages, d->conn.pool_pages,
		  policy_role(d->policy) == POLICY_CLIENT ? "client" : "datanode");
	ivshmem_share_set_alive(&d->share, true);
	set_state(d, XenbusStateConnected);
}

static void ended(struct port_conn *conn)
{
	struct ivshmem_device *d = device_of(conn);

	d->session = NULL;
	d->ending = false;
	log_device(LOG_LEVEL_INFO, d->conn.name, "disconnected");
	to_closed(d);
	ivshmem_device_update(d);
}

/* ---- the frontend's word ----------------------------------------------------------- */

/* True if the frontend wants to go on in our state. */
static bool goes_on(const struct ivshmem_device *d, uint32_t front)
{
	if (d->state == XenbusStateInitWait)
		return front == XenbusStateInitialising || front == XenbusStateInitialised;
	return front == XenbusStateInitialised || front == XenbusStateConnected;
}

/* Returns true if the device was closed, and is to be updated again. */
static bool follow_frontend(struct ivshmem_device *d)
{
	uint32_t word =
		__atomic_load_n(&ivshmem_share_control(&d->share)->frontend, __ATOMIC_ACQUIRE);
	uint32_t front = VREAD_IVSHMEM_STATE(word);

	if (VREAD_IVSHMEM_EPOCH(word) != d->epoch)
		return false;
	if (!goes_on(d, front)) {
		log_device(LOG_LEVEL_INFO, d->conn.name, "closing: frontend is %s",
			   ivshmem_state_name(front));
		return to_closed(d);
	}
	if (d->state == XenbusStateInitWait && front == XenbusStateInitialised)
		connect_frontend(d);
	return false;
}

/* Then it is its successor's turn. */
static void free_gone(struct ivshmem_device *d)
{
	struct ivshmem_device *next = d->port->devices;

	while (next->guest != d->guest)
		next = next->next;
	if (next == d)
		next = NULL;
	ivshmem_device_free(d);
	if (next)
		ivshmem_device_update(next);
}

/* The loop ends, because each offer has an epoch that no frontend knows yet, and offers are
 * limited. */
void ivshmem_device_update(struct ivshmem_device *d)
{
	bool again = true;

	if (d->gone && !d->session) {
		free_gone(d);
		return;
	}
	while (again && !d->ending && !d->gone) {
		again = false;
		if (d->state == XenbusStateInitialising || d->state == XenbusStateClosed)
			again = make_offer(d);
		else
			again = follow_frontend(d);
	}
}

static void on_calm(void *device)
{
	struct ivshmem_device *d = device;

	d->calm = timer_free(d->calm);
	sd_event_source_set_enabled(d->doorbell, SD_EVENT_ON);
	ivshmem_device_update(d);
}

static int on_doorbell(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct ivshmem_device *d = userdata;
	uint64_t now = clock_ms(), ms = pace_wait(&d->guest->rings, &rings, now);

	(void)fd, (void)events;
	if (ms && timer_start(&d->calm, d->port->event, ms, on_calm, d) == 0) {
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
		return 0;
	}
	pace_use(&d->guest->rings, &rings, now);
	ivshmem_device_update(d);
	return 0;
}

/* ---- what the port calls ----------------------------------------------------------- */

void ivshmem_device_fail(struct ivshmem_device *d, const char *reason)
{
	char text[IVSHMEM_ERROR_SIZE];

	snprintf(text, sizeof(text), "protocol error: %s", reason);
	refuse(d, -EPROTO, text);
}

void ivshmem_device_leave(struct ivshmem_device *d, bool qemu_ended)
{
	d->gone = true;
	d->qemu_ended = qemu_ended;
	to_closed(d);
	ivshmem_device_update(d);
}

void ivshmem_device_shutdown(struct ivshmem_device *d)
{
	to_closed(d);
}

static void close_for(struct ivshmem_device *d, const char *why)
{
	log_device(LOG_LEVEL_INFO, d->conn.name, "closing: %s", why);
	if (to_closed(d))
		ivshmem_device_update(d);
}

void ivshmem_device_follow_rights(struct ivshmem_device *d)
{
	const struct ivshmem_rights *r = rights_of(d);
	struct policy *policy = r && d->policy ? make_policy(d, r) : NULL;

	if (!d->policy) {
		ivshmem_device_update(d);
	} else if (!policy) {
		close_for(d, "the configuration gives it no rights");
	} else if (policy_role(policy) != policy_role(d->policy)) {
		close_for(d, "its role has changed");
	} else if (!policy_equals(d->policy, policy)) {
		policy_replace(d->policy, policy);
		policy = NULL;
		log_device(LOG_LEVEL_INFO, d->conn.name, "its rights have changed");
	}
	policy_free(policy);
}

static int watch_doorbell(struct ivshmem_device *d)
{
	int r = sd_event_add_io(d->port->event, &d->doorbell,
				d->share.to_host[VREAD_IVSHMEM_VECTOR_STATE], EPOLLIN | EPOLLET,
				on_doorbell, d);

	return r < 0 ? r : 0;
}

struct ivshmem_device *ivshmem_device_new(struct ivshmem_port *port, struct ivshmem_guest *guest,
					  const struct ivshmem_message *come, int *fds,
					  unsigned num_fds)
{
	struct ivshmem_device *d = calloc(1, sizeof(*d));
	int r;

	if (!d || !guest) {
		free(d);
		for (unsigned i = 0; i < num_fds; i++)
			close(fds[i]);
		log_error("kvm:%s: out of memory", come->name);
		return NULL;
	}
	d->port = port;
	d->connection = come->connection;
	d->state = XenbusStateInitialising;
	d->guest = guest;
	snprintf(d->conn.name, sizeof(d->conn.name), "kvm:%s", come->name);
	r = ivshmem_share_take(&d->share, come, fds, num_fds);
	if (!r)
		r = watch_doorbell(d);
	if (r) {
		log_device(LOG_LEVEL_ERROR, d->conn.name, "cannot use its memory and doorbells: %s",
			   strerror(-r));
		ivshmem_share_destroy(&d->share, false);
		free(d);
		return NULL;
	}
	d->offer = ivshmem_offer_make(d->share.bytes, d->share.queues);
	d->epoch = VREAD_IVSHMEM_EPOCH(
		__atomic_load_n(&ivshmem_share_control(&d->share)->backend, __ATOMIC_RELAXED));
	d->next = port->devices;
	port->devices = d;
	return d;
}

void ivshmem_device_free(struct ivshmem_device *d)
{
	struct ivshmem_device **link = &d->port->devices;

	while (*link != d)
		link = &(*link)->next;
	*link = d->next;
	timer_free(d->retry);
	timer_free(d->calm);
	sd_event_source_disable_unref(d->doorbell);
	policy_free(d->policy);
	ivshmem_share_destroy(&d->share, d->qemu_ended);
	free(d);
}
