// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests the queue of a link (peer/asking/queue.h), and the room that each guest has in it. */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "peer/asking/queue.h"
#include "peer/wire/address.h"

static const char guest_a, guest_b;

static struct link_request of(const void *owner)
{
	return (struct link_request){.owner = owner};
}

static void owners_take_turns(void **state)
{
	struct request_queue q = {0};
	struct link_request a[3], b[2], close = {.owner = &guest_a, .silent = true};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		a[i] = of(&guest_a);
		request_queue_append(&q, &a[i]);
	}
	request_queue_append(&q, &close);
	for (unsigned i = 0; i < 2; i++) {
		b[i] = of(&guest_b);
		request_queue_append(&q, &b[i]);
	}
	assert_int_equal(request_queue_waiting(&q, &guest_a), 3);
	assert_int_equal(request_queue_waiting(&q, &guest_b), 2);
	assert_ptr_equal(request_queue_take(&q), &a[0]);
	assert_int_equal(request_queue_waiting(&q, &guest_a), 2);
	assert_ptr_equal(request_queue_take(&q), &b[0]);
	assert_ptr_equal(request_queue_take(&q), &a[1]);
	assert_ptr_equal(request_queue_take(&q), &b[1]);
	assert_int_equal(request_queue_waiting(&q, &guest_b), 0);
	assert_ptr_equal(request_queue_take(&q), &a[2]);
	assert_int_equal(request_queue_waiting(&q, &guest_a), 0);
	assert_ptr_equal(request_queue_take(&q), &close);
	assert_null(request_queue_take(&q));
}

static bool is_of(const struct link_request *r, void *owner)
{
	return r->owner == owner;
}

static void room_comes_back(void **state)
{
	struct request_queue q = {0};
	struct link_request a[4], b = of(&guest_b);

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		a[i] = of(&guest_a);
		request_queue_append(&q, &a[i]);
	}
	request_queue_append(&q, &b);
	assert_ptr_equal(request_queue_pick(&q, is_of, (void *)&guest_b), &b);
	assert_int_equal(request_queue_waiting(&q, &guest_a), 4);
	assert_int_equal(request_queue_waiting(&q, &guest_b), 0);
	assert_int_equal(q.count, 4);
}

/* ---- a link whose peer does not answer ---- */

/* A listening socket that accepts nothing, with a backlog that is full.  A further connection to it
 * is neither made nor refused. */
static struct {
	int listener, waiting[2];
	struct address address;
} silent;

static int set_up(void **state)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t length = sizeof(a);
	char text[32];

	(void)state;
	silent.listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(silent.listener, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(silent.listener, 0), 0);
	assert_int_equal(getsockname(silent.listener, (struct sockaddr *)&a, &length), 0);
	snprintf(text, sizeof(text), "127.0.0.1:%u", ntohs(a.sin_port));
	assert_true(address_parse(text, &silent.address));
	for (unsigned i = 0; i < 2; i++) {
		silent.waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(silent.waiting[i], (struct sockaddr *)&a, sizeof(a));
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++)
		close(silent.waiting[i]);
	close(silent.listener);
	return 0;
}

static unsigned ended;

static void on_done(struct link_request *r, int error, const struct message_block *block)
{
	(void)block;
	assert_true(error < 0);
	ended++;
	free(r);
}

static int ask(struct link *l, const void *owner, bool silent_request)
{
	struct link_request *r = calloc(1, sizeof(*r));
	int error;

	assert_non_null(r);
	r->owner = owner;
	r->expires = UINT64_MAX;
	r->silent = silent_request;
	r->done = on_done;
	error = link_ask(l, r);
	if (error)
		free(r);
	return error;
}

/* Two guests use one link.  The first asks for more than it may. */
static void a_full_guest_refuses_no_other(void **state)
{
	const struct link_settings settings = {.name = "b",
					       .address = &silent.address,
					       .answer_timeout = 60000};
	struct link *l = link_new(&settings);

	(void)state;
	assert_non_null(l);
	ended = 0;
	for (unsigned i = 0; i < LINK_MAX_QUEUED_EACH; i++)
		assert_int_equal(ask(l, &guest_a, false), 0);
	assert_int_equal(ask(l, &guest_a, false), -EAGAIN);
	assert_int_equal(ask(l, NULL, true), 0);
	for (unsigned i = 0; i < LINK_MAX_QUEUED_EACH; i++)
		assert_int_equal(ask(l, &guest_b, false), 0);
	assert_int_equal(ask(l, &guest_b, false), -EAGAIN);
	/* A CLOSE for each handle finds room: the peer would keep the handle. */
	for (unsigned i = 0; i < 2 * 4096; i++)
		assert_int_equal(ask(l, NULL, true), 0);
	link_free(l);
	assert_int_equal(ended, 2 * LINK_MAX_QUEUED_EACH + 2 * 4096 + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owners_take_turns),
		cmocka_unit_test(room_comes_back),
		cmocka_unit_test_setup_teardown(a_full_guest_refuses_no_other, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
