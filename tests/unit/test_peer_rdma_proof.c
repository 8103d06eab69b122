/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests peer/rdma/proof.h: both ends of a queue pair prove the secret, and nobody else can. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "peer/rdma/proof.h"

#define ROOM 56 /* of a connection request's private data */

static const struct rdma_secret secret = {.name = "name of a link", .key = "key of a link"};

/* What an asker and an answerer exchange. */
struct talk {
	struct rdma_meeting asker, answerer;
	uint8_t hello[ROOM];
	struct rdma_welcome welcome;
	uint8_t proof[RDMA_PROOF_BYTES];
};

static void say_hello(struct talk *t, const struct rdma_secret *s)
{
	struct rdma_hello hello;

	memset(t, 0, sizeof(*t));
	assert_int_equal(rdma_proof_hello(s, &t->asker, &hello), 0);
	memcpy(t->hello, &hello, sizeof(hello));
	t->asker.asker_qp = t->answerer.asker_qp = 0x123456;
	t->asker.answerer_qp = t->answerer.answerer_qp = 0x654321;
}

static void say_welcome(struct talk *t, const struct rdma_secret *s)
{
	assert_int_equal(rdma_proof_take_hello(&t->answerer, t->hello, sizeof(t->hello)), 0);
	assert_int_equal(rdma_proof_welcome(s, &t->answerer, &t->welcome), 0);
}

static int take_welcome(struct talk *t)
{
	return rdma_proof_take_welcome(&secret, &t->asker, &t->welcome, sizeof(t->welcome),
				       t->proof);
}

static int check(struct talk *t)
{
	return rdma_proof_check(&secret, &t->answerer, t->proof, sizeof(t->proof));
}

static void test_both_have_the_secret(void **state)
{
	struct talk t;

	(void)state;
	say_hello(&t, &secret);
	say_welcome(&t, &secret);
	assert_memory_equal(t.answerer.name, secret.name, sizeof(secret.name));
	assert_int_equal(take_welcome(&t), 0);
	assert_int_equal(check(&t), 0);
}

static void test_an_answerer_without_the_secret(void **state)
{
	struct rdma_secret other = secret;
	struct talk t;

	(void)state;
	other.key[RDMA_KEY_BYTES - 1] ^= 1;
	say_hello(&t, &secret);
	say_welcome(&t, &other);
	assert_int_equal(take_welcome(&t), -EPROTO);
}

static void test_an_asker_without_the_secret(void **state)
{
	struct talk t;

	(void)state;
	say_hello(&t, &secret);
	say_welcome(&t, &secret);
	assert_int_equal(take_welcome(&t), 0);
	t.proof[0] ^= 0x80;
	assert_int_equal(check(&t), -EPROTO);
}

static void test_the_answerers_proof_is_not_the_askers(void **state)
{
	struct talk t;

	(void)state;
	say_hello(&t, &secret);
	say_welcome(&t, &secret);
	memcpy(t.proof, t.welcome.proof, sizeof(t.proof));
	assert_int_equal(check(&t), -EPROTO);
}

/* Repeats the messages of one connection in another. */
static void test_replay(void **state)
{
	struct talk first, again;

	(void)state;
	say_hello(&first, &secret);
	say_welcome(&first, &secret);
	assert_int_equal(take_welcome(&first), 0);

	again = first;
	say_welcome(&again, &secret); /* the asker repeats its messages */
	assert_int_equal(check(&again), -EPROTO);

	say_hello(&again, &secret); /* the answerer repeats its messages */
	again.welcome = first.welcome;
	assert_int_equal(take_welcome(&again), -EPROTO);
}

static void test_somebody_between_the_two(void **state)
{
	struct talk t;

	(void)state;
	say_hello(&t, &secret);
	t.answerer.asker_qp = 7; /* his own queue pair */
	say_welcome(&t, &secret);
	assert_int_equal(take_welcome(&t), -EPROTO);
	say_hello(&t, &secret);
	t.asker.answerer_qp = 7;
	say_welcome(&t, &secret);
	assert_int_equal(take_welcome(&t), -EPROTO);
}

static void test_what_is_no_greeting(void **state)
{
	struct talk t;

	(void)state;
	say_hello(&t, &secret);
	assert_int_equal(rdma_proof_take_hello(&t.answerer, NULL, 0), -EPROTO);
	assert_int_equal(rdma_proof_take_hello(&t.answerer, t.hello, sizeof(struct rdma_hello) - 1),
			 -EPROTO);
	t.hello[0] ^= 1;
	assert_int_equal(rdma_proof_take_hello(&t.answerer, t.hello, ROOM), -EPROTO);
	t.hello[0] ^= 1;
	say_welcome(&t, &secret);
	assert_int_equal(rdma_proof_take_welcome(&secret, &t.asker, &t.welcome,
						 sizeof(t.welcome) - 1, t.proof),
			 -EPROTO);
	assert_int_equal(take_welcome(&t), 0);
	assert_int_equal(rdma_proof_check(&secret, &t.answerer, t.proof, 0), -EPROTO);
	assert_int_equal(rdma_proof_check(&secret, &t.answerer, t.proof, sizeof(t.proof) - 1),
			 -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_have_the_secret),
		cmocka_unit_test(test_an_answerer_without_the_secret),
		cmocka_unit_test(test_an_asker_without_the_secret),
		cmocka_unit_test(test_the_answerers_proof_is_not_the_askers),
		cmocka_unit_test(test_replay),
		cmocka_unit_test(test_somebody_between_the_two),
		cmocka_unit_test(test_what_is_no_greeting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
