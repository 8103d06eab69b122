/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests requests that other hosts answer, from the ring to peer.h and back, in whole sessions.  The
 * test plays the frontend, controls the peers (fakepeers/), and fakes one local block.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "read/block.h"
#include "eventually.h"
#include "fakepeers/fakepeers.h"
#include "policy/policy.h"
#include "read/handles.h"
#include "read/store.h"
#include "ring/session.h"

#define QUEUES 2U
#define POOL_PAGES 1024U
#define SLOTS 32U    /* of a ring of one page */
#define LARGE 1U     /* the queue whose ring has four pages */
#define AT_PEERS 32U /* requests of a ring that are given to peers at a time */
#define NOBODY_ANSWERS_MS 100

/* ---- the block that is here -------------------------------------------------------- */

struct block_handle {
	int dummy;
};

#define SUM_HERE 0xdecade01U /* CRC32C of what block_read() reads, as it says */

static struct {
	struct block_handle handle;
	int open_error; /* for storages of other hosts */
	atomic_uint opens, closes, held;
	atomic_uint looks; /* block_open() calls that missed a local block */
	atomic_bool withdrawn;
	atomic_bool slow;     /* a read ends only when ... */
	atomic_uint let_pass; /* ... it can take one of these */
	atomic_uint reading;
} here;

/* Counts the searches of the store for a block that it should have. */
static int look_again(bool elsewhere)
{
	here.looks += !elsewhere;
	return here.open_error;
}

int block_open(struct block_store *s, const struct policy *p, const struct block_name *name,
	       struct block_handle **ret, struct block_info *ret_info)
{
	(void)s, (void)p;
	if (name->num_storages == 0 || strcmp(name->storage_ids[0], "DS-here") != 0)
		return look_again(name->elsewhere);
	here.opens++;
	*ret = &here.handle;
	*ret_info = (struct block_info){1000, name->genstamp, VREAD_BLOCK_FINALIZED};
	return 0;
}

size_t block_store_handle_memory(struct block_store *s)
{
	(void)s;
	return 0;
}

ssize_t block_read(struct block_handle *h, uint64_t offset, void *dst, uint32_t length,
		   uint32_t *ret_crc32c)
{
	*ret_crc32c = SUM_HERE;
	(void)h, (void)offset;
	here.reading++;
	eventually(!here.slow || here.let_pass > 0);
	if (here.slow)
		here.let_pass--;
	here.reading--;
	memset(dst, 'h', length);
	return (ssize_t)length;
}

int block_stat(struct block_handle *h, struct block_info *ret_info)
{
	(void)h;
	*ret_info = (struct block_info){1000, 5, VREAD_BLOCK_FINALIZED};
	return 0;
}

void block_close(struct block_handle *h)
{
	(void)h;
	here.closes++;
}

bool block_is_granted(struct block_handle *h)
{
	assert_ptr_equal(h, &here.handle);
	return true;
}

bool block_hold(struct block_handle *h, const struct policy *p)
{
	(void)p;
	assert_ptr_equal(h, &here.handle);
	here.held++;
	return !here.withdrawn;
}

void block_release(struct block_handle *h)
{
	(void)h;
	here.held--;
}

int block_publish(struct block_store *s, const struct policy *p, const struct block_event *e)
{
	(void)s, (void)p, (void)e;
	return 0;
}

int block_take_keys(struct block_store *s, const struct policy *p, const struct block_keys *k)
{
	(void)s, (void)p, (void)k;
	return 0;
}

/* ---- a device ------------------------------------------------------------------------- */

struct front {
	vread_front_ring_t ring;
	int request_fd, response_fd;
};

static struct {
	struct port_conn conn;
	struct policy *policy;
	sd_event *event;
	struct session_server *server;
	struct port_events events;
	void *session;
	struct front front[QUEUES];
	_Atomic(const char *) failure;
} device;

static int event_fd(struct port_conn *c, unsigned q)
{
	(void)c;
	return device.front[q].request_fd;
}

static int event_take(struct port_conn *c, unsigned q)
{
	eventfd_t n;

	(void)c;
	return eventfd_read(device.front[q].request_fd, &n) ? -errno : 0;
}

static void event_rearm(struct port_conn *c, unsigned q)
{
	(void)c, (void)q;
}

