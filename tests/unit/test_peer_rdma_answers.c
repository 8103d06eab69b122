/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests both ends of a READ over a queue pair (peer/rdma/asker.c and answerer.c): what is written,
 * what is told after it, and what the host that asked hands on.  This program fakes the queue pair:
 * a write is a copy, and a message that is sent waits until a test takes it to the other end.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "peer/rdma/transport_private.h"

#define CREDITS 4U
#define PIECE 1000U
#define ID 77U
#define SUM 0xfedcba98U

static struct rdma_transport *asker, *answerer;
static uint8_t pool[4 * PIECE], bounce[4 * PIECE];
static struct ibv_mr region; /* of both */
static unsigned exposed;     /* one bit for each slot */
static unsigned withdrawing; /* the slot that is being withdrawn; CREDITS: none */
static bool is_reachable;    /* the device of the host that asks reaches the pool */
static unsigned room;        /* messages that can be sent */
static unsigned writes;      /* so many were posted */
static const char *failure;  /* of either transport */
static struct {
	uint8_t data[RDMA_MESSAGE_BYTES];
	size_t length;
} sent;
static struct message_header handed;          /* the last message that was handed on */
static uint8_t handed_body[RDMA_FAILED_BODY]; /* of a FAILED */
static unsigned num_handed;

/* ---- the queue pair, and the rest of a transport ---- */

struct rdma_transport *rdma_transport_of(const struct transport *t)
{
	return (struct rdma_transport *)t;
}

int rdma_transport_failed(struct rdma_transport *t, int error, const char *text)
{
	(void)t;
	failure = text;
	return error;
}

struct rdma_slot *rdma_transport_find(struct rdma_transport *t, uint64_t id)
{
	for (unsigned i = 0; i < t->credits; i++)
		if (t->slots[i].used && t->slots[i].id == id)
			return &t->slots[i];
	return NULL;
}

int rdma_transport_hand_on(struct rdma_transport *t, const struct message_header *h,
			   const uint8_t *body)
{
	(void)t;
	handed = *h;
	if (h->type == MESSAGE_FAILED)
		memcpy(handed_body, body, sizeof(handed_body));
	num_handed++;
	return 0;
}

struct rdma_device *rdma_end_device(const struct rdma_end *e)
{
	(void)e;
	return NULL;
}

int rdma_region_of(struct rdma_device *d, enum rdma_side side, const uint8_t *at, size_t length,
		   struct ibv_mr **ret)
{
	(void)d, (void)length;
	*ret = &region;
	return side == RDMA_ASKS && at >= pool && at < pool + sizeof(pool) && !is_reachable
		       ? -ENOENT
		       : 0;
}

int rdma_end_expose(struct rdma_end *e, unsigned slot, struct ibv_mr *from, const uint8_t *at,
		    uint32_t length, uint32_t *ret_key)
{
	(void)e, (void)at, (void)length;
	assert_ptr_equal(from, &region);
	assert_false(exposed & 1U << slot);
	exposed |= 1U << slot;
	*ret_key = 5;
	return 0;
}

int rdma_end_withdraw(struct rdma_end *e, unsigned slot)
{
	(void)e;
	assert_true(exposed & 1U << slot);
	withdrawing = slot;
	return 0;
}

int rdma_bounce_take(struct rdma_bounce *b, struct rdma_end *e, uint8_t **ret)
{
	(void)e;
	b->region = &region;
	*ret = bounce;
	return 0;
}

void rdma_bounce_give(struct rdma_bounce *b, int number)
{
	(void)b, (void)number;
}

uint8_t *rdma_bounce_at(const struct rdma_bounce *b, int number)
{
	(void)b, (void)number;
	return bounce;
}

bool rdma_end_can_send(const struct rdma_end *e)
{
	(void)e;
	return room > 0;
}

int rdma_end_send(struct rdma_end *e, const uint8_t *data, size_t length)
{
	(void)e;
	if (!room)
		return -EAGAIN;
	room--;
	assert_in_range(length, 1, sizeof(sent.data));
	memcpy(sent.data, data, length);
	sent.length = length;
	return 0;
}

int rdma_end_write(struct rdma_end *e, const uint8_t *from, uint32_t length, uint32_t key,
		   uint64_t address, uint32_t remote_key)
{
	(void)e, (void)key, (void)remote_key;
	assert_true(length > 0);
	memcpy((void *)(uintptr_t)address, from, length);
	writes++;
	return 0;
}

/* ---- steps ---- */

static int place(void *ctx, const struct message_header *h, uint8_t **ret)
{
	(void)ctx, (void)h;
	*ret = pool;
	return 0;
}

static const struct transport_user user = {.place = place};

