/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests which way a message takes through the transport by RDMA (peer/rdma/transport.c): the queue
 * pair, or TLS.  This program fakes the stream of TLS, and the making of queue pairs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <netinet/in.h>

#include <cmocka.h>

#include "peer/rdma/transport_private.h"

static struct transport *asker;
static unsigned by_tls; /* messages that went to the stream */

/* ---- the stream, and the making of the queue pair ---- */

static void stream_send(struct transport *t, struct outgoing *o)
{
	(void)t;
	by_tls++;
	o->release(o);
}

static void stream_free(struct transport *t)
{
	(void)t;
}

static const struct transport_ops stream_ops = {.send = stream_send, .free = stream_free};
static struct transport stream = {.ops = &stream_ops};

int rdma_pair_begin(struct rdma_transport *t, const struct rdma_choice *choice)
{
	(void)choice;
	t->dial.state = RDMA_DIAL_UP;
	return 0;
}

int rdma_pair_advance(struct rdma_transport *t)
{
	(void)t;
	return 0;
}

int rdma_pair_watch(struct rdma_transport *t, int fd)
{
	(void)t, (void)fd;
	return 0;
}

/* ---- tests ---- */

static int set_up(void **state)
{
	const struct sockaddr_in address = {.sin_family = AF_INET};
	const struct rdma_secret secret = {0};
	const struct rdma_choice choice = {.or_tls = true};
	char *error = NULL;

	(void)state;
	by_tls = 0;
	asker = rdma_ask(NULL, (const struct sockaddr *)&address, &secret, 4, &choice, &stream,
			 &error);
	assert_non_null(asker);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	asker->ops->free(asker);
	return 0;
}

static void send_message(const uint8_t *message, size_t length, bool encrypt)
{
	struct outgoing *o = outgoing_new(message, length);

	assert_non_null(o);
	o->encrypt = encrypt;
	asker->ops->send(asker, o);
}

static void send_read(bool encrypt)
{
	const struct message_read read = {.handle = 7, .length = 100};
	uint8_t message[MESSAGE_MAX];

	send_message(message, message_put_read(message, 77, &read), encrypt);
}

static void a_read_goes_by_the_queue_pair(void **state)
{
	(void)state;
	send_read(false);
	assert_int_equal(by_tls, 0);
	assert_non_null(rdma_transport_of(asker)->first);
}

static void a_read_whose_bytes_must_be_encrypted_goes_by_tls(void **state)
{
	(void)state;
	send_read(true);
	assert_int_equal(by_tls, 1);
	assert_null(rdma_transport_of(asker)->first);
}

static void all_else_goes_by_tls(void **state)
{
	uint8_t message[MESSAGE_MAX];

	(void)state;
	send_message(message, message_put_cancel(message, 77), false);
	send_message(message, message_put_handle(message, MESSAGE_STAT, 78, 7), false);
	assert_int_equal(by_tls, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_read_goes_by_the_queue_pair),
		TEST(a_read_whose_bytes_must_be_encrypted_goes_by_tls),
		TEST(all_else_goes_by_tls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