static void notify(struct port_conn *c, unsigned q)
{
	(void)c;
	eventfd_write(device.front[q].response_fd, 1);
}

static void broke(struct port_conn *c, const char *reason)
{
	(void)c;
	device.failure = reason;
}

static void ended(struct port_conn *c)
{
	(void)c;
	device.session = NULL;
}

static const struct port_conn_ops ops = {event_fd, event_take, event_rearm, notify, broke, ended};

static uint32_t ring_bytes(unsigned q)
{
	return q == LARGE ? 4 * VREAD_PAGE_SIZE : VREAD_PAGE_SIZE;
}

static void fresh_rings(void)
{
	for (unsigned q = 0; q < QUEUES; q++) {
		vread_sring_t *sring = device.conn.queue[q].sring;

		SHARED_RING_INIT(sring);
		FRONT_RING_INIT(&device.front[q].ring, sring, ring_bytes(q));
	}
}

static void connect_with(struct peers *peers)
{
	int error = 0;

	device.server = session_server_new(NULL, peers, device.event);
	assert_non_null(device.server);
	device.events = session_server_events(device.server);
	device.session = device.events.connect(device.events.ctx, &device.conn, &error);
	assert_non_null(device.session);
}

static void disconnect(void)
{
	if (device.session)
		device.events.disconnect(device.events.ctx, device.session);
	session_server_wait(device.server);
	assert_null(device.session);
}

static int set_up(void **state)
{
	const char *error;

	(void)state;
	fake_reset();
	memset(&here, 0, sizeof(here));
	memset(&device, 0, sizeof(device));
	here.open_error = -ENODEV;
	sd_event_new(&device.event);
	device.policy = policy_new(POLICY_CLIENT, "*", "*", &error);
	device.conn = (struct port_conn){
		.ops = &ops,
		.name = "test:1",
		.policy = device.policy,
		.pool = aligned_alloc(VREAD_PAGE_SIZE, POOL_PAGES * VREAD_PAGE_SIZE),
		.pool_pages = POOL_PAGES,
		.num_queues = QUEUES,
	};
	for (unsigned q = 0; q < QUEUES; q++) {
		vread_sring_t *sring = aligned_alloc(VREAD_PAGE_SIZE, ring_bytes(q));

		device.conn.queue[q] = (struct port_queue){sring, ring_bytes(q)};
		device.front[q].request_fd = eventfd(0, EFD_NONBLOCK);
		device.front[q].response_fd = eventfd(0, EFD_NONBLOCK);
	}
	fresh_rings();
	connect_with(fake_peers);
	return 0;
}

static int tear_down(void **state)
{
	struct fake_counts c;

	(void)state;
	disconnect();
	session_server_free(device.server);
	sd_event_unref(device.event);
	c = fake_counts();
	assert_int_equal(c.begun, c.ended);
	assert_int_equal(c.opened, c.closed);
	assert_int_equal(c.pools, 0);
	assert_int_equal(here.opens, here.closes);
	assert_int_equal(here.held, 0);
	for (unsigned q = 0; q < QUEUES; q++) {
		close(device.front[q].request_fd);
		close(device.front[q].response_fd);
		free(device.conn.queue[q].sring);
	}
	free(device.conn.pool);
	policy_free(device.policy);
	return 0;
}

/* ---- a frontend ------------------------------------------------------------------------ */

static void put(unsigned q, struct vread_request r, uint16_t id)
{
	vread_front_ring_t *ring = &device.front[q].ring;

	r.id = id;
	*RING_GET_REQUEST(ring, ring->req_prod_pvt) = r;
	ring->req_prod_pvt++;
}

/* Shows all requests that were put, at once. */
static void show(unsigned q)
{
	vread_front_ring_t *ring = &device.front[q].ring;
	int wanted;

	RING_PUSH_REQUESTS_AND_CHECK_NOTIFY(ring, wanted);
	if (wanted)
		eventfd_write(device.front[q].request_fd, 1);
}

static void ask(unsigned q, struct vread_request r, uint16_t id)
{
	put(q, r, id);
	show(q);
}

