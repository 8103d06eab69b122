// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A feed, asked by a process that may be its image's: it gets bytes of that image or an error,
 * and costs no more than one buffer and one thread, whatever it asks.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
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

#include "disk/feed.h"

#define IMAGE_BYTES ((3U << 20) + 777U)
#define LONGEST (1U << 20)
/* More than sockets hold of requests and answers together. */
#define FLOOD_MAX (1U << 20)

/* What goes over the socket, as disk/feed.c has it. */
struct request {
	uint64_t offset;
	uint32_t length;
};

static char path[] = "/tmp/vread-feed-XXXXXX";
static uint8_t *content;
static struct image *image;

struct feeding {
	pthread_t thread;
	int server, client;
};

static void *feed(void *arg)
{
	struct feeding *f = arg;

	image_feed(image, f->server);
	shutdown(f->server, SHUT_RDWR);
	return NULL;
}

static int start(void **state)
{
	struct feeding *f = calloc(1, sizeof(*f));
	int pair[2];

	if (!f || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	f->server = pair[0];
	f->client = pair[1];
	*state = f;
	return pthread_create(&f->thread, NULL, feed, f);
}

/* It ends by itself when the other end is gone. */
static int stop(void **state)
{
	struct feeding *f = *state;

	if (f->client >= 0)
		close(f->client);
	pthread_join(f->thread, NULL);
	close(f->server);
	free(f);
	return 0;
}

static void ask(const struct feeding *f, uint64_t offset, uint32_t length)
{
	struct request q;

	memset(&q, 0, sizeof(q));
	q.offset = offset;
	q.length = length;
	assert_int_equal(send(f->client, &q, sizeof(q), MSG_NOSIGNAL), sizeof(q));
}

static void take(const struct feeding *f, void *to, size_t length)
{
	assert_int_equal(recv(f->client, to, length, MSG_WAITALL), length);
}

static void assert_bytes(const struct feeding *f, uint64_t offset, uint32_t length)
{
	uint8_t *got = malloc(length + 1);
	int32_t result;

	take(f, &result, sizeof(result));
	assert_int_equal(result, 0);
	if (length)
		take(f, got, length);
	assert_memory_equal(got, content + offset, length);
	free(got);
}

static void assert_refused(const struct feeding *f, uint64_t offset, uint32_t length)
{
	int32_t result;

	ask(f, offset, length);
	take(f, &result, sizeof(result));
	assert_int_equal(result, -EIO);
}

static void assert_over(const struct feeding *f)
{
	uint8_t byte;

	assert_int_equal(recv(f->client, &byte, 1, 0), 0);
}

static void gives_what_the_image_has(void **state)
{
	static const struct request questions[] = {
		{0, 1}, {0, LONGEST}, {777, 4096}, {IMAGE_BYTES - 1, 1}, {IMAGE_BYTES, 0}, {5, 0},
	};

	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		ask(*state, questions[i].offset, questions[i].length);
		assert_bytes(*state, questions[i].offset, questions[i].length);
	}
}

static void nothing_beyond_the_image(void **state)
{
	assert_refused(*state, IMAGE_BYTES, 1);
	assert_refused(*state, IMAGE_BYTES - 1, 2);
	assert_refused(*state, IMAGE_BYTES - 1, LONGEST);
	assert_refused(*state, UINT64_MAX, 1);
	assert_refused(*state, UINT64_MAX - LONGEST + 1, LONGEST);
	assert_refused(*state, INT64_MAX, 4096);
	assert_refused(*state, UINT64_MAX, 0);
	ask(*state, 5, 5);
	assert_bytes(*state, 5, 5);
}

static void more_than_its_buffer_ends_it(void **state)
{
	ask(*state, 0, LONGEST + 1);
	assert_over(*state);
}

static void more_than_there_is_memory_ends_it(void **state)
{
	ask(*state, 0, UINT32_MAX);
	assert_over(*state);
}

