/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests peer/wire/message.h: messages are read back unchanged, and wrong messages are refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "peer/wire/message.h"

static uint8_t out[MESSAGE_MAX];

/* Returns the header of the message of that size at out.  The header must cover the body. */
static struct message_header header(size_t size)
{
	struct message_header h;

	assert_in_range(size, MESSAGE_HEADER, MESSAGE_MAX);
	assert_int_equal(message_get_header(out, &h), 0);
	assert_int_equal(h.length, size - MESSAGE_HEADER);
	return h;
}

static void hello(void **state)
{
	struct message_hello m = {MESSAGE_VERSION, MESSAGE_TRANSPORT_TLS, 32}, got;
	struct message_header h = header(message_put_hello(out, &m));

	(void)state;
	assert_int_equal(h.type, MESSAGE_HELLO);
	assert_int_equal(message_get_hello(out + MESSAGE_HEADER, h.length, &got), 0);
	assert_int_equal(got.version, MESSAGE_VERSION);
	assert_int_equal(got.transports, MESSAGE_TRANSPORT_TLS);
	assert_int_equal(got.credits, 32);
	out[MESSAGE_HEADER]++;
	assert_int_equal(message_get_hello(out + MESSAGE_HEADER, h.length, &got), -EPROTO);
	m.credits = MESSAGE_MAX_CREDITS + 1;
	message_put_hello(out, &m);
	assert_int_equal(message_get_hello(out + MESSAGE_HEADER, h.length, &got), -EPROTO);
}

/* The largest OPEN fits, and each of its prefixes is refused. */
static void largest_open(void **state)
{
	static struct message_open m, got;
	static char pool[VREAD_MAX_POOL_ID + 2], storage[VREAD_MAX_STORAGE_ID + 2];
	static uint8_t token[VREAD_MAX_TOKEN];
	/* The space that the OPEN of a guest has for a token beside names of maximum length. */
	const uint16_t token_length = VREAD_MAX_OPEN_DATA - sizeof(struct vread_open_data) -
				      VREAD_MAX_POOL_ID -
				      VREAD_MAX_STORAGES * (VREAD_MAX_STORAGE_ID + 1);
	struct message_header h;

	(void)state;
	memset(pool, 'p', VREAD_MAX_POOL_ID);
	memset(storage, 's', VREAD_MAX_STORAGE_ID);
	m = (struct message_open){.block_id = -7,
				  .genstamp = 1001,
				  .visible_length = 1ULL << 40,
				  .num_storages = VREAD_MAX_STORAGES,
				  .pool_id = pool,
				  .token = token,
				  .token_length = token_length};
	memset(token, 't', token_length);
	for (unsigned i = 0; i < VREAD_MAX_STORAGES; i++)
		m.storage_ids[i] = storage;
	h = header(message_put_open(out, 99, &m));
	assert_int_equal(h.id, 99);
	assert_int_equal(message_get_open(out + MESSAGE_HEADER, h.length, &got), 0);
	assert_int_equal(got.block_id, -7);
	assert_int_equal(got.genstamp, 1001);
	assert_int_equal(got.visible_length, 1ULL << 40);
	assert_string_equal(got.pool_id, pool);
	assert_int_equal(got.token_length, token_length);
	assert_memory_equal(got.token, token, token_length);
	for (unsigned i = 0; i < VREAD_MAX_STORAGES; i++)
		assert_string_equal(got.storage_ids[i], storage);
	for (size_t length = 0; length < h.length; length++)
		assert_int_equal(message_get_open(out + MESSAGE_HEADER, length, &got), -EPROTO);
	m.token_length = VREAD_MAX_TOKEN + 1;
	assert_int_equal(message_put_open(out, 1, &m), 0);
	m.token_length = VREAD_MAX_TOKEN; /* allowed alone, but too long beside the names */
	assert_int_equal(message_put_open(out, 1, &m), 0);
	m.token_length = token_length;
	storage[VREAD_MAX_STORAGE_ID] = 's';
	assert_int_equal(message_put_open(out, 1, &m), 0);
	storage[VREAD_MAX_STORAGE_ID] = '\0';
	pool[VREAD_MAX_POOL_ID] = 'p';
	assert_int_equal(message_put_open(out, 1, &m), 0);
}

static void names_that_are_none(void **state)
{
	static const char *const bad[] = {"", "a/b", "..", ".", "a b", "a\nb", "\x80"};
	static struct message_open got;

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct message_open m = {.num_storages = 1,
					 .pool_id = "BP-1",
					 .storage_ids = {bad[i]}};
		struct message_header h = header(message_put_open(out, 1, &m));

		assert_int_equal(message_get_open(out + MESSAGE_HEADER, h.length, &got), -EPROTO);
		m.pool_id = bad[i];
		m.storage_ids[0] = "DS-1";
		h = header(message_put_open(out, 1, &m));
		assert_int_equal(message_get_open(out + MESSAGE_HEADER, h.length, &got), -EPROTO);
	}
}