/* Gets the next response of queue q.  False: none came in time. */
static bool next_within(unsigned q, int timeout_ms, struct vread_response *ret)
{
	struct front *f = &device.front[q];
	struct pollfd fd = {.fd = f->response_fd, .events = POLLIN};
	eventfd_t n;
	int more;

	for (;;) {
		RING_FINAL_CHECK_FOR_RESPONSES(&f->ring, more);
		if (more)
			break;
		if (poll(&fd, 1, timeout_ms) == 0)
			return false;
		eventfd_read(f->response_fd, &n);
	}
	*ret = *RING_GET_RESPONSE(&f->ring, f->ring.rsp_cons);
	f->ring.rsp_cons++;
	return true;
}

static struct vread_response next(unsigned q)
{
	struct vread_response r = {0};

	assert_true(next_within(q, 60000, &r));
	return r;
}

static void assert_silence(unsigned q)
{
	struct vread_response r;

	assert_false(next_within(q, NOBODY_ANSWERS_MS, &r));
}

/* Returns an OPEN.  Its data is in the pool's last page, so that READs can use all other pages. */
static struct vread_request open_of_all(const char *const *storages, uint16_t count)
{
	struct vread_open_data header = {.pool_id_length = 4, .num_storages = count};
	uint8_t *start = device.conn.pool + (POOL_PAGES - 1) * VREAD_PAGE_SIZE, *p = start;

	memcpy(p, &header, sizeof(header));
	memcpy(p + sizeof(header), "BP-1", 4);
	p += sizeof(header) + 4;
	for (uint16_t i = 0; i < count; i++) {
		*p = (uint8_t)strlen(storages[i]);
		memcpy(p + 1, storages[i], *p);
		p += *p + 1;
	}
	return (struct vread_request){
		.operation = VREAD_OP_OPEN,
		.pool_page = POOL_PAGES - 1,
		.pool_pages = 1,
		.u.open = {.block_id = 7, .genstamp = 5, .data_length = (uint32_t)(p - start)},
	};
}

static struct vread_request open_of(const char *storage)
{
	return open_of_all(&storage, storage != NULL);
}

static struct vread_request read_of(uint32_t handle, uint64_t offset, uint32_t page)
{
	return (struct vread_request){
		.operation = VREAD_OP_READ,
		.handle = handle,
		.pool_page = page,
		.pool_pages = 1,
		.u.read = {.offset = offset, .length = VREAD_PAGE_SIZE},
	};
}

static struct vread_request with_handle(uint8_t operation, uint32_t handle)
{
	return (struct vread_request){.operation = operation, .handle = handle};
}

static struct vread_response answer(struct vread_request r, uint16_t id)
{
	struct vread_response response;

	ask(0, r, id);
	response = next(0);
	assert_int_equal(response.id, id);
	assert_int_equal(response.operation, r.operation);
	return response;
}

static uint32_t open_here(void)
{
	struct vread_response r = answer(open_of("DS-here"), 31);

	assert_int_equal(r.status, 0);
	assert_int_equal(r.flags, VREAD_BLOCK_FINALIZED);
	return r.handle;
}

static uint32_t open_there(void)
{
	unsigned others = fake_under_way();
	struct vread_response r;

	ask(0, open_of(FAKE_STORAGE), 31);
	fake_wait(others + 1);
	fake_end(others, 0);
	r = next(0);
	assert_int_equal(r.id, 31);
	assert_int_equal(r.status, 0);
	assert_int_equal(r.flags, VREAD_BLOCK_FINALIZED | VREAD_BLOCK_REMOTE);
	assert_int_equal(r.u.block.length, FAKE_BLOCK_BYTES);
	assert_int_equal(r.u.block.genstamp, 5);
	assert_int_not_equal(r.handle, 0);
	return r.handle;
}

static json_int_t remote_count(const char *name)
{
	json_t *device_counters = session_server_device(device.server, "test:1");
	json_t *remote = json_object_get(device_counters, "remote");
	json_int_t n = json_integer_value(json_object_get(remote, name));

	json_decref(device_counters);
	return n;
}

static void assert_status(struct vread_response r, uint16_t id, int status)
{
	assert_int_equal(r.id, id);
	assert_int_equal(r.status, status);
}

/* ---- one request ------------------------------------------------------------------------ */