static void half_a_request_ends_it(void **state)
{
	struct feeding *f = *state;

	assert_int_equal(send(f->client, "half", 4, MSG_NOSIGNAL), 4);
	shutdown(f->client, SHUT_WR);
	assert_over(f);
}

/* It takes no more requests than it answers: what is not taken stays the asker's. */
static void a_flood_waits_for_itself(void **state)
{
	struct feeding *f = *state;
	struct request q;
	unsigned sent = 0;

	memset(&q, 0, sizeof(q));
	q.length = LONGEST;
	while (sent < FLOOD_MAX && send(f->client, &q, sizeof(q), MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		sent++;
	assert_in_range(sent, 1, FLOOD_MAX - 1);
	for (unsigned i = 0; i < 3 && i < sent; i++)
		assert_bytes(f, 0, LONGEST);
}

static void a_flood_can_be_left(void **state)
{
	struct feeding *f = *state;

	for (unsigned i = 0; i < 50; i++)
		ask(f, i, LONGEST);
	close(f->client);
	f->client = -1;
}

/* ---- the other end ------------------------------------------------------------ */

static struct image *open_fed(struct feeding *f)
{
	struct image *fed = NULL;
	char *error = NULL;

	assert_int_equal(image_open_fed(path, SOURCE_BUFFERED, IMAGE_BYTES, f->client, &fed,
					&error),
			 0);
	f->client = -1; /* the image's */
	return fed;
}

static void reads_as_the_image_itself(void **state)
{
	struct image *fed = open_fed(*state);
	uint8_t *got = malloc(IMAGE_BYTES);
	struct image_run run;

	assert_int_equal(image_size(fed), IMAGE_BYTES);
	assert_false(image_is_current(fed));
	assert_int_equal(image_map(fed, 0, 1, &run), -EOPNOTSUPP);
	assert_int_equal(image_read(fed, 0, got, IMAGE_BYTES), 0);
	assert_memory_equal(got, content, IMAGE_BYTES);
	assert_int_equal(image_read(fed, IMAGE_BYTES - 5, got, 5), 0);
	assert_memory_equal(got, content + IMAGE_BYTES - 5, 5);
	assert_int_equal(image_read(fed, IMAGE_BYTES - 5, got, 6), -EIO);
	free(got);
	image_close(fed);
}

static void cannot_be_read_when_the_feed_is_gone(void **state)
{
	struct feeding *f = *state;
	struct image *fed = open_fed(f);
	uint8_t got[8];

	shutdown(f->server, SHUT_RDWR);
	assert_int_equal(image_read(fed, 0, got, sizeof(got)), -EIO);
	assert_int_equal(image_read(fed, 0, got, sizeof(got)), -EIO);
	image_close(fed);
}

static int set_up(void **state)
{
	int fd = mkstemp(path);
	char *error = NULL;

	(void)state;
	content = malloc(IMAGE_BYTES);
	if (fd < 0 || !content)
		return -1;
	for (unsigned i = 0; i < IMAGE_BYTES; i++)
		content[i] = (uint8_t)(i * 2654435761U >> 13);
	if (write(fd, content, IMAGE_BYTES) != IMAGE_BYTES)
		return -1;
	close(fd);
	return image_open(path, SOURCE_BUFFERED, &image, &error);
}

static int tear_down(void **state)
{
	(void)state;
	image_close(image);
	free(content);
	return unlink(path);
}

#define test(function) cmocka_unit_test_setup_teardown(function, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(gives_what_the_image_has),
		test(nothing_beyond_the_image),
		test(more_than_its_buffer_ends_it),
		test(more_than_there_is_memory_ends_it),
		test(half_a_request_ends_it),
		test(a_flood_waits_for_itself),
		test(a_flood_can_be_left),
		test(reads_as_the_image_itself),
		test(cannot_be_read_when_the_feed_is_gone),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
