// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * imagectl - vreadd's image layer behind a line protocol. Tests compare its reads with the writes
 * of other programs, also while these write. tests/support/formats.py runs it.
 *
 *   imagectl [--direct] [--backing-folder FOLDER] IMAGE      as vread.conf(5) names it
 *
 * Prints "ok SIZE FORMAT LAYERS" or "error ERRNO-NAME TEXT". Commands on stdin, one a line:
 *   read OFFSET LENGTH   -> ok LENGTH, then the bytes
 *   map OFFSET LENGTH    -> ok PATH OFFSET LENGTH; PATH is "zero" where the image holds zeros
 *   same                 -> ok 0|1: is the image the same if it is opened again?
 *   changes              -> ok N
 *   copy FILE            -> ok; copies the image with THREADS threads, in pieces of 1 MiB
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "disk/image.h"

#define MAX_LENGTH (8U << 20)
#define PIECE (1U << 20)
#define THREADS 6U

static const char *spec;
static enum source_mode mode = SOURCE_AUTO;
static const char *folder;
static struct image_folders folders = {&folder, 0};
static struct image *img;
static uint8_t buffer[MAX_LENGTH];

static void fail(int error, const char *text)
{
	printf("error %s %s\n", strerrorname_np(-error), text ? text : "");
}

static void do_read(uint64_t offset, uint64_t length)
{
	int r = length > sizeof(buffer) ? -EINVAL : image_read(img, offset, buffer, (size_t)length);

	if (r < 0) {
		fail(r, NULL);
		return;
	}
	printf("ok %" PRIu64 "\n", length);
	fwrite(buffer, 1, (size_t)length, stdout);
}

static void do_map(uint64_t offset, uint64_t length)
{
	struct image_run run;
	int r = image_map(img, offset, length, &run);

	if (r < 0)
		fail(r, NULL);
	else
		printf("ok %s %" PRIu64 " %" PRIu64 "\n",
		       run.source ? source_path(run.source) : "zero", run.offset, run.length);
}

static void do_same(void)
{
	struct image *again;
	char *error = NULL;
	int r = image_open_within(spec, mode, &folders, &again, &error);

	if (r < 0) {
		fail(r, error);
		free(error);
		return;
	}
	printf("ok %d\n", image_is_same(img, again));
	image_close(again);
}

static void do_changes(void)
{
	uint64_t changes;
	int r = image_changes(img, &changes);

	if (r < 0)
		fail(r, NULL);
	else
		printf("ok %" PRIu64 "\n", changes);
}

struct copy {
	int fd;
	_Atomic uint64_t next;
	atomic_int error;
};

static void *copy_pieces(void *arg)
{
	uint8_t *piece = malloc(PIECE);
	struct copy *c = arg;
	uint64_t at;

	while (!c->error && (at = atomic_fetch_add(&c->next, PIECE)) < image_size(img)) {
		uint64_t n = image_size(img) - at < PIECE ? image_size(img) - at : PIECE;
		int r = image_read(img, at, piece, (size_t)n);

		if (r == 0 && pwrite(c->fd, piece, (size_t)n, (off_t)at) != (ssize_t)n)
			r = -errno;
		if (r < 0)
			c->error = r;
	}
	free(piece);
	return NULL;
}

static void do_copy(const char *path)
{
	struct copy c = {.fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600)};
	pthread_t thread[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, copy_pieces, &c);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	close(c.fd);
	if (c.error)
		fail(c.error, NULL);
	else
		puts("ok");
}

static void run(char *line)
{
	char *word[4];
	unsigned n = 0;

	for (char *w = strtok(line, " \n"); w && n < 4; w = strtok(NULL, " \n"))
		word[n++] = w;
	if (n == 3 && !strcmp(word[0], "read"))
		do_read(strtoull(word[1], NULL, 10), strtoull(word[2], NULL, 10));
	else if (n == 3 && !strcmp(word[0], "map"))
		do_map(strtoull(word[1], NULL, 10), strtoull(word[2], NULL, 10));
	else if (n == 2 && !strcmp(word[0], "copy"))
		do_copy(word[1]);
	else if (n == 1 && !strcmp(word[0], "same"))
		do_same();
	else if (n == 1 && !strcmp(word[0], "changes"))
		do_changes();
	else
		fail(-EBADF, NULL);
	fflush(stdout);
}

static bool parse(int argc, char **argv)
{
	static const struct option options[] = {
		{"direct", no_argument, NULL, 'd'},
		{"backing-folder", required_argument, NULL, 'b'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'd') {
			mode = SOURCE_DIRECT;
		} else if (option == 'b') {
			folder = optarg;
			folders.count = 1;
		} else {
			return false;
		}
	}
	spec = argv[optind];
	return optind == argc - 1;
}

int main(int argc, char **argv)
{
	static char line[8192];
	unsigned layers = 0;
	char *error = NULL;
	int r;

	if (!parse(argc, argv))
		return 2;
	r = image_open_within(spec, mode, &folders, &img, &error);
	if (r < 0) {
		fail(r, error);
		free(error);
		return 1;
	}
	for (const struct image *layer = img; layer; layer = image_backing(layer))
		layers++;
	printf("ok %" PRIu64 " %s %u\n", image_size(img), image_format(img), layers);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		run(line);
	image_close(img);
	return 0;
}