static void test_a_block_of_another_host(void **state)
{
	uint32_t handle = open_there();
	struct vread_response r;

	(void)state;
	ask(0, read_of(handle, 12345, 3), 1);
	fake_wait(1);
	fake_end(0, 0);
	r = next(0);
	assert_status(r, 1, VREAD_PAGE_SIZE);
	assert_int_equal(r.u.read.crc32c, FAKE_SUM);
	for (unsigned i = 0; i < VREAD_PAGE_SIZE; i++)
		assert_int_equal(device.conn.pool[3 * VREAD_PAGE_SIZE + i], fake_byte(12345 + i));

	ask(0, read_of(handle, FAKE_BLOCK_BYTES - 10, 3), 2);
	fake_wait(1);
	fake_end(0, 0);
	assert_status(next(0), 2, 10);

	ask(0, with_handle(VREAD_OP_STAT, handle), 3);
	fake_wait(1);
	fake_end(0, 0);
	assert_int_equal(next(0).flags, VREAD_BLOCK_FINALIZED | VREAD_BLOCK_REMOTE);

	assert_int_equal(answer(with_handle(VREAD_OP_CLOSE, handle), 4).status, 0);
	assert_int_equal(fake_counts().closed, 1);
	assert_int_equal(answer(read_of(handle, 0, 1), 5).status, -EBADF);
	assert_int_equal(here.looks, 0);
	assert_int_equal(remote_count("opens"), 1);
	assert_int_equal(remote_count("reads"), 2);
	assert_int_equal(remote_count("bytes"), VREAD_PAGE_SIZE + 10);
}

static void test_what_is_here_is_read_here(void **state)
{
	struct vread_response r = answer(read_of(open_here(), 0, 1), 1);

	(void)state;
	assert_int_equal(r.status, VREAD_PAGE_SIZE);
	assert_int_equal(r.u.read.crc32c, SUM_HERE);
	assert_int_equal(fake_counts().begun, 0);
	assert_int_equal(remote_count("reads"), 0);
}

static void test_nobody_is_asked_without_reason(void **state)
{
	(void)state;
	here.open_error = -ENOENT;
	assert_status(answer(open_of("DS-unknown"), 1), 1, -ENOENT);
	assert_int_equal(here.looks, 1);
	here.open_error = -EACCES;
	assert_status(answer(open_of("DS-unknown"), 1), 1, -EACCES);
	here.open_error = -ENOMEM;
	assert_status(answer(open_of(FAKE_STORAGE), 1), 1, -ENOMEM);
	assert_int_equal(fake_counts().begun, 0);
}

/* Another host is asked only because it has a storage that the request names. */
static void test_no_host_is_asked_without_storages(void **state)
{
	static const int errors[] = {-EDESTADDRREQ, -ENOENT, -ENODEV, -ENOMEM};

	(void)state;
	for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		here.open_error = errors[i];
		assert_status(answer(open_of(NULL), 1), 1, errors[i]);
	}
	assert_int_equal(fake_counts().begun, 0);
}

/* Whatever is wrong with the local replica, another host's replica may be read. */
static void test_a_replica_here_that_cannot_be_read(void **state)
{
	static const int errors[] = {-ENODEV, -ENOENT, -EACCES, -EEXIST, -EBUSY, -EIO, -ERANGE};

	(void)state;
	for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		here.open_error = errors[i];
		open_there();
	}
	here.open_error = -ENOENT;
	ask(0, open_of(FAKE_STORAGE), 1);
	fake_wait(1);
	fake_end(0, -EAGAIN);
	assert_status(next(0), 1, -EAGAIN);
	ask(0, open_of(FAKE_STORAGE), 1);
	fake_wait(1);
	fake_end(0, -ENODEV); /* the peer has none: the local error says more */
	assert_status(next(0), 1, -ENOENT);
}

/* The datanode withdraws the block during the OPEN: ask other hosts, as for a remote block. */
static void test_withdrawn_while_it_is_opened(void **state)
{
	static const char *const both[] = {"DS-here", FAKE_STORAGE};

	(void)state;
	here.withdrawn = true;
	assert_status(answer(open_of("DS-here"), 1), 1, -ENOENT);
	ask(0, open_of_all(both, 2), 2);
	fake_wait(1);
	assert_int_equal(here.held, 0);
	fake_end(0, 0);
	assert_int_equal(next(0).flags, VREAD_BLOCK_FINALIZED | VREAD_BLOCK_REMOTE);
	ask(0, open_of_all(both, 2), 3);
	fake_wait(1);
	fake_end(0, -ENODEV);
	assert_status(next(0), 3, -ENOENT);
	assert_int_equal(here.opens, 3);
	assert_int_equal(here.closes, 3);
	assert_int_equal(remote_count("opens"), 1);
}

