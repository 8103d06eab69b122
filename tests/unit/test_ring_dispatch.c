/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests ring/dispatch.h: answers that became invalid while their requests were carried out, and
 * who may publish.  This program fakes the functions of block.h.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/waiting.h"
#include "eventually.h"
#include "read/block.h"
#include "policy/audit.h"
#include "policy/policy.h"
#include "ring/dispatch.h"
#include "ring/queue.h"
#include "read/handles.h"

#define POOL_PAGES 4U
#define SUM 0xdecade01 /* CRC32C of what block_read() reads, as it says */

struct block_handle {
	int dummy;
};

/* The only block. */
static struct {
	struct block_handle handle;
	bool withdrawn;
	bool other_keys; /* the grant of a handle no longer holds */
	int error;       /* of block_read() and block_stat() */
	unsigned holds, releases, published;
	atomic_uint closes;
	const struct policy *asked; /* by the last block_hold() */
	struct block_event event;
	char pool_id[64], storage_id[64];
	uint8_t keys[64];
	size_t keys_length;
	bool required;
	uint32_t close_in_read; /* handle that another queue closes during block_read() */
	atomic_bool hangs;      /* block_close() waits for a disk */
} block;

static struct handles *handles;

static vread_sring_t *ring; /* NULL: no queue works */
static RING_IDX answered_at_release;

int block_open(struct block_store *s, const struct policy *p, const struct block_name *name,
	       struct block_handle **ret, struct block_info *ret_info)
{
	(void)s, (void)p;
	if (strcmp(name->pool_id, "BP-1") != 0)
		return -ENODEV;
	*ret = &block.handle;
	*ret_info = (struct block_info){1000, name->genstamp, VREAD_BLOCK_FINALIZED};
	return 0;
}

ssize_t block_read(struct block_handle *h, uint64_t offset, void *dst, uint32_t length,
		   uint32_t *ret_crc32c)
{
	(void)h, (void)offset;
	if (block.close_in_read)
		handles_remove(handles, block.close_in_read);
	memset(dst, 'b', length);
	*ret_crc32c = SUM;
	return block.error ? block.error : (ssize_t)length;
}

int block_stat(struct block_handle *h, struct block_info *ret_info)
{
	(void)h;
	*ret_info = (struct block_info){1000, 5, VREAD_BLOCK_FINALIZED};
	return block.error;
}

void block_close(struct block_handle *h)
{
	(void)h;
	if (block.hangs)
		waiting_announce();
	eventually(!block.hangs);
	block.closes++;
}

bool block_is_granted(struct block_handle *h)
{
	assert_ptr_equal(h, &block.handle);
	assert_int_equal(block.closes, 0);
	assert_int_equal(block.holds, block.releases); /* nothing may wait during a hold */
	return !block.other_keys;
}

bool block_hold(struct block_handle *h, const struct policy *p)
{
	block.asked = p;
	assert_ptr_equal(h, &block.handle);
	assert_int_equal(block.closes, 0); /* it must still be there */
	block.holds++;
	return !block.withdrawn;
}

void block_release(struct block_handle *h)
{
	assert_ptr_equal(h, &block.handle);
	assert_int_equal(block.closes, 0);
	block.releases++;
	if (ring)
		answered_at_release = ring->rsp_prod;
}

int block_publish(struct block_store *s, const struct policy *p, const struct block_event *e)
{
	(void)s, (void)p;
	block.published++;
	block.event = *e;
	strcpy(block.pool_id, e->pool_id);
	strcpy(block.storage_id, e->storage_id);
	return 0;
}

int block_take_keys(struct block_store *s, const struct policy *p, const struct block_keys *k)
{
	(void)s, (void)p;
	strcpy(block.pool_id, k->pool_id);
	strcpy(block.storage_id, k->storage_id);
	block.keys_length = k->keys_length;
	memcpy(block.keys, k->keys, k->keys_length);
	block.required = k->required;
	return 0;
}