static struct rdma_transport *make(enum rdma_side side)
{
	struct rdma_transport *t = calloc(1, sizeof(*t) + CREDITS * sizeof(t->slots[0]));

	assert_non_null(t);
	t->side = side;
	t->credits = CREDITS;
	t->transport.user = &user;
	return t;
}

/* The asker asks for length bytes, and the answerer takes the READ. */
static void ask(uint32_t length)
{
	const struct message_read read = {.handle = 7, .length = length};
	struct message_header h;
	struct rdma_target target;
	uint8_t message[MESSAGE_MAX];
	struct outgoing o = {.message = message};
	enum rdma_fate fate = RDMA_DONE;

	o.length = message_put_read(message, ID, &read);
	assert_int_equal(message_get_header(message, &h), 0);
	assert_int_equal(rdma_asker_post(asker, &o, &h, &fate), 0);
	assert_int_equal(rdma_get_message(sent.data, sent.length, &h, &target), 0);
	assert_int_equal(rdma_answerer_on_read(answerer, &h, sent.data + MESSAGE_HEADER, &target),
			 0);
	sent.length = 0;
	num_handed = 0;
}

static int answer(uint8_t byte, uint32_t length, bool more, uint32_t sum)
{
	uint8_t message[MESSAGE_HEADER + PIECE];
	struct outgoing o = {.message = message};
	struct message_header h;
	enum rdma_fate fate = RDMA_DONE;

	o.length = message_put_data(message, ID, length, more, sum) + length;
	memset(message + MESSAGE_HEADER, byte, length);
	assert_int_equal(message_get_header(message, &h), 0);
	return rdma_answerer_post(answerer, &o, &h, &fate);
}

/* The asker takes what was sent. */
static int take(void)
{
	struct rdma_target target;
	struct message_header h;

	assert_int_equal(rdma_get_message(sent.data, sent.length, &h, &target), 0);
	return rdma_asker_on_answer(asker, &h, sent.data + MESSAGE_HEADER);
}

/* The adapter has withdrawn the place. */
static int withdraw(void)
{
	unsigned slot = withdrawing;

	assert_int_not_equal(slot, CREDITS);
	withdrawing = CREDITS;
	exposed &= ~(1U << slot);
	return rdma_asker_on_withdrawn(asker, slot);
}

static int take_and_withdraw(void)
{
	int r = take();

	return r ? r : withdraw();
}

static void assert_handed(uint32_t length, uint32_t sum)
{
	assert_int_equal(num_handed, 1);
	assert_int_equal(handed.type, MESSAGE_DATA);
	assert_int_equal(handed.id, ID);
	assert_int_equal(handed.flags, 0);
	assert_int_equal(handed.length, length);
	assert_int_equal(handed.crc32c, sum);
	assert_int_equal(exposed, 0);
	assert_null(rdma_transport_find(asker, ID));
	assert_null(rdma_transport_find(answerer, ID));
}

static int set_up(void **state)
{
	(void)state;
	asker = make(RDMA_ASKS);
	answerer = make(RDMA_ANSWERS);
	is_reachable = true;
	room = 10;
	exposed = 0;
	withdrawing = CREDITS;
	writes = 0;
	failure = NULL;
	memset(pool, 0, sizeof(pool));
	memset(bounce, 0, sizeof(bounce));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(asker);
	free(answerer);
	return 0;
}

/* ---- tests ---- */

static void one_message_follows_all_pieces(void **state)
{
	(void)state;
	ask(2 * PIECE + 5);
	assert_int_equal(answer('a', PIECE, true, 0), 0);
	assert_int_equal(answer('b', PIECE, true, 0), 0);
	assert_int_equal(sent.length, 0);
	assert_int_equal(answer('c', 5, false, SUM), 0);
	assert_int_equal(writes, 3);
	assert_int_equal(take_and_withdraw(), 0);
	assert_handed(2 * PIECE + 5, SUM);
	assert_int_equal(pool[PIECE - 1], 'a');
	assert_int_equal(pool[2 * PIECE - 1], 'b');
	assert_int_equal(pool[2 * PIECE + 4], 'c');
	assert_int_equal(pool[2 * PIECE + 5], 0);
	assert_int_equal(asker->counters.direct, 2 * PIECE + 5);
	assert_int_equal(answerer->counters.sent, 2 * PIECE + 5);
}

static void bytes_in_a_buffer_are_copied_to_their_place(void **state)
{
	(void)state;
	is_reachable = false;
	ask(PIECE);
	assert_int_equal(answer('a', PIECE, false, SUM), 0);
	assert_int_equal(pool[0], 0);
	assert_int_equal(take_and_withdraw(), 0);
	assert_handed(PIECE, SUM);
	assert_int_equal(pool[PIECE - 1], 'a');
	assert_int_equal(asker->counters.bounced, PIECE);
}