static void test_errors_of_peers_are_answers(void **state)
{
	uint32_t handle = open_there();

	(void)state;
	ask(0, open_of(FAKE_STORAGE), 1);
	ask(0, read_of(handle, 0, 1), 2);
	ask(0, with_handle(VREAD_OP_STAT, handle), 3);
	fake_wait(3);
	fake_end(0, -EEXIST);
	assert_status(next(0), 1, -EEXIST);
	fake_end(0, -EBADMSG);
	assert_status(next(0), 2, -EBADMSG);
	fake_end(0, -EAGAIN);
	assert_status(next(0), 3, -EAGAIN);
	assert_int_equal(fake_counts().opened, 1);
	assert_int_equal(remote_count("reads"), 0);
}

/* A request that a peer refuses at once leaves no reference. */
static void test_refused_at_once(void **state)
{
	uint32_t handle = open_there();

	(void)state;
	fake_refuse(-EACCES);
	assert_status(answer(open_of(FAKE_STORAGE), 1), 1, -EACCES);
	assert_status(answer(read_of(handle, 0, 1), 2), 2, -EACCES);
	assert_status(answer(with_handle(VREAD_OP_STAT, handle), 3), 3, -EACCES);
	assert_int_equal(answer(with_handle(VREAD_OP_CLOSE, handle), 4).status, 0);
	assert_int_equal(fake_counts().closed, 1);
}

static void test_without_peers_all_is_as_before(void **state)
{
	(void)state;
	disconnect();
	session_server_free(device.server);
	fresh_rings();
	connect_with(NULL);
	assert_status(answer(open_of(FAKE_STORAGE), 1), 1, -ENODEV);
	assert_int_equal(answer(read_of(open_here(), 0, 1), 2).status, VREAD_PAGE_SIZE);
}

/* A pool that no peer can write to costs the device its remote blocks, not the local ones. */
static void test_a_pool_that_cannot_be_used(void **state)
{
	(void)state;
	disconnect();
	session_server_free(device.server);
	fresh_rings();
	fake_refuse(-ENOMEM);
	connect_with(fake_peers);
	fake_refuse(0);
	assert_status(answer(open_of(FAKE_STORAGE), 1), 1, -ENODEV);
	assert_int_equal(answer(read_of(open_here(), 0, 1), 2).status, VREAD_PAGE_SIZE);
	assert_int_equal(fake_counts().begun, 0);
}

/* ---- several under way ---------------------------------------------------------------- */

static void test_answers_leave_as_they_come(void **state)
{
	uint32_t there = open_there(), local = open_here();

	(void)state;
	for (uint16_t id = 0; id < 4; id++)
		ask(0, read_of(there, id * 100000U, id), id);
	fake_wait(4);
	assert_status(answer(read_of(local, 0, 5), 9), 9, VREAD_PAGE_SIZE); /* overtakes them */
	fake_end(2, 0);
	assert_status(next(0), 2, VREAD_PAGE_SIZE);
	fake_end(2, -EIO); /* the last */
	assert_status(next(0), 3, -EIO);
	assert_silence(0);
	assert_status(answer(read_of(local, 0, 5), 3), 3, VREAD_PAGE_SIZE); /* its id is free */
	fake_end(1, 0);
	assert_status(next(0), 1, VREAD_PAGE_SIZE);
	fake_end(0, 0);
	assert_status(next(0), 0, VREAD_PAGE_SIZE);
	for (unsigned id = 0; id < 3; id++)
		assert_int_equal(device.conn.pool[id * VREAD_PAGE_SIZE], fake_byte(id * 100000U));
}

