/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests peer/rdma/wire.h: valid messages are read back, and all others are refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "peer/rdma/wire.h"

static const struct rdma_target target = {0x123456789abcdef0, 0xfedcba98, 1023};

static size_t put_read(uint8_t *out)
{
	const struct message_read read = {.handle = 7, .length = VREAD_MAX_READ, .offset = 1 << 20};
	uint8_t message[MESSAGE_MAX];

	message_put_read(message, 99, &read);
	return rdma_put_read(out, message, &target);
}

static void test_a_read(void **state)
{
	uint8_t data[RDMA_MESSAGE_BYTES];
	struct rdma_target got = {0};
	struct message_header h;
	struct message_read read;
	size_t length = put_read(data);

	(void)state;
	assert_int_equal(rdma_get_message(data, length, &h, &got), 0);
	assert_int_equal(h.type, MESSAGE_READ);
	assert_int_equal(h.id, 99);
	assert_int_equal(message_get_read(data + MESSAGE_HEADER, h.length, &read), 0);
	assert_int_equal(read.handle, 7);
	assert_memory_equal(&got, &target, sizeof(got));
}

static void test_a_read_of_another_length(void **state)
{
	uint8_t data[RDMA_MESSAGE_BYTES + 1] = {0};
	struct rdma_target got;
	struct message_header h;
	size_t length = put_read(data);

	(void)state;
	for (size_t other = 0; other <= sizeof(data); other++)
		if (other != length)
			assert_int_equal(rdma_get_message(data, other, &h, &got), -EPROTO);
}

static void test_answers(void **state)
{
	uint8_t message[MESSAGE_MAX];
	struct rdma_target got;
	struct message_header h;
	size_t length = message_put_failed(message, 5, -ENOENT);

	(void)state;
	assert_int_equal(rdma_get_message(message, length, &h, &got), 0);
	assert_int_equal(h.type, MESSAGE_FAILED);
}

static void test_data(void **state)
{
	static const uint32_t written[] = {0, 1, 4096, VREAD_MAX_READ};
	uint8_t message[RDMA_MESSAGE_BYTES];
	struct rdma_target got;
	struct message_header h;
	size_t length;

	(void)state;
	for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++) {
		uint32_t sum = written[i] ? 0xfedcba98 : 0;

		length = rdma_put_data(message, 5, written[i], sum);
		assert_int_equal(rdma_get_message(message, length, &h, &got), 0);
		assert_int_equal(h.type, MESSAGE_DATA);
		assert_int_equal(h.id, 5);
		assert_int_equal(h.length, written[i]);
		assert_int_equal(h.crc32c, sum);
		assert_int_equal(rdma_get_message(message, length - 1, &h, &got), -EPROTO);
	}
	length = rdma_put_data(message, 5, VREAD_MAX_READ + 1, 1);
	assert_int_equal(rdma_get_message(message, length, &h, &got), -EPROTO);
	length = rdma_put_data(message, 5, 0, 1); /* no bytes have no such CRC32C */
	assert_int_equal(rdma_get_message(message, length, &h, &got), -EPROTO);
}

static void test_what_belongs_to_tls(void **state)
{
	const struct message_hello hello = {MESSAGE_VERSION, MESSAGE_TRANSPORT_RDMA, 1};
	uint8_t message[MESSAGE_MAX];
	struct rdma_target got;
	struct message_header h;

	(void)state;
	assert_int_equal(rdma_get_message(message, message_put_hello(message, &hello), &h, &got),
			 -EPROTO);
	assert_int_equal(rdma_get_message(message, message_put_handle(message, MESSAGE_CLOSE, 1, 2),
					  &h, &got),
			 -EPROTO);
	message_put_data(message, 5, 16, false, 1); /* bytes are written, not sent */
	assert_int_equal(rdma_get_message(message, MESSAGE_HEADER + 16, &h, &got), -EPROTO);
	message_put_data(message, 5, 0, false, 0);
	assert_int_equal(rdma_get_message(message, MESSAGE_HEADER, &h, &got), -EPROTO);
	message_put_data(message, 5, RDMA_DATA_BODY, true, 0);
	assert_int_equal(rdma_get_message(message, MESSAGE_HEADER + RDMA_DATA_BODY, &h, &got),
			 -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_read),  cmocka_unit_test(test_a_read_of_another_length),
		cmocka_unit_test(test_answers), cmocka_unit_test(test_what_belongs_to_tls),
		cmocka_unit_test(test_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