/* Nothing is written as long as the message that follows cannot be sent. */
static void the_last_bytes_wait_for_room_for_their_message(void **state)
{
	(void)state;
	ask(2 * PIECE);
	room = 0;
	assert_int_equal(answer('a', PIECE, true, 0), 0);
	assert_int_equal(answer('b', PIECE, false, SUM), -EAGAIN);
	assert_int_equal(writes, 1);
	room = 1;
	assert_int_equal(answer('b', PIECE, false, SUM), 0);
	assert_int_equal(writes, 2);
	assert_int_equal(take_and_withdraw(), 0);
	assert_handed(2 * PIECE, SUM);
}

static void no_bytes_need_no_write(void **state)
{
	(void)state;
	ask(PIECE);
	assert_int_equal(answer(0, 0, false, 0), 0);
	assert_int_equal(take_and_withdraw(), 0);
	assert_handed(0, 0);
	ask(2 * PIECE); /* the block ends behind the first piece */
	assert_int_equal(answer('a', PIECE, true, 0), 0);
	assert_int_equal(answer(0, 0, false, SUM), 0);
	assert_int_equal(take_and_withdraw(), 0);
	assert_handed(PIECE, SUM);
	assert_int_equal(writes, 1);
}

static void nothing_is_handed_on_while_the_other_host_can_write(void **state)
{
	(void)state;
	is_reachable = false;
	ask(PIECE);
	assert_int_equal(answer('a', PIECE, false, SUM), 0);
	assert_int_equal(take(), 0);
	assert_int_equal(num_handed, 0);
	assert_int_equal(pool[0], 0);
	assert_int_equal(withdraw(), 0);
	assert_handed(PIECE, SUM);
	assert_int_equal(pool[0], 'a');
}

static void a_failure_is_handed_on_when_the_place_is_withdrawn(void **state)
{
	uint8_t message[MESSAGE_MAX];

	(void)state;
	ask(PIECE);
	sent.length = message_put_failed(sent.data, ID, -ENOENT);
	assert_int_equal(take(), 0);
	assert_int_equal(num_handed, 0);
	assert_int_equal(withdraw(), 0);
	assert_int_equal(num_handed, 1);
	assert_int_equal(handed.type, MESSAGE_FAILED);
	message_put_failed(message, ID, -ENOENT);
	assert_memory_equal(handed_body, message + MESSAGE_HEADER, sizeof(handed_body));
}

static void a_second_answer_while_the_place_is_withdrawn(void **state)
{
	(void)state;
	ask(PIECE);
	assert_int_equal(answer('a', PIECE, false, SUM), 0);
	assert_int_equal(take(), 0);
	assert_int_equal(take(), -EPROTO);
	assert_string_equal(failure, "an answer to no request");
	assert_int_equal(num_handed, 0);
}

/* A READ waits before anything is exposed for it: a place that is exposed twice ends a queue
 * pair. */
static void a_read_waits_for_room_for_its_message(void **state)
{
	const struct message_read read = {.handle = 7, .length = PIECE};
	struct message_header h;
	uint8_t message[MESSAGE_MAX];
	struct outgoing o = {.message = message};
	enum rdma_fate fate = RDMA_DONE;

	(void)state;
	room = 0;
	o.length = message_put_read(message, ID, &read);
	assert_int_equal(message_get_header(message, &h), 0);
	assert_int_equal(rdma_asker_post(asker, &o, &h, &fate), -EAGAIN);
	assert_int_equal(exposed, 0);
	room = 1;
	assert_int_equal(rdma_asker_post(asker, &o, &h, &fate), 0);
	assert_int_equal(exposed, 1);
}

static void more_than_was_asked_for(void **state)
{
	(void)state;
	ask(PIECE);
	sent.length = rdma_put_data(sent.data, ID, PIECE + 1, SUM);
	assert_int_equal(take(), -EPROTO);
	assert_string_equal(failure, "more data than was asked for");
	sent.length = rdma_put_data(sent.data, ID + 1, 1, SUM);
	assert_int_equal(take(), -EPROTO);
	assert_string_equal(failure, "an answer to no request");
	assert_int_equal(num_handed, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_message_follows_all_pieces),
		TEST(bytes_in_a_buffer_are_copied_to_their_place),
		TEST(the_last_bytes_wait_for_room_for_their_message),
		TEST(no_bytes_need_no_write),
		TEST(nothing_is_handed_on_while_the_other_host_can_write),
		TEST(a_failure_is_handed_on_when_the_place_is_withdrawn),
		TEST(a_second_answer_while_the_place_is_withdrawn),
		TEST(a_read_waits_for_room_for_its_message),
		TEST(more_than_was_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