/* A remote answer does not wait until all local reads are done. */
static void test_answers_go_between_reads_of_what_is_here(void **state)
{
	uint32_t there = open_there(), local = open_here();

	(void)state;
	here.slow = true;
	ask(0, read_of(there, 0, 1), 1);
	fake_wait(1);
	for (uint16_t id = 2; id < 5; id++)
		put(0, read_of(local, 0, id), id);
	show(0);
	eventually(here.reading > 0);
	fake_end(0, 0);
	here.let_pass = 1;
	assert_status(next(0), 2, VREAD_PAGE_SIZE);
	assert_status(next(0), 1, VREAD_PAGE_SIZE);
	here.let_pass = 2;
	assert_status(next(0), 3, VREAD_PAGE_SIZE);
	assert_status(next(0), 4, VREAD_PAGE_SIZE);
}

static void test_a_ring_full_of_them(void **state)
{
	uint32_t handle = open_there();

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (uint16_t id = 0; id < SLOTS; id++)
			ask(0, read_of(handle, id, id), id);
		fake_wait(SLOTS);
		for (uint16_t id = SLOTS; id-- > 0;)
			fake_end(id, 0);
		for (uint16_t id = SLOTS; id-- > 0;)
			assert_status(next(0), id, VREAD_PAGE_SIZE);
	}
	assert_null(device.failure);
}

static void test_an_id_used_again_before_its_answer(void **state)
{
	uint32_t handle = open_there();

	(void)state;
	ask(0, read_of(handle, 0, 1), 4);
	fake_wait(1);
	ask(0, read_of(handle, 0, 1), 4);
	eventually(device.failure);
	assert_string_equal(device.failure, "request id used again before its response");
	fake_end(0, 0);
	assert_silence(0);
}

/* All slots have an unanswered request: one more is beyond the ring. */
static void test_more_than_the_ring_holds(void **state)
{
	uint32_t handle = open_there();

	(void)state;
	for (uint16_t id = 0; id < SLOTS; id++)
		ask(0, read_of(handle, 0, 1), id);
	fake_wait(SLOTS);
	ask(0, read_of(handle, 0, 1), 0);
	eventually(device.failure);
	assert_string_equal(device.failure, "request producer index beyond the ring");
	assert_int_equal(fake_counts().begun, SLOTS + 1);
}

static void test_closed_with_reads_under_way(void **state)
{
	uint32_t handle = open_there();

	(void)state;
	ask(0, read_of(handle, 0, 1), 1);
	ask(0, read_of(handle, 4096, 2), 2);
	fake_wait(2);
	assert_int_equal(answer(with_handle(VREAD_OP_CLOSE, handle), 3).status, 0);
	assert_int_equal(answer(with_handle(VREAD_OP_CLOSE, handle), 3).status, -EBADF);
	assert_int_equal(answer(read_of(handle, 0, 3), 3).status, -EBADF);
	assert_int_equal(fake_counts().closed, 0);
	fake_end(1, 0);
	assert_status(next(0), 2, VREAD_PAGE_SIZE);
	assert_int_equal(fake_counts().closed, 0);
	fake_end(0, 0);
	assert_status(next(0), 1, VREAD_PAGE_SIZE);
	assert_int_equal(fake_counts().closed, 1);
}

static void ask_large(uint32_t handle, uint16_t count)
{
	for (uint16_t id = 0; id < count; id++) {
		struct vread_request r = read_of(handle, id, 0);

		r.pool_pages = POOL_PAGES;
		r.u.read.length = 3U << 20; /* two fit, and a small one beside them */
		ask(0, r, id);
	}
}

/* Two large READs run at a time, because other guests use the link, too. */
static void test_large_reads_take_turns(void **state)
{
	uint32_t handle = open_there();

	(void)state;
	ask_large(handle, 5);
	ask(0, read_of(handle, 0, 0), 5); /* a small one does not overtake them */
	assert_int_equal(answer(with_handle(VREAD_OP_CLOSE, handle), 9).status, 0);
	for (uint16_t id = 0; id < 3; id++) {
		fake_wait(2);
		assert_int_equal(fake_under_way(), 2);
		fake_end(0, 0);
		assert_int_equal(next(0).id, id);
	}
	fake_wait(3); /* the small one fits beside them */
	fake_end(2, 0);
	assert_status(next(0), 5, VREAD_PAGE_SIZE);
	fake_end(1, 0);
	assert_int_equal(next(0).id, 4);
	assert_int_equal(fake_counts().closed, 0);
	fake_end(0, 0);
	assert_int_equal(next(0).id, 3);
	assert_int_equal(fake_counts().closed, 1);
}

