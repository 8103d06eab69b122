/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program_0_1_0 - a program of release 0.1.0.  Uses each struct of the header of that release.
 *
 *   program_0_1_0 ENDPOINT POOL BLOCK-ID GENSTAMP STORAGE >CONTENT
 *
 * Each struct ends where readable memory ends, and its padding is not zero.  So the program dies if
 * the library takes the struct for a longer one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vread-0.1.0.h"

#define PAGE 4096
#define NEW(type) ((type *)guarded(sizeof(type)))

static void *guarded(size_t size)
{
	char *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE) < 0)
		abort();
	return memset(pages + PAGE - size, 0xff, size);
}

static void check(const char *call, long result, long expected)
{
	if (result == expected)
		return;
	fprintf(stderr, "%s: %ld instead of %ld\n", call, result, expected);
	exit(1);
}

static struct vread *connect_to(const char *endpoint)
{
	struct vread_options *options = NEW(struct vread_options);
	struct vread *v;

	options->endpoint = endpoint;
	options->pool_bytes = 1 << 20;
	options->timeout_ms = 5000;
	options->readahead_bytes = 0;
	options->queues = 1;
	check("vread_connect", vread_connect(&v, options), 0);
	return v;
}

static const struct vread_block *block_of(char **argv, const char **storage)
{
	struct vread_block *block = NEW(struct vread_block);

	*storage = argv[5];
	block->pool_id = argv[2];
	block->block_id = atoll(argv[3]);
	block->generation_stamp = strtoull(argv[4], NULL, 10);
	block->visible_length = 0;
	block->storage_ids = storage;
	block->num_storage_ids = 1;
	block->token = NULL;
	block->token_length = 0;
	return block;
}

static uint64_t length_of(struct vread_file *f, const struct vread_block *block)
{
	struct vread_stat *st = NEW(struct vread_stat);
	uint32_t padding;

	check("vread_stat", vread_stat(f, st), 0);
	memcpy(&padding, &st->flags + 1, sizeof(padding));
	check("bytes behind the last member", padding, UINT32_MAX);
	check("generation_stamp", (long)st->generation_stamp, (long)block->generation_stamp);
	check("visible_length", (long)st->visible_length, (long)st->length);
	check("flags", st->flags, 1);
	return st->length;
}

static void read_range(struct vread_file *f, const char *content, size_t length)
{
	struct vread_range *range = NEW(struct vread_range);

	range->offset = 1;
	range->length = length;
	range->buf = malloc(length);
	check("vread_preadv", vread_preadv(f, range, 1), 0);
	check("result", range->result, (long)length - 1);
	check("bytes", memcmp(range->buf, content + 1, length - 1), 0);
	free(range->buf);
}

static void read_in_place(struct vread *v, struct vread_file *f, const char *content, size_t length)
{
	struct vread_completion *c = NEW(struct vread_completion);

	check("vread_submit", vread_submit(f, 0, length, &v), 0);
	check("vread_reap", vread_reap(v, c, 1, 5000), 1);
	check("file, cookie", c->file == f && c->cookie == &v, 1);
	check("result", c->result, (long)length);
	check("bytes", memcmp(c->data, content, length), 0);
	vread_release(v, c);
}

static void publish(struct vread *v, const struct vread_block *block, uint64_t length)
{
	struct vread_signing_key *key = NEW(struct vread_signing_key);

	check("vread_publish", vread_publish(v, block, VREAD_EVENT_FINALIZED, length), 0);
	key->id = 1;
	key->algorithm = VREAD_HMAC_SHA1;
	key->expiry = INT64_MAX;
	key->bytes = "key";
	key->length = 3;
	check("vread_publish_keys",
	      vread_publish_keys(v, block->pool_id, block->storage_ids[0], 1, key, 1), 0);
}

int main(int argc, char **argv)
{
	const struct vread_block *block;
	struct vread_file *f;
	const char *storage;
	struct vread *v;
	size_t length;
	char *content;

	if (argc != 6)
		return 2;
	v = connect_to(argv[1]);
	block = block_of(argv, &storage);
	check("vread_open", vread_open(v, block, &f), 0);
	length = length_of(f, block);
	content = malloc(length);
	check("vread_pread", vread_pread(f, content, length, 0), (long)length);
	read_range(f, content, length);
	read_in_place(v, f, content, length);
	vread_close(f);
	publish(v, block, length);
	vread_disconnect(v);
	check("write", write(1, content, length), (long)length);
	return 0;
}