static size_t put_name(uint8_t *at, unsigned length)
{
	at[0] = (uint8_t)length;
	memset(at + 1, 'x', length);
	return 1 + length;
}

/* Parses the body of an OPEN with names of these lengths and without a token. */
static int get_open_of(unsigned pool, unsigned storage)
{
	static struct message_open got;
	uint8_t body[600] = {0};
	size_t at = 24;

	body[at++] = 1;
	at += put_name(body + at, pool);
	at += put_name(body + at, storage);
	return message_get_open(body, at + 2, &got);
}

static int get_storage_of(unsigned datanode, unsigned id)
{
	struct message_storage got;
	uint8_t body[600];
	size_t length = put_name(body, datanode), at = 0;

	length += put_name(body + length, id);
	return message_get_storage(body, length, &at, &got);
}

static void names_that_are_too_long(void **state)
{
	(void)state;
	assert_int_equal(get_open_of(VREAD_MAX_POOL_ID, VREAD_MAX_STORAGE_ID), 0);
	assert_int_equal(get_open_of(VREAD_MAX_POOL_ID, VREAD_MAX_STORAGE_ID + 1), -EPROTO);
	assert_int_equal(get_storage_of(MESSAGE_MAX_DATANODE, VREAD_MAX_STORAGE_ID), 0);
	assert_int_equal(get_storage_of(MESSAGE_MAX_DATANODE + 1, VREAD_MAX_STORAGE_ID), -EPROTO);
	assert_int_equal(get_storage_of(MESSAGE_MAX_DATANODE, VREAD_MAX_STORAGE_ID + 1), -EPROTO);
}

static void storages_in_several_messages(void **state)
{
	static struct message_storage all[1000];
	size_t sent = 0, received = 0;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(all[i].datanode, sizeof(all[i].datanode), "dn%u", i % 7);
		snprintf(all[i].id, sizeof(all[i].id), "DS-%u", i);
	}
	for (bool more = true; more;) {
		size_t count = 1000 - sent, at = 0;
		struct message_header h =
			header(message_put_storages(out, all + sent, &count, false));
		struct message_storage got;

		assert_in_range(count, 1, 1000);
		sent += count;
		more = h.flags & MESSAGE_MORE;
		assert_int_equal(more, sent < 1000);
		while (at < h.length) {
			assert_int_equal(message_get_storage(out + MESSAGE_HEADER, h.length, &at,
							     &got),
					 0);
			assert_string_equal(got.datanode, all[received].datanode);
			assert_string_equal(got.id, all[received].id);
			received++;
		}
	}
	assert_int_equal(received, 1000);
}

static void reads(void **state)
{
	struct message_read m = {7, VREAD_MAX_READ, 1ULL << 33}, got;
	struct message_header h = header(message_put_read(out, 3, &m));

	(void)state;
	assert_int_equal(message_get_read(out + MESSAGE_HEADER, h.length, &got), 0);
	assert_memory_equal(&m, &got, sizeof(m));
	m.length = VREAD_MAX_READ + 1;
	message_put_read(out, 3, &m);
	assert_int_equal(message_get_read(out + MESSAGE_HEADER, h.length, &got), -EPROTO);
	m.length = 0;
	message_put_read(out, 3, &m);
	assert_int_equal(message_get_read(out + MESSAGE_HEADER, h.length, &got), -EPROTO);
	m = (struct message_read){7, 2, UINT64_MAX - 1};
	message_put_read(out, 3, &m);
	assert_int_equal(message_get_read(out + MESSAGE_HEADER, h.length, &got), -EPROTO);
}

static void answers(void **state)
{
	struct message_block m = {7, VREAD_BLOCK_FINALIZED, 12345, 1001}, got;
	struct message_header h = header(message_put_block(out, MESSAGE_OPENED, 5, &m));
	int error;

	(void)state;
	assert_int_equal(h.type, MESSAGE_OPENED);
	assert_int_equal(message_get_block(out + MESSAGE_HEADER, h.length, &got), 0);
	assert_memory_equal(&m, &got, sizeof(m));
	m.flags = VREAD_BLOCK_REMOTE;
	message_put_block(out, MESSAGE_OPENED, 5, &m);
	assert_int_equal(message_get_block(out + MESSAGE_HEADER, h.length, &got), -EPROTO);
	h = header(message_put_failed(out, 5, -ENOENT));
	assert_int_equal(message_get_failed(out + MESSAGE_HEADER, h.length, &error), 0);
	assert_int_equal(error, -ENOENT);
	message_put_failed(out, 5, -EDESTADDRREQ); /* no error that a peer may send */
	assert_int_equal(message_get_failed(out + MESSAGE_HEADER, h.length, &error), 0);
	assert_int_equal(error, -EIO);
	message_put_failed(out, 5, 0);
	assert_int_equal(message_get_failed(out + MESSAGE_HEADER, h.length, &error), 0);
	assert_int_equal(error, -EIO); /* FAILED cannot mean success */
	h = header(message_put_cancel(out, 5));
	assert_int_equal(h.type, MESSAGE_CANCEL);
	assert_int_equal(h.id, 5);
}