/* A ring with many small requests leaves room in the queues of peers to the other guests. */
static void test_small_requests_take_turns(void **state)
{
	uint32_t handle = open_there();
	const uint16_t last = 2 * AT_PEERS;

	(void)state;
	for (uint16_t id = 0; id < last; id++)
		put(LARGE, read_of(handle, id, 3), id);
	put(LARGE, with_handle(VREAD_OP_STAT, handle), last);
	put(LARGE, with_handle(VREAD_OP_CLOSE, 0), last + 1);
	show(LARGE);
	assert_status(next(LARGE), last + 1, -EBADF);
	assert_int_equal(fake_under_way(), AT_PEERS);
	for (uint16_t id = 0; id <= last; id++) {
		fake_end(0, 0);
		assert_status(next(LARGE), id, id < last ? VREAD_PAGE_SIZE : 0);
		assert_in_range(fake_under_way(), 0, AT_PEERS);
	}
	assert_int_equal(fake_under_way(), 0);
}

static void test_waiting_reads_that_cannot_be_begun(void **state)
{
	uint32_t handle = open_there();

	(void)state;
	ask_large(handle, 4);
	fake_wait(2);
	fake_refuse(-EACCES);
	fake_end(0, -EIO);
	assert_status(next(0), 0, -EIO);
	assert_status(next(0), 2, -EACCES);
	assert_status(next(0), 3, -EACCES);
	fake_refuse(0);
	fake_end(0, -EIO);
	assert_status(next(0), 1, -EIO);
	ask_large(handle, 1);
	fake_wait(1);
	fake_end(0, 0);
	assert_int_equal(next(0).id, 0);
}

static void test_a_session_ends_with_reads_that_wait(void **state)
{
	uint32_t handle = open_there();

	(void)state;
	ask_large(handle, 30);
	fake_wait(2);
	disconnect();
	assert_int_equal(fake_under_way(), 0);
	assert_int_equal(fake_counts().closed, 1);
	assert_silence(0);
}

/* There was room for both handles when the OPENs began. */
static void test_too_many_handles_at_the_end(void **state)
{
	struct vread_response first, second;

	(void)state;
	for (unsigned i = 0; i < HANDLES_MAX - 1; i++)
		open_here();
	ask(0, open_of(FAKE_STORAGE), 1);
	ask(0, open_of(FAKE_STORAGE), 2);
	fake_wait(2);
	fake_end(0, 0);
	first = next(0);
	fake_end(0, 0);
	second = next(0);
	assert_status(first, 1, 0);
	assert_status(second, 2, -EMFILE);
	assert_int_equal(second.flags, 0);
	assert_int_equal(fake_counts().closed, 1);
}

static void test_no_host_is_asked_if_no_handle_is_left(void **state)
{
	(void)state;
	for (unsigned i = 0; i < HANDLES_MAX; i++)
		open_here();
	ask(0, open_of(FAKE_STORAGE), 1);
	assert_status(next(0), 1, -EMFILE);
	assert_int_equal(fake_under_way(), 0);
}

/* ---- ends of sessions -------------------------------------------------------------------- */

static void test_a_hung_peer_holds_up_no_end(void **state)
{
	uint32_t handle = open_there();

	(void)state;
	ask(0, read_of(handle, 0, 1), 1);
	ask(0, open_of(FAKE_STORAGE), 2);
	ask(1, read_of(handle, 0, 1), 1);
	fake_wait(3);
	disconnect();
	assert_int_equal(fake_counts().stops, 1);
	assert_int_equal(fake_under_way(), 0);
	assert_int_equal(fake_counts().closed, 1);
	assert_silence(0);
	assert_silence(1);
}

static void *end_late(void *arg)
{
	(void)arg;
	eventually(fake_counts().stops == 1);
	for (unsigned i = 0; i < 3; i++)
		fake_end(0, 0);
	return NULL;
}