static struct {
	unsigned count;
	struct audit_open last;
} audited;

void audit_open(const struct audit_open *o)
{
	assert_int_equal(block.holds, block.releases); /* the log may wait */
	audited.count++;
	audited.last = *o;
}

/* ---- fixture ---------------------------------------------------------------- */

static struct {
	struct port_conn conn;
	struct dispatch dispatch;
	struct dispatch_scratch scratch;
	struct policy *policy;
	uint8_t pool[POOL_PAGES * VREAD_PAGE_SIZE];
} device;

static int set_up(void **state)
{
	const char *error;

	(void)state;
	memset(&block, 0, sizeof(block));
	memset(&device, 0, sizeof(device));
	device.policy = policy_new(POLICY_DATANODE, "dn1", "*", &error);
	assert_null(policy_set_publish(device.policy, "dn1"));
	device.conn = (struct port_conn){
		.policy = device.policy,
		.may_publish = true,
		.pool = device.pool,
		.pool_pages = POOL_PAGES,
	};
	device.dispatch.conn = &device.conn;
	device.dispatch.reader = (struct reader){
		.policy = device.policy,
		.handles = handles_new(dispatch_close, NULL),
		.client = &device,
	};
	handles = device.dispatch.reader.handles;
	return device.policy && device.dispatch.reader.handles ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	handles_free(device.dispatch.reader.handles);
	policy_free(device.policy);
	return 0;
}

static uint32_t put_data_of(const char *pool_id, const char *const *storages, uint16_t count,
			    const char *token)
{
	struct vread_open_data header = {
		.pool_id_length = (uint16_t)strlen(pool_id),
		.num_storages = count,
		.token_length = (uint16_t)strlen(token),
	};
	uint8_t *p = device.pool;

	memcpy(p, &header, sizeof(header));
	p += sizeof(header);
	memcpy(p, pool_id, strlen(pool_id));
	p += strlen(pool_id);
	for (uint16_t i = 0; i < count; i++) {
		*p = (uint8_t)strlen(storages[i]);
		memcpy(p + 1, storages[i], *p);
		p += *p + 1;
	}
	memcpy(p, token, strlen(token));
	return (uint32_t)(p + strlen(token) - device.pool);
}

static uint32_t put_data(const char *const *storages, uint16_t count, const char *token)
{
	return put_data_of("BP-1", storages, count, token);
}

static struct vread_request open_request(void)
{
	return (struct vread_request){
		.operation = VREAD_OP_OPEN,
		.pool_pages = 1,
		.u.open = {.block_id = 7, .genstamp = 5, .data_length = put_data(NULL, 0, "")},
	};
}

static struct vread_request read_request(uint32_t handle)
{
	return (struct vread_request){
		.operation = VREAD_OP_READ,
		.handle = handle,
		.pool_pages = 1,
		.u.read = {.length = 100},
	};
}

static struct vread_request handle_request(uint8_t operation, uint32_t handle)
{
	return (struct vread_request){.operation = operation, .handle = handle};
}

static struct vread_request publish_request(unsigned event)
{
	static const char *const storage = "DS-1";

	return (struct vread_request){
		.operation = VREAD_OP_PUBLISH,
		.pool_pages = 1,
		.u.publish = {.block_id = 7,
			      .genstamp = 5,
			      .event = event,
			      .data_length = put_data(&storage, 1, "")},
	};
}

/* Carries out the request.  Then withdraws the block, if withdraw_meanwhile is set, and answers. */
static struct vread_response answer(struct vread_request r, bool withdraw_meanwhile)
{
	struct vread_response response = {0};

