/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests the Xen port on fakes (fakexen/): every transition that vreadif.h draws, and every fault of
 * a guest or a toolstack.  After each test no page may be mapped and no handle or transaction open.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "read/store.h"
#include "eventually.h"
#include "fakexen/fakexen.h"
#include "own_clock.h"
#include "policy/policy.h"
#include "port/xen/xen.h"
#include "ring/session.h"

#define BACK "/local/domain/0/backend/vread"
#define DEVICE BACK "/7/0"
#define FRONT "/local/domain/7/device/vread/0"
#define ERROR_NODE "/local/domain/0/error/backend/vread/7/0/error"
#define BASE_WATCHES 3

/* The guest's references: rings from 1000, pool from 2000, directory from 500. */
#define RING_REF 1000U
#define POOL_REF 2000U
#define DIRECTORY_REF 500U
#define EVENT_PORT 30U

struct world {
	sd_event *event;
	struct xen_port *port;
	struct port_events events;
	unsigned connects, disconnects; /* stub sessions */
	bool refuse;                    /* connected() refuses */
	struct port_conn *conn;
	bool policy_allowed_dn1;
	bool hung; /* sessions do not end, because a disk hangs */
	struct port_conn *ending;
};

static char states[256];   /* the backend's states in the order written */
static bool mapped_closed; /* Closed was written with pages mapped */

static void on_write(const char *path, const char *value)
{
	if (strcmp(path, DEVICE "/state") != 0)
		return;
	strcat(states, value);
	if (strcmp(value, "6") == 0 && fake_mapped())
		mapped_closed = true;
}

static void *session_begin(void *ctx, struct port_conn *conn, int *ret_errno)
{
	struct world *w = ctx;

	if (w->refuse) {
		*ret_errno = 12;
		return NULL;
	}
	w->connects++;
	w->conn = conn;
	w->policy_allowed_dn1 = policy_allows_datanode(conn->policy, "dn1");
	return w;
}

static void session_end(void *ctx, void *session)
{
	struct world *w = session;

	assert_ptr_equal(ctx, session);
	assert_null(w->ending);
	w->disconnects++;
	w->ending = w->conn;
	w->conn = NULL;
}

/* Lets the session that is to end, if there is one, end.  Returns false if there is none. */
static bool end_session(struct world *w)
{
	struct port_conn *conn = w->ending;

	if (!conn || w->hung)
		return false;
	/* A worker could have written until now, so everything must still be mapped. */
	memset(conn->pool, 1, (size_t)conn->pool_pages * VREAD_PAGE_SIZE);
	w->ending = NULL;
	conn->ops->ended(conn);
	return true;
}

/* Handles all pending events. */
static void pump(struct world *w)
{
	do
		while (sd_event_run(w->event, 0) > 0)
			;
	while (end_session(w));
}

/* Runs the loop long enough that a timer sees that its time has come. */
static void run_a_while(struct world *w)
{
	for (int i = 0; i < 4; i++)
		sd_event_run(w->event, 8000);
}

static void start_port(struct world *w)
{
	struct xen_settings settings = {4, 2, 4096};

	assert_int_equal(xen_port_start(&w->port, w->event, &settings, &w->events), 0);
	pump(w);
}