static int header_of(uint32_t length, uint16_t type, uint16_t flags)
{
	uint8_t raw[MESSAGE_HEADER] = {(uint8_t)length,         (uint8_t)(length >> 8),
				       (uint8_t)(length >> 16), (uint8_t)(length >> 24),
				       (uint8_t)type,           (uint8_t)(type >> 8),
				       (uint8_t)flags,          (uint8_t)(flags >> 8)};
	struct message_header h;

	return message_get_header(raw, &h);
}

static int header_with_sum(uint32_t length, uint16_t type, uint16_t flags)
{
	struct message_header h;

	message_put_data(out, 5, length, false, 0xfedcba98);
	out[4] = (uint8_t)type;
	out[6] = (uint8_t)flags;
	return message_get_header(out, &h) ?: h.crc32c == 0xfedcba98 ? 0 : -1;
}

/* Only the last DATA of an answer has a CRC32C. */
static void sums(void **state)
{
	struct message_header h;

	(void)state;
	assert_int_equal(header_with_sum(100, MESSAGE_DATA, 0), 0);
	assert_int_equal(header_with_sum(0, MESSAGE_DATA, 0), 0); /* the bytes were in others */
	assert_int_equal(header_with_sum(100, MESSAGE_DATA, MESSAGE_MORE), -EPROTO);
	assert_int_equal(header_with_sum(4, MESSAGE_FAILED, 0), -EPROTO);
	assert_int_equal(header_with_sum(16, MESSAGE_READ, 0), -EPROTO);
	assert_int_equal(header_with_sum(100, MESSAGE_DATA, MESSAGE_PLAIN), 0);
	assert_int_equal(header_with_sum(100, MESSAGE_DATA, MESSAGE_PLAIN | MESSAGE_MORE), -EPROTO);
	message_put_data(out, 5, 100, true, 1);
	message_set_plain(out);
	assert_int_equal(message_get_header(out, &h), 0);
	assert_int_equal(h.crc32c, 0);
	assert_int_equal(h.flags, MESSAGE_MORE | MESSAGE_PLAIN);
}

static void headers_nobody_should_send(void **state)
{
	(void)state;
	assert_int_equal(header_of(MESSAGE_MAX_DATA, MESSAGE_DATA, MESSAGE_MORE), 0);
	assert_int_equal(header_of(MESSAGE_MAX_DATA + 1, MESSAGE_DATA, 0), -EPROTO);
	assert_int_equal(header_of(0, MESSAGE_DATA, 0), 0);
	assert_int_equal(header_of(0, MESSAGE_DATA, MESSAGE_MORE), -EPROTO);
	assert_int_equal(header_of(1, MESSAGE_DATA, MESSAGE_PLAIN), 0);
	assert_int_equal(header_of(0, MESSAGE_DATA, MESSAGE_PLAIN), 0);
	assert_int_equal(header_of(0, MESSAGE_DATA, MESSAGE_PLAIN | MESSAGE_MORE), -EPROTO);
	assert_int_equal(header_of(16, MESSAGE_READ, MESSAGE_PLAIN), 0);
	assert_int_equal(header_of(16, MESSAGE_READ, MESSAGE_MORE), -EPROTO);
	assert_int_equal(header_of(16, MESSAGE_HELLO, MESSAGE_PLAIN), -EPROTO);
	assert_int_equal(header_of(4, MESSAGE_STAT, MESSAGE_PLAIN), -EPROTO);
	assert_int_equal(header_of(50, MESSAGE_STORAGES, MESSAGE_PLAIN), -EPROTO);
	assert_int_equal(header_of(1, MESSAGE_DATA, 4), -EPROTO);
	assert_int_equal(header_of(MESSAGE_MAX_BODY + 1, MESSAGE_OPEN, 0), -EPROTO);
	assert_int_equal(header_of(4, MESSAGE_STAT, MESSAGE_MORE), -EPROTO);
	assert_int_equal(header_of(5, MESSAGE_STAT, 0), -EPROTO);
	assert_int_equal(header_of(4, 0, 0), -EPROTO);
	assert_int_equal(header_of(4, MESSAGE_CANCEL + 1, 0), -EPROTO);
	assert_int_equal(header_of(1, MESSAGE_CANCEL, 0), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello),
		cmocka_unit_test(largest_open),
		cmocka_unit_test(names_that_are_none),
		cmocka_unit_test(names_that_are_too_long),
		cmocka_unit_test(storages_in_several_messages),
		cmocka_unit_test(reads),
		cmocka_unit_test(answers),
		cmocka_unit_test(headers_nobody_should_send),
		cmocka_unit_test(sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