	r.id = 3;
	dispatch_request(&device.dispatch, &device.scratch, &r, &response);
	if (withdraw_meanwhile)
		block.withdrawn = true;
	dispatch_seal(&device.dispatch, &device.scratch, &r, &response);
	/* here it would be put on the ring */
	assert_int_equal(block.holds - block.releases,
			 device.scratch.reading.handle.object ? 1 : 0);
	dispatch_unseal(&device.scratch);
	assert_int_equal(block.holds, block.releases);
	dispatch_end(&device.scratch);
	assert_null(device.scratch.reading.handle.object);
	assert_int_equal(response.id, 3);
	assert_int_equal(response.operation, r.operation);
	return response;
}

static uint32_t open_block(void)
{
	struct vread_response response = answer(open_request(), false);

	assert_int_equal(response.status, 0);
	assert_int_not_equal(response.handle, 0);
	return response.handle;
}

static void assert_bare(const struct vread_response *r, int status)
{
	const struct vread_response bare = {.id = r->id,
					    .operation = r->operation,
					    .status = status};

	assert_memory_equal(r, &bare, sizeof(bare));
}

/* ---- withdrawn meanwhile ------------------------------------------------------ */

static void test_what_nobody_withdrew_is_answered(void **state)
{
	uint32_t handle = open_block();
	struct vread_response r;

	(void)state;
	r = answer(read_request(handle), false);
	assert_int_equal(r.status, 100);
	assert_int_equal(r.u.read.crc32c, SUM);
	r = answer(handle_request(VREAD_OP_STAT, handle), false);
	assert_int_equal(r.status, 0);
	assert_int_equal(r.u.block.length, 1000);
	assert_int_equal(block.holds, 3);
	assert_ptr_equal(block.asked, device.policy);
}

static void test_a_read_is_denied(void **state)
{
	uint32_t handle = open_block();
	struct vread_response r = answer(read_request(handle), true);

	(void)state;
	assert_bare(&r, -EAGAIN);
	assert_int_equal(device.dispatch.counters.reads, 0);
	assert_int_equal(device.dispatch.counters.bytes, 0);
	assert_int_equal(device.dispatch.counters.errors[EAGAIN], 1);
}

/* The data is being changed, so its error no longer concerns the reader. */
static void test_a_failed_read_is_denied_too(void **state)
{
	uint32_t handle = open_block();
	struct vread_response r;

	(void)state;
	block.error = -EBADMSG;
	r = answer(read_request(handle), false);
	assert_bare(&r, -EBADMSG);
	r = answer(read_request(handle), true);
	assert_bare(&r, -EAGAIN);
}

static void test_a_stat_is_denied(void **state)
{
	uint32_t handle = open_block();
	struct vread_response r = answer(handle_request(VREAD_OP_STAT, handle), true);

	(void)state;
	assert_bare(&r, -EAGAIN);
}

/* The OPEN was judged a moment ago. The next request of the handle is judged again. */
static void test_other_keys_deny_what_is_open(void **state)
{
	uint32_t handle;
	struct vread_response r;

	(void)state;
	block.other_keys = true;
	handle = open_block();
	r = answer(read_request(handle), false);
	assert_bare(&r, -EAGAIN);
	r = answer(handle_request(VREAD_OP_STAT, handle), false);
	assert_bare(&r, -EAGAIN);
	r = answer(handle_request(VREAD_OP_CLOSE, handle), false);
	assert_bare(&r, 0);
}

static void test_an_open_is_denied_and_leaves_nothing(void **state)
{
	struct vread_response r = answer(open_request(), true);

	(void)state;
	assert_bare(&r, -ENOENT);
	assert_int_equal(block.closes, 1);
	assert_int_equal(handles_count(device.dispatch.reader.handles), 0);
	assert_int_equal(device.dispatch.counters.opens, 0);
}

/* Another queue closes the handle after the look-up: the block lives until the answer is given. */
static void test_closed_meanwhile(void **state)
{
	uint32_t handle = open_block();
	struct vread_request r = read_request(handle);
	struct vread_response response = {0};

	(void)state;
	dispatch_request(&device.dispatch, &device.scratch, &r, &response);
	assert_int_equal(handles_remove(device.dispatch.reader.handles, handle), 0);
	dispatch_seal(&device.dispatch, &device.scratch, &r, &response);
	assert_int_equal(response.status, 100);
	dispatch_unseal(&device.scratch);
	assert_int_equal(block.closes, 0);
	dispatch_end(&device.scratch);
	assert_int_equal(block.closes, 1);
}

