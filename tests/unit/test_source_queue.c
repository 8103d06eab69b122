// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests reads by io_uring (disk/source_queue.h): correct bytes, and every way to fail. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "disk/source_queue.h"

#define BLOCK SOURCE_QUEUE_ALIGN
#define BLOCKS 16U
#define DEPTH 4U

static const char path[] = "queue-of-test.raw";
static uint8_t content[BLOCKS * BLOCK];
static uint8_t *buffer;
static struct source *source;
static struct source_queue *queue;

static int set_up(void **state)
{
	char *error = NULL;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)(i * 7 + i / BLOCK);
	assert_int_equal(write(fd, content, sizeof(content)), sizeof(content));
	close(fd);
	buffer = aligned_alloc(BLOCK, sizeof(content));
	queue = source_queue_new(DEPTH);
	if (source_open(path, SOURCE_DIRECT, &source, &error) < 0)
		source = NULL;
	free(error);
	*state = source && queue && buffer ? content : NULL;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	source_queue_free(queue);
	source_close(source);
	free(buffer);
	unlink(path);
	return 0;
}

static int add(uint64_t offset, size_t length, void *tag)
{
	return source_queue_add(queue, source, offset, buffer + offset, length, tag);
}

/* Waits for the next of the reads under way. */
static void *next(int *error)
{
	void *tag;

	while (!(tag = source_queue_ended(queue, error)))
		source_queue_await(queue);
	return tag;
}

static void several_at_a_time(void **state)
{
	unsigned seen = 0;
	int error;

	if (!*state)
		skip();
	for (unsigned i = 0; i < DEPTH; i++)
		assert_int_equal(add((uint64_t)(DEPTH - i) * BLOCK, BLOCK, &content[i]), 0);
	assert_int_equal(add(0, BLOCK, NULL), -EAGAIN);
	assert_int_equal(source_queue_start(queue), 0);
	for (unsigned i = 0; i < DEPTH; i++) {
		uint8_t *tag = next(&error);

		assert_int_equal(error, 0);
		seen |= 1U << (tag - content);
	}
	assert_int_equal(seen, (1U << DEPTH) - 1);
	assert_null(source_queue_ended(queue, &error));
	assert_memory_equal(buffer + BLOCK, content + BLOCK, DEPTH * BLOCK);
	assert_int_equal(add(0, BLOCK, content), 0); /* there is room again */
}

/* source_queue_free() starts and awaits the reads, if nobody has. */
static void not_started(void **state)
{
	int error;

	if (!*state)
		skip();
	assert_int_equal(add(0, BLOCK, content), 0);
	assert_null(source_queue_ended(queue, &error));
}

static void refused(void **state)
{
	struct source *buffered;
	char *error = NULL;

	if (!*state)
		skip();
	assert_int_equal(add(0, BLOCK - 1, NULL), -EINVAL);
	assert_int_equal(add(1, BLOCK, NULL), -EINVAL);
	assert_int_equal(source_queue_add(queue, source, 0, buffer + 8, BLOCK, NULL), -EINVAL);
	assert_int_equal(source_queue_add(queue, source, BLOCKS * BLOCK, buffer, BLOCK, NULL),
			 -EIO);
	assert_int_equal(source_queue_add(queue, source, UINT64_MAX - BLOCK + 1, buffer, BLOCK,
					  NULL),
			 -EIO);
	assert_int_equal(source_open(path, SOURCE_BUFFERED, &buffered, &error), 0);
	assert_int_equal(source_queue_add(queue, buffered, 0, buffer, BLOCK, NULL), -EINVAL);
	source_close(buffered);
}

/* A device failed or an image was cut: a short read is an error. */
static void short_reads(void **state)
{
	int error = 0;

	if (!*state)
		skip();
	assert_int_equal(truncate(path, 3 * BLOCK), 0);
	assert_int_equal(add(2 * BLOCK, 2 * BLOCK, content), 0);
	source_queue_start(queue);
	assert_ptr_equal(next(&error), content);
	assert_int_equal(error, -EIO);
	assert_int_equal(add(8 * BLOCK, BLOCK, content), 0);
	source_queue_start(queue);
	next(&error);
	assert_int_equal(error, -EIO);
	assert_int_equal(add(0, BLOCK, content), 0);
	source_queue_start(queue);
	next(&error);
	assert_int_equal(error, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(several_at_a_time),
		TEST(not_started),
		TEST(refused),
		TEST(short_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
