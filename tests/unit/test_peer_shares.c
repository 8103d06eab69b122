// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests how many workers and answer buffers a peer may hold (peer/answering/shares.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "peer/answering/server_private.h"

#define CLIENTS 6U

static struct peers_config config;
static struct peer_server server;
static struct client clients[CLIENTS];

static void begin(unsigned workers, unsigned buffers, unsigned connected)
{
	config = (struct peers_config){.workers = workers, .buffers = buffers};
	server = (struct peer_server){.config = &config};
	for (unsigned i = 0; i < CLIENTS; i++) {
		clients[i] = (struct client){0};
		if (i < connected)
			client_count(&server, &clients[i], 1, 0, 0);
	}
}

/* Takes buffers, and workers or none, until the client may not take more.  Returns how many. */
static unsigned take_all(struct client *client, int workers)
{
	unsigned taken = 0;

	for (; client_may_take(&server, client); taken++)
		client_count(&server, client, 0, workers, 1);
	return taken;
}

static void a_quarter_of_the_buffers(void **state)
{
	(void)state;
	begin(4, 32, 1);
	assert_int_equal(take_all(&clients[0], 0), 8);
	client_count(&server, &clients[0], 7, 0, 0); /* more connections */
	assert_false(client_may_take(&server, &clients[0]));
	client_count(&server, &clients[0], -8, 0, 0); /* and none, then a new one */
	client_count(&server, &clients[0], 1, 0, 0);
	assert_false(client_may_take(&server, &clients[0]));
	client_count(&server, &clients[0], 0, 0, -1);
	assert_int_equal(take_all(&clients[0], 0), 1);
}

static void who_has_none_finds_one(void **state)
{
	(void)state;
	begin(4, 8, 5);
	assert_int_equal(take_all(&clients[0], 0), 2);
	assert_int_equal(take_all(&clients[1], 0), 2);
	assert_int_equal(take_all(&clients[2], 0), 2); /* one is left for each of the others */
	assert_int_equal(take_all(&clients[3], 0), 1);
	assert_int_equal(take_all(&clients[4], 0), 1);
	assert_int_equal(take_all(&clients[0], 0), 0);
	client_count(&server, &clients[5], 1, 0, 0);
	assert_int_equal(take_all(&clients[5], 0), 0);
	client_count(&server, &clients[0], 0, 0, -1); /* the newcomer is the next */
	assert_int_equal(take_all(&clients[3], 0), 0);
	assert_int_equal(take_all(&clients[5], 0), 1);
	client_count(&server, &clients[0], 0, 0, -1);  /* all others have one */
	assert_int_equal(take_all(&clients[3], 0), 0); /* the first one has none now */
	assert_int_equal(take_all(&clients[0], 0), 1);
}

static void workers_are_left_too(void **state)
{
	(void)state;
	begin(4, 32, 1);
	assert_int_equal(take_all(&clients[0], 1), 4);
	begin(4, 32, 3);
	assert_int_equal(take_all(&clients[0], 1), 2);
	assert_int_equal(take_all(&clients[1], 1), 1);
	assert_int_equal(take_all(&clients[2], 1), 1);
	begin(4, 32, 6); /* no more than half is left for others */
	assert_int_equal(take_all(&clients[0], 1), 2);
	begin(1, 8, 6);
	assert_int_equal(take_all(&clients[0], 1), 1);
}

static void a_slow_connection_stops_no_other(void **state)
{
	struct conn one = {.server = &server, .client = &clients[0]}, two = one;

	(void)state;
	begin(4, 32, 0);
	conn_begin_counting(&one);
	conn_begin_counting(&two);
	while (conn_may_take(&one))
		conn_count_buffers(&one, 1);
	assert_int_equal(one.buffers, 7);
	assert_true(conn_may_take(&two));
	conn_count_buffers(&two, 1);
	assert_false(conn_may_take(&two));
	conn_end_counting(&one); /* what it holds still counts */
	assert_false(conn_may_take(&two));
	conn_count_buffers(&one, -7);
	while (conn_may_take(&two))
		conn_count_buffers(&two, 1);
	assert_int_equal(two.buffers, 8);
	conn_end_counting(&two);
	assert_int_equal(clients[0].idle, 0);
	assert_int_equal(server.without_buffer, 0);
}

/* Whatever clients take and give back, each finds something as long as there is more than enough
 * for one each of all. */
static void at_any_moment(void **state)
{
	(void)state;
	srandom(1);
	begin(12, 12, CLIENTS);
	for (unsigned i = 0; i < 100000; i++) {
		struct client *c = &clients[(unsigned)random() % CLIENTS];

		if (!c->buffers)
			assert_true(client_may_take(&server, c));
		if (c->buffers && random() % 2)
			client_count(&server, c, 0, -1, -1);
		else if (client_may_take(&server, c))
			client_count(&server, c, 0, 1, 1);
		assert_true(c->buffers <= 3);
		assert_true(server.pieces_used <= 12);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quarter_of_the_buffers),
		cmocka_unit_test(who_has_none_finds_one),
		cmocka_unit_test(workers_are_left_too),
		cmocka_unit_test(a_slow_connection_stops_no_other),
		cmocka_unit_test(at_any_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