static void test_what_is_about_no_block_holds_none(void **state)
{
	uint32_t handle = open_block();
	struct vread_response r;

	(void)state;
	block.holds = block.releases = 0;
	r = answer(read_request(12345), true);
	assert_bare(&r, -EBADF);
	r = answer(handle_request(99, 0), true);
	assert_bare(&r, -EOPNOTSUPP);
	r = answer(publish_request(VREAD_PUBLISH_APPEND), true);
	assert_bare(&r, 0);
	r = answer(handle_request(VREAD_OP_CLOSE, handle), true);
	assert_bare(&r, 0);
	assert_int_equal(block.holds, 0);
	assert_int_equal(block.closes, 1);
}

/* ---- signs of life -------------------------------------------------------------- */

static void test_a_sign_of_life_is_no_error(void **state)
{
	struct vread_request unknown = open_request(), sign = unknown;
	struct vread_response r;

	(void)state;
	sign.u.open.data_length = put_data_of(VREAD_NO_POOL, NULL, 0, "");
	r = answer(sign, false);
	assert_bare(&r, -ENODEV);
	assert_int_equal(device.dispatch.counters.errors[ENODEV], 0);
	unknown.u.open.data_length = put_data_of("BP-2", NULL, 0, "");
	r = answer(unknown, false);
	assert_bare(&r, -ENODEV);
	assert_int_equal(device.dispatch.counters.errors[ENODEV], 1);
}

/* ---- publishing ----------------------------------------------------------------- */

static void test_an_event_arrives_whole(void **state)
{
	struct vread_response r = answer(publish_request(VREAD_PUBLISH_TRUNCATE), false);

	(void)state;
	assert_bare(&r, 0);
	assert_int_equal(block.published, 1);
	assert_string_equal(block.pool_id, "BP-1");
	assert_string_equal(block.storage_id, "DS-1");
	assert_int_equal(block.event.block_id, 7);
	assert_int_equal(block.event.genstamp, 5);
	assert_int_equal(block.event.event, VREAD_PUBLISH_TRUNCATE);
	assert_int_equal(device.dispatch.counters.published, 1);
}

static void refuse(struct vread_request request, int status)
{
	struct vread_response r = answer(request, false);

	assert_bare(&r, status);
	assert_int_equal(block.published, 0);
}

static void test_bad_events(void **state)
{
	static const char *const storages[] = {"DS-1", "DS-2"};
	struct vread_request r = publish_request(VREAD_PUBLISH_DELETE);

	(void)state;
	r.u.publish.data_length = put_data(storages, 2, "");
	refuse(r, -EINVAL);
	r.u.publish.data_length = put_data(storages, 0, "");
	refuse(r, -EINVAL);
	r.u.publish.data_length = put_data(storages, 1, "t");
	refuse(r, -EINVAL);
	r.u.publish.data_length = put_data(storages, 1, "") - 1;
	refuse(r, -EINVAL);
	refuse(publish_request(0), -EINVAL);
	refuse(publish_request(VREAD_PUBLISH_DELETE + 1), -EINVAL);
	assert_int_equal(device.dispatch.counters.published, 0);
}