static void stop_port(struct world *w)
{
	xen_port_close(w->port);
	w->hung = false;
	end_session(w);
	xen_port_free(w->port);
	w->port = NULL;
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	own_clock_start();
	log_set_level(getenv("VREAD_TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
	fake_reset();
	fake_on_write = on_write;
	states[0] = '\0';
	mapped_closed = false;
	sd_event_new(&w->event);
	w->events = (struct port_events){session_begin, session_end, w};
	*state = w;
	return 0;
}

/* Checks what must hold after every test. */
static int tear_down(void **state)
{
	struct world *w = *state;

	stop_port(w);
	assert_int_equal(fake_mapped(), 0);
	assert_int_equal(fake_gnttab_handles(), 0);
	assert_int_equal(fake_evtchn_handles(), 0);
	assert_int_equal(fake_open_transactions(), 0);
	assert_int_equal(w->connects, w->disconnects);
	assert_false(mapped_closed);
	sd_event_unref(w->event);
	free(w);
	return 0;
}

/* ---- the toolstack and the guest -------------------------------------------------- */

static void attach(const char *backend_state)
{
	fake_write("/vm/aaaa", "/local/domain/7/vm");
	fake_introduce(7);
	fake_write("1", FRONT "/state");
	fake_write(DEVICE, FRONT "/backend");
	fake_write(FRONT, DEVICE "/frontend");
	fake_write("7", DEVICE "/frontend-id");
	fake_write("1", DEVICE "/online");
	fake_write("client", DEVICE "/role");
	fake_write("dn1 dn2", DEVICE "/allow-datanodes");
	fake_write(backend_state, DEVICE "/state");
}

static void number(unsigned value, const char *node)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	fake_write(text, FRONT "/%s", node);
}

static void write_directory(unsigned pool_pages)
{
	unsigned pages = (pool_pages + 1022) / 1023;

	for (unsigned k = 0; k < pages; k++) {
		struct vread_pool_directory *d = (void *)fake_page(DIRECTORY_REF + k);

		memset(d, 0, sizeof(*d));
		d->gref_next_page = k + 1 < pages ? DIRECTORY_REF + k + 1 : 0;
		for (unsigned i = 0; i < 1023 && k * 1023 + i < pool_pages; i++)
			d->gref[i] = POOL_REF + k * 1023 + i;
	}
}

/* Writes everything that an honest frontend writes before Initialised. */
static void offer(unsigned queues, unsigned order, unsigned pool_pages)
{
	unsigned ref = RING_REF;
	char node[64];

	number(1, "version");
	fake_write("client", FRONT "/role");
	number(queues, "num-queues");
	number(order, "ring-page-order");
	number(pool_pages, "pool-pages");
	number(DIRECTORY_REF, "pool-directory");
	for (unsigned q = 0; q < queues; q++) {
		SHARED_RING_INIT((vread_sring_t *)fake_page(ref));
		for (unsigned m = 0; m < 1U << order; m++) {
			snprintf(node, sizeof(node), "queue-%u/ring-ref%u", q, m);
			number(ref++, node);
		}
		snprintf(node, sizeof(node), "queue-%u/event-channel", q);
		number(EVENT_PORT + q, node);
	}
	write_directory(pool_pages);
}

static void front_state(struct world *w, const char *value)
{
	fake_write(value, FRONT "/state");
	pump(w);
}

static void assert_state(const char *expected)
{
	assert_string_equal(fake_read(DEVICE "/state"), expected);
}

static void connect_one(struct world *w)
{
	attach("1");
	start_port(w);
	offer(1, 0, 16);
	front_state(w, "3");
	assert_state("4");
	front_state(w, "4");
	assert_int_equal(w->connects, 1);
}

/* Attaches device 3 of a domain, which gets the backend's state `expected`. */
static void attach_to(struct world *w, unsigned domid, const char *vm, const char *expected)
{
	char text[64];

	fake_write(vm, "/local/domain/%u/vm", domid);
	fake_introduce(domid);
	fake_write("1", "/local/domain/%u/device/vread/3/state", domid);
	snprintf(text, sizeof(text), "/local/domain/%u/device/vread/3", domid);
	fake_write(text, BACK "/%u/3/frontend", domid);
	fake_write("1", BACK "/%u/3/state", domid);
	pump(w);
	snprintf(text, sizeof(text), BACK "/%u/3/state", domid);
	assert_string_equal(fake_read(text), expected);
}

static void attach_another(struct world *w)
{
	attach_to(w, 8, "/vm/bbbb", "2");
}

static bool alive_byte(void)
{
	return fake_page(RING_REF)[VREAD_RING_ALIVE_OFFSET];
}

static void assert_error_has(const char *text)
{
	const char *error = fake_read(ERROR_NODE);

	assert_non_null(error);
	if (!strstr(error, text))
		fail_msg("\"%s\" is not in \"%s\"", text, error);
}

/* ---- connecting ---------------------------------------------------------------------- */

static void test_no_xenstore(void **state)
{
	struct world *w = *state;
	struct xen_settings settings = {1, 0, 16};

	fake_store_absent(true);
	assert_int_equal(xen_port_start(&w->port, w->event, &settings, &w->events), -ENODEV);
	assert_null(w->port);
}

static void test_publishes_and_waits(void **state)
{
	struct world *w = *state;

	attach("1");
	start_port(w);
	assert_string_equal(states, "2");
	assert_string_equal(fake_read(DEVICE "/versions"), "1");
	assert_string_equal(fake_read(DEVICE "/max-queues"), "4");
	assert_string_equal(fake_read(DEVICE "/max-ring-page-order"), "2");
	assert_string_equal(fake_read(DEVICE "/max-pool-pages"), "4096");
	assert_string_equal(fake_read(DEVICE "/feature-publish"), "1");
	assert_string_equal(fake_read(DEVICE "/feature-user"), "1");
	assert_int_equal(fake_map_calls(), 0);
}

static void assert_offered(const char *queues, const char *pool_pages)
{
	assert_string_equal(fake_read(DEVICE "/max-queues"), queues);
	assert_string_equal(fake_read(DEVICE "/max-pool-pages"), pool_pages);
}

/* The backend offers the smaller of the toolstack's limit for the device and the configuration. */
static void test_limits_of_one_device(void **state)
{
	struct world *w = *state;

	attach("1");
	fake_write("2", DEVICE "/limit-queues");
	fake_write("1024", DEVICE "/limit-pool-pages");
	start_port(w);
	assert_offered("2", "1024");
	offer(2, 0, 1025);
	front_state(w, "3");
	assert_state("6");
	assert_error_has("pool-pages: \"1025\": expected a number from 16 to 1024");
}

static void test_limits_above_what_is_configured(void **state)
{
	struct world *w = *state;

	attach("1");
	fake_write("8", DEVICE "/limit-queues");
	fake_write("32768", DEVICE "/limit-pool-pages");
	start_port(w);
	assert_offered("4", "4096");
}

/* A new configuration changes the next offer, not the current one. */
static void test_limits_that_are_configured_anew(void **state)
{
	struct xen_settings fewer = {1, 2, 16};
	struct world *w = *state;

	attach("1");
	start_port(w);
	xen_port_set_limits(w->port, &fewer);
	offer(4, 0, 4096);
	front_state(w, "3");
	assert_state("4");
	front_state(w, "5");
	front_state(w, "6");
	assert_state("2");
	assert_offered("1", "16");
}

/* Detaches, and attaches with another limit: the pool has the size of the new limit. */
static void test_a_pool_resized_by_attaching_anew(void **state)
{
	static const char *const limits[] = {"1024", "64", "4096"};
	static const unsigned pages[] = {1024, 64, 4096};
	struct world *w = *state;

	start_port(w);
	for (unsigned i = 0; i < 3; i++) {
		attach("1");
		fake_write(limits[i], DEVICE "/limit-pool-pages");
		pump(w);
		assert_offered("4", limits[i]);
		offer(1, 0, pages[i]);
		front_state(w, "3");
		assert_state("4");
		assert_int_equal(w->conn->pool_pages, pages[i]);
		fake_write("0", DEVICE "/online");
		pump(w);
		assert_state("6");
		assert_int_equal(fake_mapped(), 0);
		fake_remove(DEVICE);
		fake_remove(FRONT);
		pump(w);
		fake_remove("/local/domain/7");
		fake_release(7);
	}
}

static void test_limits_that_are_none(void **state)
{
	static const char *const bad[][2] = {
		{"limit-queues", "0"},      {"limit-queues", "9"},         {"limit-queues", "two"},
		{"limit-pool-pages", "15"}, {"limit-pool-pages", "32769"}, {"limit-pool-pages", ""},
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct world *w;

		tear_down(state);
		set_up(state);
		w = *state;
		attach("1");
		fake_write(bad[i][1], DEVICE "/%s", bad[i][0]);
		start_port(w);
		assert_string_equal(states, "56");
		assert_error_has(bad[i][0]);
		assert_error_has("expected a number from");
		assert_null(fake_read(DEVICE "/max-queues"));
	}
}

/* A wrong limit is reported once, however often it is read.  A right limit ends the error. */
static void test_a_wrong_limit_put_right(void **state)
{
	struct world *w = *state;

	attach("1");
	fake_write("many", DEVICE "/limit-queues");
	start_port(w);
	for (int tenths = 0; tenths < 13; tenths++) {
		fake_fire(DEVICE "/online");
		pump(w);
		own_clock_advance(100);
		run_a_while(w);
	}
	assert_string_equal(states, "56");
	assert_int_equal(fake_writes_of("error"), 1);
	fake_write("3", DEVICE "/limit-queues");
	pump(w);
	assert_state("2");
	assert_offered("3", "4096");
}

static void test_own_domid(void **state)
{
	struct world *w = *state;

	fake_write("3", "domid");
	fake_introduce(7);
	fake_write(FRONT, "/local/domain/3/backend/vread/7/0/frontend");
	fake_write("1", "/local/domain/3/backend/vread/7/0/state");
	start_port(w);
	assert_string_equal(fake_read("/local/domain/3/backend/vread/7/0/state"), "2");
}

static void test_connects(void **state)
{
	struct world *w = *state;

	connect_one(w);
	assert_string_equal(states, "24");
	assert_int_equal(fake_mapped(), 16 + 1 + 1);
	assert_true(alive_byte());
	assert_true(w->policy_allowed_dn1);
	assert_int_equal(w->conn->pool_pages, 16);
	assert_int_equal(w->conn->num_queues, 1);
	assert_int_equal(w->conn->queue[0].ring_bytes, 4096);
	w->conn->pool[5 * 4096 + 3] = 77;
	assert_int_equal(fake_page(POOL_REF + 5)[3], 77);
	assert_false(fake_was_writable(DIRECTORY_REF));
	assert_null(fake_read(ERROR_NODE));
}

/* The backend directory alone says for which datanodes a device may publish. */
static void test_a_datanode_may_publish(void **state)
{
	struct world *w = *state;

	connect_one(w);
	assert_false(policy_is_publisher(w->conn->policy));
	stop_port(w);
	attach("1");
	fake_write("datanode", DEVICE "/role");
	fake_write("dn2", DEVICE "/publish-datanodes");
	start_port(w);
	offer(1, 0, 16);
	fake_write("datanode", FRONT "/role");
	front_state(w, "3");
	assert_state("4");
	assert_true(policy_may_publish(w->conn->policy, "dn2"));
	assert_false(policy_may_publish(w->conn->policy, "dn1"));
}

/* The toolstack changes rights of a connected device, and the device stays connected. */
static void test_rights_change_while_connected(void **state)
{
	struct world *w = *state;

	connect_one(w);
	assert_true(policy_allows_datanode(w->conn->policy, "dn1"));
	fake_write("dn2", DEVICE "/allow-datanodes");
	fake_write("BP-1", DEVICE "/allow-pools");
	fake_write("dn3", DEVICE "/publish-datanodes");
	fake_write("dn2", DEVICE "/unnamed-datanodes");
	pump(w);
	assert_state("4");
	assert_false(policy_allows_datanode(w->conn->policy, "dn1"));
	assert_true(policy_allows_datanode(w->conn->policy, "dn2"));
	assert_false(policy_allows_pool(w->conn->policy, "BP-2"));
	assert_true(policy_may_publish(w->conn->policy, "dn3"));
	assert_true(policy_takes_unnamed(w->conn->policy, "dn2"));
	fake_remove(DEVICE "/allow-datanodes");
	pump(w);
	assert_state("4");
	assert_false(policy_allows_datanode(w->conn->policy, "dn2"));
}

/* Rights that cannot be understood are no rights: the device is closed. */
static void test_malformed_rights_close_the_device(void **state)
{
	struct world *w = *state;

	connect_one(w);
	fake_write("dn1  dn2", DEVICE "/allow-datanodes");
	pump(w);
	assert_state("6");
	assert_error_has("exactly one space");
}

static void test_connects_at_its_limits(void **state)
{
	struct world *w = *state;

	attach("1");
	start_port(w);
	offer(4, 2, 4096); /* five directory pages */
	front_state(w, "3");
	assert_state("4");
	assert_int_equal(fake_mapped(), 4096 + 4 * 4 + 1);
	w->conn->pool[4095 * 4096] = 99;
	assert_int_equal(fake_page(POOL_REF + 4095)[0], 99);
}

static void test_status_tells(void **state)
{
	struct world *w = *state;
	json_t *devices, *d;

	connect_one(w);
	devices = xen_port_devices(w->port);
	assert_int_equal(json_array_size(devices), 1);
	d = json_array_get(devices, 0);
	assert_string_equal(json_string_value(json_object_get(d, "name")), "xen:7/0");
	assert_string_equal(json_string_value(json_object_get(d, "state")), "Connected");
	assert_string_equal(json_string_value(json_object_get(d, "role")), "client");
	assert_int_equal(json_integer_value(json_object_get(d, "pool_pages")), 16);
	assert_int_equal(json_integer_value(json_object_get(d, "max_queues")), 4);
	assert_int_equal(json_integer_value(json_object_get(d, "max_pool_pages")), 4096);
	json_decref(devices);
}

/* With a real session behind the port, requests on the ring are answered. */
static void test_requests_are_answered(void **state)
{
	struct world *w = *state;
	struct block_store *store = block_store_new();
	struct session_server *server = session_server_new(store, NULL, w->event);
	vread_sring_t *sring = (vread_sring_t *)fake_page(RING_REF);
	vread_front_ring_t ring;

	w->events = session_server_events(server);
	attach("1");
	start_port(w);
	offer(1, 0, 16);
	front_state(w, "3");
	assert_state("4");
	FRONT_RING_INIT(&ring, sring, VREAD_PAGE_SIZE);
	for (uint16_t i = 0; i < 100; i++) {
		struct vread_request *r = RING_GET_REQUEST(&ring, ring.req_prod_pvt++);
		int notify;

		memset(r, 0, sizeof(*r));
		r->id = i % 32;
		r->operation = VREAD_OP_STAT;
		r->handle = 9;
		RING_PUSH_REQUESTS_AND_CHECK_NOTIFY(&ring, notify);
		if (notify)
			fake_event(EVENT_PORT);
		eventually(RING_HAS_UNCONSUMED_RESPONSES(&ring));
		assert_int_equal(RING_GET_RESPONSE(&ring, ring.rsp_cons)->status, -EBADF);
		assert_int_equal(RING_GET_RESPONSE(&ring, ring.rsp_cons)->id, i % 32);
		ring.rsp_cons++;
		sring->rsp_event = ring.rsp_cons + 1;
	}
	assert_true(fake_notified(EVENT_PORT) > 0);

	/* The frontend breaks the ring; the worker reports this to the state machine. */
	ring.sring->req_prod += 1000;
	fake_event(EVENT_PORT);
	eventually((pump(w), strcmp(fake_read(DEVICE "/state"), "6") == 0));
	assert_error_has("request producer index beyond the ring");
	assert_int_equal(fake_mapped(), 0);
	assert_false(alive_byte());
	stop_port(w);
	session_server_free(server);
	block_store_free(store);
}

/* ---- offers to refuse ------------------------------------------------------------------- */

static void test_absurd_numbers(void **state)
{
	static const struct {
		const char *node, *value; /* value NULL: absent */
	} cases[] = {
		{"version", "0"},
		{"version", "2"},
		{"version", NULL},
		{"version", "1 "},
		{"role", "datanode"},
		{"role", NULL},
		{"num-queues", "0"},
		{"num-queues", "5"},
		{"num-queues", "4294967295"},
		{"num-queues", "4294967296"},
		{"num-queues", "18446744073709551617"},
		{"num-queues", "-1"},
		{"num-queues", "+1"},
		{"num-queues", "01"},
		{"num-queues", " 1"},
		{"num-queues", "1x"},
		{"num-queues", "0x1"},
		{"num-queues", ""},
		{"num-queues", NULL},
		{"ring-page-order", "3"},
		{"ring-page-order", "31"},
		{"ring-page-order", NULL},
		{"pool-pages", "15"},
		{"pool-pages", "4097"},
		{"pool-pages", "1048576"},
		{"pool-pages", NULL},
		{"pool-directory", "0"},
		{"pool-directory", "4294967296"},
		{"pool-directory", NULL},
		{"queue-0/ring-ref0", "0"},
		{"queue-0/ring-ref0", "none"},
		{"queue-0/ring-ref1", NULL},
		{"queue-1/ring-ref0", NULL},
		{"queue-0/event-channel", "0"},
		{"queue-0/event-channel", "131072"},
		{"queue-1/event-channel", NULL},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world *w;

		tear_down(state);
		set_up(state);
		w = *state;
		attach("1");
		start_port(w);
		offer(2, 1, 16);
		if (cases[i].value)
			fake_write(cases[i].value, FRONT "/%s", cases[i].node);
		else
			fake_remove(FRONT "/%s", cases[i].node);
		front_state(w, "3");
		assert_state("6");
		assert_string_equal(states, "256");
		assert_error_has(cases[i].node);
		assert_error_has("expected");
		assert_int_equal(w->connects, 0);
		assert_int_equal(fake_map_calls(), 0);
		front_state(w, "6");
		assert_state("6"); /* until the frontend goes to Initialising */
	}
}

static void test_an_endless_value_is_cut_in_the_message(void **state)
{
	struct world *w = *state;
	char value[2000];

	memset(value, '9', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	value[3] = '\n';
	attach("1");
	start_port(w);
	offer(1, 0, 16);
	fake_write(value, FRONT "/num-queues");
	front_state(w, "3");
	assert_error_has("\"999?9999");
	assert_true(strlen(fake_read(ERROR_NODE)) < 200);
}

static void test_refused_until_initialising(void **state)
{
	struct world *w = *state;

	attach("1");
	start_port(w);
	offer(1, 0, 16);
	number(99, "num-queues");
	front_state(w, "3");
	front_state(w, "6");
	assert_string_equal(states, "256");
	front_state(w, "1");
	own_clock_advance(999);
	run_a_while(w);
	assert_state("6"); /* not at once */
	front_state(w, "6");
	own_clock_advance(1);
	run_a_while(w);
	assert_string_equal(states, "256"); /* and not while it is Closed */
	number(0, "num-queues");
	front_state(w, "1");
	front_state(w, "3");
	assert_string_equal(states, "256256");
	front_state(w, "1");
	run_a_while(w);
	own_clock_advance(1999);
	run_a_while(w);
	assert_state("6"); /* the second time takes twice as long */
	own_clock_advance(1);
	eventually((pump(w), strcmp(fake_read(DEVICE "/state"), "2") == 0));
	number(1, "num-queues");
	front_state(w, "3");
	assert_state("4");
	assert_null(fake_read(ERROR_NODE));
}

/* Connects and closes as fast as a frontend can. */
static void reconnect(struct world *w)
{
	front_state(w, "3");
	front_state(w, "5");
	front_state(w, "6");
	front_state(w, "1");
}

static void test_connects_too_often(void **state)
{
	struct world *w = *state;

	attach("1");
	start_port(w);
	offer(1, 0, 16);
	number(1, "num-queues");
	for (unsigned i = 0; i < 70; i++)
		reconnect(w);
	assert_int_equal(w->connects, 60);
	assert_state("6");
	assert_error_has("connects too often");
	own_clock_advance(999);
	run_a_while(w);
	assert_state("6");
	own_clock_advance(1);
	eventually((pump(w), strcmp(fake_read(DEVICE "/state"), "2") == 0));
	for (unsigned i = 0; i < 3; i++)
		reconnect(w);
	assert_int_equal(w->connects, 61);
	own_clock_advance(3600000);
	eventually((pump(w), strcmp(fake_read(DEVICE "/state"), "2") == 0));
	front_state(w, "3");
	assert_state("4");
	assert_null(fake_read(ERROR_NODE));
}

/* The looks of one domain have a pace, which outlives its device; another domain has its own. */
static void test_a_frontend_that_writes_its_state_without_end(void **state)
{
	struct world *w = *state;
	unsigned before;

	connect_one(w);
	before = fake_reads();
	for (unsigned i = 0; i < 1000; i++)
		front_state(w, "4");
	assert_in_range(fake_reads() - before, 0, 300 * 8);
	attach_another(w);
	assert_string_equal(fake_read(BACK "/8/3/state"), "2");
	fake_remove(DEVICE);
	pump(w);
	attach("1");
	pump(w);
	before = fake_reads();
	for (unsigned i = 0; i < 100; i++)
		front_state(w, "3");
	assert_int_equal(fake_reads(), before);
	assert_state("2");
	own_clock_advance(10);
	eventually((pump(w), strcmp(fake_read(DEVICE "/state"), "4") == 0));
	own_clock_advance(3600000);
	run_a_while(w);
	front_state(w, "4");
	front_state(w, "5");
	assert_state("6");
}

static void test_only_implied_nodes_are_asked_for(void **state)
{
	struct world *w = *state;

	attach("1");
	start_port(w);
	offer(1, 0, 16);
	fake_write("nonsense", FRONT "/queue-0/ring-ref1");
	fake_write("nonsense", FRONT "/queue-1/ring-ref0");
	front_state(w, "3");
	assert_state("4");
}

static void test_policy_nodes(void **state)
{
	static const char *const bad[][2] = {
		{"role", "root"},
		{"allow-datanodes", "dn1  dn2"},
		{"allow-datanodes", "* dn1"},
		{"allow-pools", " BP-1"},
		{"publish-datanodes", "dn1 "},
		{"unnamed-datanodes", " "},
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct world *w;

		tear_down(state);
		set_up(state);
		w = *state;
		attach("1");
		fake_write(bad[i][1], DEVICE "/%s", bad[i][0]);
		start_port(w);
		offer(1, 0, 16);
		front_state(w, "3");
		assert_state("6");
		assert_error_has("backend");
	}
}

static void test_nothing_allowed_by_default(void **state)
{
	struct world *w = *state;

	attach("1");
	fake_remove(DEVICE "/allow-datanodes");
	fake_remove(DEVICE "/role");
	start_port(w);
	offer(1, 0, 16);
	front_state(w, "3");
	assert_state("4");
	assert_false(w->policy_allowed_dn1);
}

/* ---- the directory --------------------------------------------------------------------- */

static void refuse_directory(struct world *w, const char *text)
{
	front_state(w, "3");
	assert_string_equal(states, "256");
	assert_error_has(text);
	assert_int_equal(w->connects, 0);
	assert_int_equal(fake_mapped(), 0);
}

static struct vread_pool_directory *directory_page(unsigned k)
{
	return (void *)fake_page(DIRECTORY_REF + k);
}

static void test_directory_too_short(void **state)
{
	struct world *w = *state;

	attach("1");
	start_port(w);
	offer(1, 0, 2100);
	directory_page(1)->gref_next_page = 0;
	refuse_directory(w, "the chain ends before");
}

static void test_directory_too_long(void **state)
{
	struct world *w = *state;

	attach("1");
	start_port(w);
	offer(1, 0, 2100);
	directory_page(2)->gref_next_page = DIRECTORY_REF + 3;
	refuse_directory(w, "the chain continues");
}

static void test_directory_of_one_full_page_goes_on(void **state)
{
	struct world *w = *state;

	attach("1");
	start_port(w);
	offer(1, 0, 1023);
	directory_page(0)->gref_next_page = DIRECTORY_REF + 1;
	refuse_directory(w, "the chain continues");
}

static void test_directory_looping(void **state)
{
	struct world *w = *state;

	attach("1");
	start_port(w);
	offer(1, 0, 4096);
	directory_page(1)->gref_next_page = DIRECTORY_REF;
	refuse_directory(w, "the chain continues");
	assert_int_equal(fake_map_calls(), 5); /* no more than the pool needs */
}

static void test_directory_with_reference_0(void **state)
{
	struct world *w = *state;

	attach("1");
	start_port(w);
	offer(1, 0, 16);
	directory_page(0)->gref[15] = 0;
	refuse_directory(w, "grant reference 0");
}

static void test_directory_page_that_cannot_be_mapped(void **state)
{
	struct world *w = *state;

	attach("1");
	start_port(w);
	offer(1, 0, 2100);
	fake_bad_ref(DIRECTORY_REF + 2);
	refuse_directory(w, "cannot map the pool directory");
}

/* ---- failures while connecting ------------------------------------------------------------- */

static void test_one_bad_page_of_the_pool(void **state)
{
	struct world *w = *state;

	attach("1");
	start_port(w);
	offer(1, 0, 2100);
	fake_bad_ref(POOL_REF + 2050);
	refuse_directory(w, "cannot map the 2100 pages of the pool");
}

static void test_one_bad_page_of_a_ring(void **state)
{
	struct world *w = *state;

	attach("1");
	start_port(w);
	offer(3, 1, 16);
	fake_bad_ref(RING_REF + 5);
	refuse_directory(w, "cannot map the 2 pages of ring 2");
}

/* Each map call fails once: directory, pool, three rings, alive byte.  Nothing stays mapped. */
static void test_every_map_call_failing(void **state)
{
	for (unsigned n = 1; n <= 6; n++) {
		struct world *w;

		tear_down(state);
		set_up(state);
		w = *state;
		attach("1");
		start_port(w);
		offer(3, 0, 16);
		fake_fail_map(n);
		refuse_directory(w, "cannot map");
		assert_int_equal(fake_gnttab_handles(), 0);
		assert_int_equal(fake_evtchn_handles(), 0);
	}
}

static void test_every_event_channel_call_failing(void **state)
{
	for (unsigned n = 1; n <= 6; n++) {
		struct world *w;

		tear_down(state);
		set_up(state);
		w = *state;
		attach("1");
		start_port(w);
		offer(3, 0, 16);
		fake_fail_evtchn(n);
		refuse_directory(w, "cannot bind event channel");
		assert_int_equal(fake_gnttab_handles(), 0);
		assert_int_equal(fake_evtchn_handles(), 0);
	}
}

static void test_no_grant_device(void **state)
{
	struct world *w = *state;

	attach("1");
	start_port(w);
	offer(1, 0, 16);
	fake_fail_gnttab_open(true);
	refuse_directory(w, "cannot open the grant device");
}

static void test_session_refused(void **state)
{
	struct world *w = *state;

	attach("1");
	start_port(w);
	offer(1, 0, 16);
	w->refuse = true;
	refuse_directory(w, "cannot start a session");
	assert_false(alive_byte());
}

/* ---- closing ------------------------------------------------------------------------------- */

static void test_frontend_closes(void **state)
{
	struct world *w = *state;

	connect_one(w);
	front_state(w, "5");
	assert_string_equal(states, "2456");
	assert_int_equal(w->disconnects, 1);
	assert_int_equal(fake_mapped(), 0);
	assert_false(alive_byte());
	assert_int_equal(fake_notified(EVENT_PORT), 1);
	front_state(w, "5");
	assert_int_equal(w->disconnects, 1);
	front_state(w, "6");
	assert_string_equal(states, "24562");
}

/* Whatever state the frontend goes to, there is one teardown, in order. */
static void test_teardown_by_any_frontend_state(void **state)
{
	static const char *const ends[] = {"5", "6", "1", "2", "0", "7", "8", "99", "", "4x", NULL};

	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct world *w;

		tear_down(state);
		set_up(state);
		w = *state;
		connect_one(w);
		if (ends[i])
			fake_write(ends[i], FRONT "/state");
		else
			fake_remove(FRONT);
		pump(w);
		pump(w);
		assert_int_equal(w->disconnects, 1);
		assert_memory_equal(states, "2456", 4);
	}
}

static void test_frontend_closes_before_it_connected(void **state)
{
	struct world *w = *state;

	attach("1");
	start_port(w);
	front_state(w, "5");
	assert_string_equal(states, "256");
	front_state(w, "6");
	assert_string_equal(states, "2562");
}

static void test_driver_reloaded(void **state)
{
	struct world *w = *state;

	connect_one(w);
	front_state(w, "5");
	front_state(w, "6");
	front_state(w, "1");
	offer(2, 1, 32);
	front_state(w, "3");
	assert_state("4");
	assert_string_equal(states, "245624");
	assert_int_equal(w->connects, 2);
	assert_int_equal(w->conn->pool_pages, 32);
}

static void test_guest_crashed_and_its_driver_begins_anew(void **state)
{
	struct world *w = *state;

	connect_one(w);
	front_state(w, "1");
	assert_string_equal(states, "24562");
}

static void test_orderly_stop(void **state)
{
	struct world *w = *state;

	connect_one(w);
	stop_port(w);
	assert_string_equal(states, "2456");
	assert_false(alive_byte());
}

static void test_toolstack_detaches(void **state)
{
	struct world *w = *state;

	connect_one(w);
	fake_write("0", DEVICE "/online");
	fake_write("5", DEVICE "/state");
	pump(w);
	assert_string_equal(states, "2456");
	front_state(w, "6");
	assert_state("6"); /* offline: no reconnecting */
	fake_remove(DEVICE);
	fake_remove(FRONT);
	pump(w);
	assert_int_equal(fake_watches(), BASE_WATCHES);
}

static void test_toolstack_asks_with_state_alone(void **state)
{
	struct world *w = *state;

	connect_one(w);
	fake_write("5", DEVICE "/state");
	pump(w);
	assert_string_equal(states, "2456");
}

static void test_directory_removed_in_each_state(void **state)
{
	for (unsigned upto = 0; upto < 3; upto++) {
		struct world *w;

		tear_down(state);
		set_up(state);
		w = *state;
		connect_one(w);
		if (upto == 1)
			front_state(w, "5");
		if (upto == 2)
			stop_port(w), start_port(w);
		fake_remove(DEVICE);
		pump(w);
		assert_int_equal(w->disconnects, w->connects);
		assert_int_equal(fake_watches(), BASE_WATCHES);
		assert_null(fake_read(DEVICE "/state"));
	}
}

/* ---- sessions that cannot end, because a disk hangs ------------------------------------------ */

static void connect_hung(struct world *w)
{
	connect_one(w);
	w->hung = true;
	front_state(w, "5");
	assert_state("5");
	assert_int_equal(w->disconnects, 1);
}

/* Nothing is unmapped or closed, however often the guest changes its mind, until the session
 * ends. */
static void test_a_hung_session_is_closed_when_it_ends(void **state)
{
	static const char *const front[] = {"6", "1", "3", "4", "5", "6"};
	struct world *w = *state;

	connect_hung(w);
	for (unsigned i = 0; i < sizeof(front) / sizeof(front[0]); i++)
		front_state(w, front[i]);
	assert_string_equal(states, "245");
	assert_int_equal(fake_mapped(), 16 + 1 + 1);
	w->hung = false;
	pump(w);
	assert_int_equal(fake_mapped(), 0);
	assert_string_equal(states, "24562");
	assert_int_equal(w->disconnects, 1);
}

static void test_a_hung_session_keeps_no_other_device_waiting(void **state)
{
	struct world *w = *state;

	connect_hung(w);
	attach_another(w);
	assert_state("5");
}

static void test_the_domain_of_a_hung_session_is_destroyed(void **state)
{
	struct world *w = *state;

	connect_hung(w);
	fake_remove("/local/domain/7");
	fake_release(7);
	pump(w);
	assert_state("5");
	assert_int_equal(fake_mapped(), 16 + 1 + 1);
	w->hung = false;
	pump(w);
	assert_int_equal(fake_mapped(), 0);
	assert_null(fake_read(DEVICE "/frontend"));
	assert_int_equal(fake_watches(), BASE_WATCHES);
}

static void destroy(struct world *w, unsigned domid)
{
	fake_remove("/local/domain/%u", domid);
	fake_release(domid);
	pump(w);
}

/* Its domains have one vm node, and each has another domid. */
static void test_a_guest_that_reboots_while_a_disk_hangs(void **state)
{
	static const char why[] = "11 the device of the guest's last domain still waits for a disk";
	struct world *w = *state;

	connect_hung(w);
	destroy(w, 7);
	for (unsigned domid = 8; domid < 30; domid++) {
		attach_to(w, domid, "/vm/aaaa", "1");
		destroy(w, domid);
	}
	attach_to(w, 30, "/vm/aaaa", "1");
	assert_string_equal(fake_read("/local/domain/0/error/backend/vread/30/3/error"), why);
	attach_to(w, 31, "/vm/bbbb", "2"); /* a neighbour */
	assert_int_equal(fake_mapped(), 16 + 1 + 1);
	assert_int_equal(w->connects, 1);
	w->hung = false;
	pump(w);
	assert_string_equal(fake_read(BACK "/30/3/state"), "2");
	assert_int_equal(fake_mapped(), 0);
}

static void test_the_domid_of_a_hung_session_is_reused(void **state)
{
	struct world *w = *state;

	connect_hung(w);
	fake_write("/vm/bbbb", "/local/domain/7/vm");
	fake_write("1", FRONT "/state");
	fake_write("1", DEVICE "/state");
	pump(w);
	assert_state("1");
	w->hung = false;
	pump(w);
	assert_state("2");
	assert_int_equal(fake_mapped(), 0);
}

static void test_the_toolstack_sets_up_a_hung_session_anew(void **state)
{
	struct world *w = *state;

	connect_hung(w);
	fake_write("1", FRONT "/state");
	fake_write("1", DEVICE "/state");
	pump(w);
	assert_state("1");
	w->hung = false;
	pump(w);
	assert_state("2");
}

/* A worker of a session that ends can still report that the frontend broke the protocol. */
static void test_a_hung_session_fails(void **state)
{
	struct world *w = *state;
	struct port_conn *conn;

	connect_hung(w);
	conn = w->ending;
	(conn->ops->fail)(conn, "too late"); /* fail() is a macro of cmocka */
	pump(w);
	assert_null(fake_read(ERROR_NODE));
	w->hung = false;
	pump(w);
	assert_string_equal(states, "2456");
}

static void test_the_backend_stops_with_a_hung_session(void **state)
{
	struct world *w = *state;

	connect_hung(w);
	stop_port(w);
	assert_string_equal(states, "2456");
	assert_int_equal(w->disconnects, 1);
}

/* ---- restart of the backend ------------------------------------------------------------------ */

/* The backend never maps what the frontend offered to the previous backend. */
static void test_recovery_from_each_state(void **state)
{
	static const struct {
		const char *back, *front, *states;
	} cases[] = {
		{"1", "1", "2"},  {"2", "1", "2"},   {"2", "6", "2"},   {"3", "3", "56"},
		{"4", "4", "56"}, {"4", "5", "56"},  {"4", "6", "562"}, {"4", "1", "562"},
		{"5", "4", "56"}, {"5", "6", "562"}, {"6", "4", ""},    {"6", "6", "2"},
		{"6", "1", "2"},  {"7", "4", "56"},  {"8", "4", "56"},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world *w;

		tear_down(state);
		set_up(state);
		w = *state;
		attach(cases[i].back);
		offer(1, 0, 16);
		fake_write(cases[i].front, FRONT "/state");
		start_port(w);
		assert_string_equal(states, cases[i].states);
		assert_int_equal(fake_map_calls(), 0);
		/* Then the frontend, which kept running, reconnects. */
		front_state(w, "6");
		assert_state("2");
		front_state(w, "3");
		assert_state("4");
	}
}

static void test_offer_made_to_an_init_wait_of_a_dead_predecessor(void **state)
{
	struct world *w = *state;

	attach("2");
	offer(1, 0, 16);
	fake_write("3", FRONT "/state");
	start_port(w);
	assert_string_equal(states, "24");
}

/* ---- watches
 * ------------------------------------------------------------------------------------ */

static void test_watches_early_twice_and_late(void **state)
{
	struct world *w = *state;

	fake_fire(DEVICE "/state");
	attach("1");
	for (int i = 0; i < 50; i++)
		fake_fire(FRONT "/state");
	start_port(w);
	for (int i = 0; i < 50; i++) {
		fake_fire(DEVICE);
		fake_fire(BACK);
		fake_fire(BACK "/7");
		fake_fire(FRONT "/state");
	}
	pump(w);
	assert_string_equal(states, "2");
	offer(1, 0, 16);
	for (int i = 0; i < 50; i++)
		fake_write("3", FRONT "/state");
	pump(w);
	front_state(w, "4");
	for (int i = 0; i < 50; i++)
		fake_fire(FRONT "/state");
	pump(w);
	assert_string_equal(states, "24");
	assert_int_equal(w->connects, 1);
	fake_remove(DEVICE);
	fake_fire(FRONT "/state");
	fake_fire(DEVICE "/state");
	pump(w);
	fake_fire(DEVICE);
	pump(w);
	assert_int_equal(w->disconnects, 1);
	assert_null(fake_read(DEVICE "/state"));
}

/* The toolstack removes the device while the backend closes it. */
static void test_a_device_removed_while_it_closes_stays_away(void **state)
{
	struct world *w = *state;

	connect_one(w);
	w->hung = true;
	fake_write("0", DEVICE "/online");
	pump(w);
	assert_state("5");
	fake_remove(DEVICE);
	w->hung = false;
	pump(w);
	assert_int_equal(w->disconnects, 1);
	assert_null(fake_read(DEVICE "/state"));
	assert_string_equal(states, "245");
	assert_int_equal(fake_watches(), BASE_WATCHES);
}

static void test_transactions_are_repeated(void **state)
{
	struct world *w = *state;

	attach("1");
	fake_conflicts(3);
	start_port(w);
	assert_string_equal(states, "2222");
	offer(1, 0, 16);
	fake_conflicts(1);
	front_state(w, "3");
	assert_state("4");
}

/* The toolstack writes the nodes one by one: nothing is done before all needed nodes exist. */
static void test_toolstack_slow_in_writing(void **state)
{
	struct world *w = *state;

	fake_introduce(7);
	start_port(w);
	fake_write("7", DEVICE "/frontend-id");
	pump(w);
	fake_write("1", DEVICE "/state");
	pump(w);
	assert_string_equal(states, "");
	fake_write("1", FRONT "/state");
	fake_write(FRONT, DEVICE "/frontend");
	pump(w);
	assert_string_equal(states, "2");
}

static void test_domain_introduced_late(void **state)
{
	struct world *w = *state;

	attach("1");
	fake_release(7);
	start_port(w);
	assert_string_equal(states, "");
	assert_non_null(fake_read(DEVICE "/frontend"));
	fake_introduce(7);
	pump(w);
	assert_string_equal(states, "2");
}

static void test_nodes_that_are_no_devices(void **state)
{
	struct world *w = *state;

	fake_write("1", BACK "/seven/0/state");
	fake_write("1", BACK "/7/zero/state");
	fake_write("1", BACK "/007/0/state");
	fake_write("1", BACK "/99999/0/state");
	fake_write("1", BACK "/7/4294967296/state");
	start_port(w);
	fake_fire(BACK "/7/-1/state");
	fake_fire("/local/domain/0/backend/vreadx/7/0");
	pump(w);
	assert_int_equal(fake_watches(), BASE_WATCHES);
}

static void test_frontend_path_of_another_domain(void **state)
{
	struct world *w = *state;

	attach("1");
	fake_write("/local/domain/8/device/vread/0", DEVICE "/frontend");
	start_port(w);
	assert_string_equal(states, "");
	assert_int_equal(fake_watches(), BASE_WATCHES);
}

static void test_two_devices_of_two_domains(void **state)
{
	struct world *w = *state;

	connect_one(w);
	attach_another(w);
	fake_release(8);
	pump(w);
	assert_null(fake_read(BACK "/8/3/state"));
	assert_state("4");
	assert_int_equal(w->disconnects, 0);
}

/* ---- domains
 * ---------------------------------------------------------------------------------------- */

static void test_domain_gone(void **state)
{
	struct world *w = *state;

	connect_one(w);
	fake_remove("/local/domain/7");
	fake_release(7);
	pump(w);
	assert_int_equal(w->disconnects, 1);
	assert_int_equal(fake_mapped(), 0);
	assert_null(fake_read(DEVICE "/frontend"));
	assert_null(fake_read(DEVICE "/versions"));
	assert_int_equal(fake_watches(), BASE_WATCHES);
}

static void test_domain_gone_in_each_state(void **state)
{
	for (unsigned upto = 0; upto < 4; upto++) {
		struct world *w;

		tear_down(state);
		set_up(state);
		w = *state;
		attach("1");
		start_port(w);
		offer(1, 0, 16);
		if (upto == 1)
			number(0, "pool-pages");
		if (upto >= 1)
			front_state(w, "3");
		if (upto == 3)
			front_state(w, "5");
		fake_release(7);
		pump(w);
		assert_null(fake_read(DEVICE "/state"));
		assert_null(fake_read(ERROR_NODE));
		assert_int_equal(fake_watches(), BASE_WATCHES);
	}
}

static void test_leftovers_of_a_domain_that_died_before_the_start(void **state)
{
	struct world *w = *state;

	attach("4");
	fake_release(7);
	start_port(w);
	assert_null(fake_read(DEVICE "/state"));
	assert_string_equal(states, "");
}

/* The device was attached and its domain ended while no backend ran.  Some nodes may be missing. */
static void test_leftovers_nobody_ever_saw(void **state)
{
	static const char *const missing[] = {NULL, "state", "frontend", "online"};

	for (unsigned i = 0; i < 4; i++) {
		struct world *w;

		tear_down(state);
		set_up(state);
		w = *state;
		attach("1");
		if (missing[i])
			fake_remove(DEVICE "/%s", missing[i]);
		fake_remove("/local/domain/7");
		fake_release(7);
		start_port(w);
		assert_null(fake_read(DEVICE "/frontend-id"));
		assert_null(fake_read(DEVICE "/role"));
		assert_string_equal(states, "");
		assert_int_equal(fake_watches(), BASE_WATCHES);
	}
}

/* An incomplete device is no device, and is removed when its domain ends. */
static void test_half_a_device_of_a_domain_that_goes(void **state)
{
	struct world *w = *state;

	start_port(w);
	fake_introduce(7);
	fake_write("7", DEVICE "/frontend-id");
	pump(w);
	assert_non_null(fake_read(DEVICE "/frontend-id"));
	fake_release(7);
	pump(w);
	assert_null(fake_read(DEVICE "/frontend-id"));
}

static void test_an_empty_directory_of_a_domain_that_is_gone(void **state)
{
	struct world *w = *state;

	fake_introduce(8);
	fake_write("", BACK "/7");
	fake_write("", BACK "/8");
	start_port(w);
	assert_null(fake_read(BACK "/7"));
	assert_non_null(fake_read(BACK "/8"));
}

static void test_a_removed_device_leaves_no_error(void **state)
{
	struct world *w = *state;

	attach("1");
	start_port(w);
	offer(1, 0, 16);
	number(0, "num-queues");
	front_state(w, "3");
	assert_error_has("num-queues");
	fake_remove(DEVICE);
	pump(w);
	assert_null(fake_read(ERROR_NODE));
}

static void test_domid_reused_with_a_new_device(void **state)
{
	struct world *w = *state;

	connect_one(w);
	/* All changes come at once, as for a slow daemon. */
	fake_write("/vm/bbbb", "/local/domain/7/vm");
	fake_write("1", FRONT "/state");
	fake_write("1", DEVICE "/state");
	pump(w);
	assert_int_equal(w->disconnects, 1);
	assert_state("2");
	assert_int_equal(fake_mapped(), 0);
}

static void test_domid_reused_without_a_device(void **state)
{
	struct world *w = *state;

	connect_one(w);
	fake_remove("/local/domain/7");
	fake_write("/vm/bbbb", "/local/domain/7/vm");
	pump(w);
	assert_int_equal(w->disconnects, 1);
	assert_null(fake_read(DEVICE "/state"));
}

static void test_xenstored_dies(void **state)
{
	struct world *w = *state;

	connect_one(w);
	fake_store_dies();
	assert_true(sd_event_loop(w->event) < 0); /* the daemon is to end */
	stop_port(w);
	assert_int_equal(fake_mapped(), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	static const struct CMUnitTest tests[] = {
		TEST(test_no_xenstore),
		TEST(test_publishes_and_waits),
		TEST(test_limits_of_one_device),
		TEST(test_limits_above_what_is_configured),
		TEST(test_limits_that_are_configured_anew),
		TEST(test_a_pool_resized_by_attaching_anew),
		TEST(test_limits_that_are_none),
		TEST(test_a_wrong_limit_put_right),
		TEST(test_own_domid),
		TEST(test_connects),
		TEST(test_a_datanode_may_publish),
		TEST(test_rights_change_while_connected),
		TEST(test_malformed_rights_close_the_device),
		TEST(test_connects_at_its_limits),
		TEST(test_status_tells),
		TEST(test_requests_are_answered),
		TEST(test_absurd_numbers),
		TEST(test_an_endless_value_is_cut_in_the_message),
		TEST(test_refused_until_initialising),
		TEST(test_connects_too_often),
		TEST(test_a_frontend_that_writes_its_state_without_end),
		TEST(test_only_implied_nodes_are_asked_for),
		TEST(test_policy_nodes),
		TEST(test_nothing_allowed_by_default),
		TEST(test_directory_too_short),
		TEST(test_directory_too_long),
		TEST(test_directory_of_one_full_page_goes_on),
		TEST(test_directory_looping),
		TEST(test_directory_with_reference_0),
		TEST(test_directory_page_that_cannot_be_mapped),
		TEST(test_one_bad_page_of_the_pool),
		TEST(test_one_bad_page_of_a_ring),
		TEST(test_every_map_call_failing),
		TEST(test_every_event_channel_call_failing),
		TEST(test_no_grant_device),
		TEST(test_session_refused),
		TEST(test_frontend_closes),
		TEST(test_teardown_by_any_frontend_state),
		TEST(test_frontend_closes_before_it_connected),
		TEST(test_driver_reloaded),
		TEST(test_guest_crashed_and_its_driver_begins_anew),
		TEST(test_orderly_stop),
		TEST(test_toolstack_detaches),
		TEST(test_toolstack_asks_with_state_alone),
		TEST(test_directory_removed_in_each_state),
		TEST(test_a_hung_session_is_closed_when_it_ends),
		TEST(test_a_hung_session_keeps_no_other_device_waiting),
		TEST(test_the_domain_of_a_hung_session_is_destroyed),
		TEST(test_a_guest_that_reboots_while_a_disk_hangs),
		TEST(test_the_domid_of_a_hung_session_is_reused),
		TEST(test_the_toolstack_sets_up_a_hung_session_anew),
		TEST(test_a_hung_session_fails),
		TEST(test_the_backend_stops_with_a_hung_session),
		TEST(test_recovery_from_each_state),
		TEST(test_offer_made_to_an_init_wait_of_a_dead_predecessor),
		TEST(test_watches_early_twice_and_late),
		TEST(test_a_device_removed_while_it_closes_stays_away),
		TEST(test_transactions_are_repeated),
		TEST(test_toolstack_slow_in_writing),
		TEST(test_domain_introduced_late),
		TEST(test_nodes_that_are_no_devices),
		TEST(test_frontend_path_of_another_domain),
		TEST(test_two_devices_of_two_domains),
		TEST(test_domain_gone),
		TEST(test_domain_gone_in_each_state),
		TEST(test_leftovers_of_a_domain_that_died_before_the_start),
		TEST(test_leftovers_nobody_ever_saw),
		TEST(test_half_a_device_of_a_domain_that_goes),
		TEST(test_an_empty_directory_of_a_domain_that_is_gone),
		TEST(test_a_removed_device_leaves_no_error),
		TEST(test_domid_reused_with_a_new_device),
		TEST(test_domid_reused_without_a_device),
		TEST(test_xenstored_dies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