/* The answers were too near to be stopped.  The handle of the OPEN then belongs to nobody. */
static void test_a_session_ends_after_its_requests(void **state)
{
	uint32_t handle = open_there();
	pthread_t thread;

	(void)state;
	ask(0, read_of(handle, 0, 1), 1);
	ask(0, open_of(FAKE_STORAGE), 2);
	ask(1, read_of(handle, 0, 1), 1);
	fake_wait(3);
	fake_ignore_stop();
	assert_int_equal(pthread_create(&thread, NULL, end_late, NULL), 0);
	disconnect();
	assert_int_equal(fake_under_way(), 0);
	assert_int_equal(fake_counts().opened, 2);
	assert_int_equal(fake_counts().closed, 2);
	pthread_join(thread, NULL);
	assert_silence(0);
}

/* ---- all at once -------------------------------------------------------------------------- */

static atomic_bool no_more;

/* A peer that ends operations in random order, sometimes with an error. */
static void *busy_peer(void *arg)
{
	unsigned seed = 1;

	(void)arg;
	while (!no_more) {
		unsigned n = fake_under_way();

		if (n == 0) {
			sched_yield();
			continue;
		}
		fake_end((unsigned)rand_r(&seed) % n, rand_r(&seed) % 8 ? 0 : -EAGAIN);
	}
	return NULL;
}

struct storm {
	unsigned queue;
	uint32_t there, here;
};

/* Keeps its ring full.  Each request gets one response with its id. */
static void *storm(void *arg)
{
	const struct storm *s = arg;
	unsigned seed = s->queue + 7, asked = 0, answered = 0;
	bool waits[SLOTS] = {false};

	while (answered < 20000) {
		struct vread_response r;

		for (uint16_t id = 0; id < SLOTS && asked < 20000; id++) {
			unsigned kind = (unsigned)rand_r(&seed) % 4;

			if (waits[id])
				continue;
			waits[id] = true;
			asked++;
			ask(s->queue,
			    kind == 0   ? with_handle(VREAD_OP_STAT, s->there)
			    : kind == 1 ? read_of(s->here, 0, s->queue * SLOTS + id)
					: read_of(s->there, id * 1000U, s->queue * SLOTS + id),
			    id);
		}
		r = next(s->queue);
		assert_true(r.id < SLOTS && waits[r.id]);
		assert_true(r.status >= 0 || r.status == -EAGAIN);
		waits[r.id] = false;
		answered++;
	}
	return NULL;
}

static void test_storm(void **state)
{
	struct storm s[QUEUES];
	pthread_t front[QUEUES], peer;

	(void)state;
	for (unsigned q = 0; q < QUEUES; q++)
		s[q] = (struct storm){q, open_there(), open_here()};
	no_more = false;
	assert_int_equal(pthread_create(&peer, NULL, busy_peer, NULL), 0);
	for (unsigned q = 0; q < QUEUES; q++)
		assert_int_equal(pthread_create(&front[q], NULL, storm, &s[q]), 0);
	for (unsigned q = 0; q < QUEUES; q++)
		pthread_join(front[q], NULL);
	no_more = true;
	pthread_join(peer, NULL);
	assert_null(device.failure);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_a_block_of_another_host),
		TEST(test_what_is_here_is_read_here),
		TEST(test_nobody_is_asked_without_reason),
		TEST(test_no_host_is_asked_without_storages),
		TEST(test_a_replica_here_that_cannot_be_read),
		TEST(test_withdrawn_while_it_is_opened),
		TEST(test_errors_of_peers_are_answers),
		TEST(test_refused_at_once),
		TEST(test_without_peers_all_is_as_before),
		TEST(test_a_pool_that_cannot_be_used),
		TEST(test_answers_leave_as_they_come),
		TEST(test_answers_go_between_reads_of_what_is_here),
		TEST(test_a_ring_full_of_them),
		TEST(test_an_id_used_again_before_its_answer),
		TEST(test_more_than_the_ring_holds),
		TEST(test_closed_with_reads_under_way),
		TEST(test_large_reads_take_turns),
		TEST(test_small_requests_take_turns),
		TEST(test_waiting_reads_that_cannot_be_begun),
		TEST(test_a_session_ends_with_reads_that_wait),
		TEST(test_too_many_handles_at_the_end),
		TEST(test_no_host_is_asked_if_no_handle_is_left),
		TEST(test_a_hung_peer_holds_up_no_end),
		TEST(test_a_session_ends_after_its_requests),
		TEST(test_storm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