static void test_keys(void **state)
{
	static const char *const storage = "DS-1";
	struct vread_request r = {.operation = VREAD_OP_KEYS, .pool_pages = 1};
	struct vread_key header = {7, VREAD_KEY_HMAC_SHA256, 10, 0, 8};
	uint8_t *at;

	(void)state;
	r.u.keys.data_length = put_data(&storage, 1, "header--header--0123456789");
	r.u.keys.tokens = 1;
	at = device.pool + r.u.keys.data_length - 26;
	memcpy(at, &header, sizeof(header));
	assert_int_equal(answer(r, false).status, 0);
	assert_string_equal(block.pool_id, "BP-1");
	assert_string_equal(block.storage_id, "DS-1");
	assert_int_equal(block.keys_length, 26);
	assert_memory_equal(block.keys, at, 26);
	assert_true(block.required);
	/* The key must not stay in memory that is used again. */
	assert_null(memmem(device.scratch.raw, sizeof(device.scratch.raw), "0123456789", 10));
	r.u.keys.tokens = 0;
	assert_int_equal(answer(r, false).status, -EINVAL);
}

static void test_a_client_publishes_nothing(void **state)
{
	const char *error;
	struct policy *client = policy_new(POLICY_CLIENT, "*", "*", &error);

	(void)state;
	device.conn.policy = client;
	refuse(publish_request(VREAD_PUBLISH_FINALIZED), -EOPNOTSUPP);
	policy_free(client);
}

/* The port says that this connection only reads, whatever the policy allows. */
static void test_a_reader_publishes_nothing(void **state)
{
	(void)state;
	atomic_store(&device.conn.may_publish, false);
	refuse(publish_request(VREAD_PUBLISH_FINALIZED), -EACCES);
}

static int wake_fd;

static int event_fd(struct port_conn *c, unsigned q)
{
	(void)c, (void)q;
	return wake_fd;
}

static int event_take(struct port_conn *c, unsigned q)
{
	eventfd_t value;

	(void)c, (void)q;
	return eventfd_read(wake_fd, &value);
}

static void event_rearm(struct port_conn *c, unsigned q)
{
	(void)c, (void)q;
}

static int answered_fd;

static void notify(struct port_conn *c, unsigned q)
{
	(void)c, (void)q;
	eventfd_write(answered_fd, 1);
}

/* A queue of the device, and the frontend's side of its ring. */
static struct {
	_Alignas(VREAD_PAGE_SIZE) uint8_t page[VREAD_PAGE_SIZE];
	struct queue_shared shared;
	struct queue *queue;
	vread_front_ring_t front;
	pthread_t keeper;
	sem_t wake;
} line = {.shared.starting = PTHREAD_MUTEX_INITIALIZER, .shared.keeper = &line.wake};

static void *keep(void *arg)
{
	while (sem_wait(&line.wake) == 0 && !line.shared.halt)
		queue_add_hand(line.queue);
	return arg;
}

static void line_up(unsigned spare_hands)
{
	static const struct port_conn_ops ops = {
		.event_fd = event_fd,
		.event_take = event_take,
		.event_rearm = event_rearm,
		.notify = notify,
	};

	ring = (vread_sring_t *)line.page;
	SHARED_RING_INIT(ring);
	FRONT_RING_INIT(&line.front, ring, sizeof(line.page));
	wake_fd = eventfd(0, EFD_CLOEXEC);
	answered_fd = eventfd(0, EFD_CLOEXEC);
	device.conn.ops = &ops;
	device.conn.num_queues = 1;
	device.conn.queue[0] = (struct port_queue){line.page, sizeof(line.page)};
	line.shared.dispatch = device.dispatch;
	line.shared.halt = false;
	line.shared.spare_hands = spare_hands;
	line.shared.halt_fd = eventfd(0, EFD_CLOEXEC);
	sem_init(&line.wake, 0, 0);
	assert_int_equal(queue_start(&line.queue, &line.shared, 0), 0);
	assert_int_equal(pthread_create(&line.keeper, NULL, keep, NULL), 0);
}

static void line_down(void)
{
	atomic_store(&line.shared.halt, true);
	eventfd_write(line.shared.halt_fd, 1);
	sem_post(&line.wake);
	pthread_join(line.keeper, NULL);
	queue_join(line.queue);
	ring = NULL;
	close(line.shared.halt_fd);
	close(answered_fd);
	close(wake_fd);
}

