/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cat.c - `vread cat`: writes blocks to standard output, in order.  Users and tests run it, in a
 * guest or on the host.
 *
 * Several READs are in flight at a time, also across block boundaries.  write(2) takes the bytes
 * from where the backend put them: this process copies nothing.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "connect.h"

#define DEPTH 16U
#define MAX_PIECE_BYTES ((size_t)512 << 10)
#define POOL_BYTES ((size_t)8 << 20)
#define LEAST_POOL_BYTES ((size_t)128 << 10) /* for which there is room longest: vread(4) */

/* A READ in flight or done, or an error at which the output ends. */
struct piece {
	const struct block_spec *spec;
	struct vread_file *file;
	bool last; /* of its block: the file is closed after it */
	bool done;
	int error;
	struct vread_completion completion;
};

struct cat {
	struct vread *v;
	const struct block_list *blocks;
	unsigned timeout_ms;
	size_t piece_bytes;     /* at least two pieces fit into the pool */
	uint64_t offset, limit; /* of a single block */
	bool stats, encrypt;

	size_t next_block;
	struct vread_file *file; /* still to be read, from `position` to `end` */
	uint64_t position, end;
	bool stop; /* after an error: start no more READs */

	struct piece pieces[DEPTH];
	unsigned head, count;
	uint64_t bytes;
};

static struct piece *add_piece(struct cat *c, const struct block_spec *spec)
{
	struct piece *p = &c->pieces[(c->head + c->count++) % DEPTH];

	*p = (struct piece){.spec = spec, .file = c->file};
	return p;
}

static void add_error(struct cat *c, const struct block_spec *spec, int error)
{
	struct piece *p = add_piece(c, spec);

	p->done = true;
	p->last = c->file != NULL;
	p->error = error;
	c->file = NULL;
	c->stop = true;
}

/* Opens the next block.  An offset behind its end is an error, an empty range is not. */
static void next_block(struct cat *c)
{
	const struct block_spec *spec = &c->blocks->specs[c->next_block++];
	struct vread_stat st;
	int r = reader_open(c->v, spec, c->encrypt, &c->file);

	if (r) {
		c->file = NULL;
		add_error(c, spec, r);
		return;
	}
	vread_stat(c->file, &st);
	c->position = c->offset;
	c->end = st.visible_length;
	if (c->position > c->end) {
		add_error(c, spec, -ERANGE);
		return;
	}
	if (c->limit < c->end - c->position)
		c->end = c->position + c->limit;
	if (c->position == c->end) {
		vread_close(c->file);
		c->file = NULL;
	}
}

/* Starts the next READ; false if there is no room for it now. */
static bool submit_piece(struct cat *c)
{
	const struct block_spec *spec = &c->blocks->specs[c->next_block - 1];
	uint64_t left = c->end - c->position;
	size_t length = left < c->piece_bytes ? (size_t)left : c->piece_bytes;
	struct piece *p = add_piece(c, spec);
	int r = vread_submit(c->file, c->position, length, p);

	if (r) {
		c->count--;
		if (r == -EAGAIN && c->count)
			return false;
		add_error(c, spec, r == -EAGAIN ? -ENOMEM : r);
		return true;
	}
	c->position += length;
	p->last = c->position == c->end;
	if (p->last)
		c->file = NULL;
	return true;
}

static void fill(struct cat *c)
{
	while (!c->stop && c->count < DEPTH) {
		if (!c->file && c->next_block == c->blocks->count)
			return;
		if (!c->file)
			next_block(c);
		else if (!submit_piece(c))
			return;
	}
}

/* Waits for the oldest READ.  Other READs may complete before it. */
static int wait_oldest(struct cat *c)
{
	struct piece *oldest = &c->pieces[c->head];

	while (!oldest->done) {
		struct vread_completion completions[DEPTH];
		int n = vread_reap(c->v, completions, DEPTH, c->timeout_ms);

		if (n <= 0)
			return n ? n : -ETIME;
		for (int i = 0; i < n; i++) {
			struct piece *p = completions[i].cookie;
			p->completion = completions[i];
			p->done = true;
			if (completions[i].result < 0)
				p->error = (int)completions[i].result;
		}
	}
	return oldest->error;
}

static int write_out(const char *data, size_t length)
{
	while (length) {
		ssize_t n = write(STDOUT_FILENO, data, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cli_error(CLI_FAILED, "standard output: cannot write: %m");
		data += n;
		length -= (size_t)n;
	}
	return CLI_OK;
}

static int finish_oldest(struct cat *c)
{
	struct piece *p = &c->pieces[c->head];
	int r = wait_oldest(c), code;

	if (r)
		return r == -ERANGE && !p->completion.file && c->offset
			       ? cli_error(CLI_FAILED, "%s: --offset %llu is beyond its end",
					   p->spec->text, (unsigned long long)c->offset)
			       : reader_failed(p->spec, r);
	code = write_out(p->completion.data, (size_t)p->completion.result);
	c->bytes += (uint64_t)p->completion.result;
	vread_release(c->v, &p->completion);
	if (p->last)
		vread_close(p->file);
	c->head = (c->head + 1) % DEPTH;
	c->count--;
	return code;
}

/* Closes what is still open after an error, each file once. */
static void close_rest(struct cat *c)
{
	for (; c->count; c->count--) {
		struct piece *p = &c->pieces[c->head];

		if (p->last)
			vread_close(p->file);
		c->head = (c->head + 1) % DEPTH;
	}
	vread_close(c->file);
}

static double seconds(struct timespec t)
{
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double clock_seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return seconds(t);
}

static void print_stats(const struct cat *c, double elapsed)
{
	fprintf(stderr, "vread cat: %zu blocks, %llu bytes, %.3f s, %.1f MB/s, cpu %.3f s\n",
		c->blocks->count, (unsigned long long)c->bytes, elapsed,
		elapsed > 0 ? (double)c->bytes / 1e6 / elapsed : 0,
		clock_seconds(CLOCK_PROCESS_CPUTIME_ID));
}

static int cat_blocks(struct cat *c)
{
	double start = clock_seconds(CLOCK_MONOTONIC);
	int r = CLI_OK;

	for (;;) {
		fill(c);
		if (!c->count)
			break;
		r = finish_oldest(c);
		if (r)
			break;
	}
	close_rest(c);
	if (c->stats)
		print_stats(c, clock_seconds(CLOCK_MONOTONIC) - start);
	return r;
}

static int number_option(const char *name, const char *value, uint64_t *ret)
{
	unsigned long long number;

	if (!cli_number(value, 0, INT64_MAX, &number))
		return cli_usage("--%s %s: expected bytes", name, value);
	*ret = number;
	return 0;
}

static int parse(struct cat *c, struct reader_options *o, int argc, char **argv)
{
	static const struct option options[] = {
		READER_OPTIONS,
		{"offset", required_argument, NULL, 'o'},
		{"length", required_argument, NULL, 'l'},
		{"encrypt", no_argument, NULL, 'e'},
		{"stats", no_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	bool range = false;
	int option, r = 0;

	while (!r && (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		range |= option == 'o' || option == 'l';
		if (option == 'o')
			r = number_option("offset", optarg, &c->offset);
		else if (option == 'l')
			r = number_option("length", optarg, &c->limit);
		else if (option == 'e')
			c->encrypt = true;
		else if (option == 's')
			c->stats = true;
		else
			r = reader_option(o, option, optarg);
	}
	r = r ?: reader_arguments(o, argc, argv);
	if (!r && range && o->blocks.count > 1)
		r = cli_usage("--offset and --length: expected one block, not %zu",
			      o->blocks.count);
	if (!r && isatty(STDOUT_FILENO))
		r = cli_usage("standard output is a terminal; redirect it to a file or a pipe");
	return r;
}

static int run_cat(int argc, char **argv)
{
	struct reader_options o = {.library = {.timeout_ms = 2000}};
	struct cat c = {.blocks = &o.blocks, .limit = UINT64_MAX};
	int r = parse(&c, &o, argc, argv);

	o.library.pool_bytes = POOL_BYTES;
	c.timeout_ms = o.library.timeout_ms;
	r = r ?: reader_connect(&o, LEAST_POOL_BYTES, &c.v);
	if (!r) {
		c.piece_bytes = o.library.pool_bytes / 2;
		if (c.piece_bytes > MAX_PIECE_BYTES)
			c.piece_bytes = MAX_PIECE_BYTES;
		r = cat_blocks(&c);
		vread_disconnect(c.v);
	}
	block_list_free(&o.blocks);
	return r;
}

const struct command command_cat = {
	.name = "cat",
	.run = run_cat,
	.synopsis = "[OPTION...] POOL/blk_ID_GS[@STORAGE][:LENGTH]...",
	.summary = "Writes blocks to standard output, one after the other",
	.options = READER_OPTIONS_HELP
	"  --offset BYTES       start there (with one block)\n"
	"  --length BYTES       stop after this many (with one block)\n"
	"  --encrypt            bytes of another host come by TLS, never by RDMA\n"
	"  --stats              bytes, seconds, MB/s and CPU seconds to standard error\n",
};