static void send(struct vread_request r)
{
	int push;

	r.id = (uint16_t)line.front.req_prod_pvt;
	*RING_GET_REQUEST(&line.front, line.front.req_prod_pvt++) = r;
	RING_PUSH_REQUESTS_AND_CHECK_NOTIFY(&line.front, push);
	if (push)
		eventfd_write(wake_fd, 1);
}

/* Waits for an event, as a frontend does, and takes the responses. Returns their number. */
static unsigned take_responses(void)
{
	struct pollfd answered = {.fd = answered_fd, .events = POLLIN};
	RING_IDX before = line.front.rsp_cons;
	eventfd_t value;
	int more;

	eventually(poll(&answered, 1, 0) == 1);
	eventfd_read(answered_fd, &value);
	do {
		line.front.rsp_cons = ring->rsp_prod;
		RING_FINAL_CHECK_FOR_RESPONSES(&line.front, more);
	} while (more);
	return line.front.rsp_cons - before;
}

/* An owner waits for holds, so after its wait no answer of before may appear on the ring. */
static void test_an_answer_is_on_the_ring_before_its_hold_ends(void **state)
{
	uint32_t handle = open_block();

	(void)state;
	line_up(0);
	send(read_request(handle));
	assert_int_equal(take_responses(), 1);
	line_down();
	assert_int_equal(answered_at_release, 1);
}

/*
 * To close a block may take long, since reads ahead of it are awaited. The frontend hears of the
 * answer before that. Until then it would get no event for other answers, either.
 */
static void test_an_answer_is_told_before_its_block_is_closed(void **state)
{
	uint32_t handle = open_block(), other = open_block();

	(void)state;
	block.close_in_read = handle;
	block.hangs = true;
	line_up(1);
	send(read_request(handle));
	assert_int_equal(take_responses(), 1);
	assert_int_equal(block.holds, block.releases);
	send(handle_request(VREAD_OP_STAT, other));
	assert_int_equal(take_responses(), 1);
	block.hangs = false;
	eventually(block.closes == 1);
	line_down();
}

/* The port knows the user of a program, and only the request the user in a guest. */
static void test_who_opens(void **state)
{
	struct vread_request r = open_request(), malformed = open_request();

	(void)state;
	audited.count = 0;
	r.u.open.user = 1001;
	answer(r, false);
	assert_int_equal(audited.last.user, 1001);
	assert_int_equal(audited.last.status, 0);
	assert_int_equal(audited.last.block_id, 7);
	assert_string_equal(audited.last.pool_id, "BP-1");
	device.conn.user = 2001;
	answer(r, false);
	assert_int_equal(audited.last.user, 2001);
	answer(r, true); /* withdrawn before the answer */
	assert_int_not_equal(audited.last.status, 0);
	device.conn.user = 0;
	assert_int_equal(audited.count, 4); /* it was opened first */
	malformed.u.open.reserved[3] = 1;
	answer(malformed, false);
	answer(read_request(77), false);
	assert_int_equal(audited.count, 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_what_nobody_withdrew_is_answered),
		TEST(test_a_read_is_denied),
		TEST(test_a_failed_read_is_denied_too),
		TEST(test_a_stat_is_denied),
		TEST(test_other_keys_deny_what_is_open),
		TEST(test_an_open_is_denied_and_leaves_nothing),
		TEST(test_closed_meanwhile),
		TEST(test_what_is_about_no_block_holds_none),
		TEST(test_a_sign_of_life_is_no_error),
		TEST(test_an_event_arrives_whole),
		TEST(test_bad_events),
		TEST(test_keys),
		TEST(test_who_opens),
		TEST(test_a_client_publishes_nothing),
		TEST(test_a_reader_publishes_nothing),
		TEST(test_an_answer_is_on_the_ring_before_its_hold_ends),
		TEST(test_an_answer_is_told_before_its_block_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
