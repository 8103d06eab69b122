/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stat.c - `vread stat`: opens blocks and prints what the backend knows about them.  Users run it,
 * in a guest or on the host. */
#include <jansson.h>
#include <stdio.h>

#include "commands.h"
#include "connect.h"

#define POOL_BYTES ((size_t)64 << 10) /* nothing is read */

static void print_text(const struct block_spec *spec, const struct vread_stat *st)
{
	printf("%12llu  %-10s  %-6s  %s\n", (unsigned long long)st->length,
	       st->flags & VREAD_FINALIZED ? "finalized" : "rbw",
	       st->flags & VREAD_REMOTE ? "remote" : "local", spec->text);
}

static void append_json(json_t *array, const struct block_spec *spec, const struct vread_stat *st)
{
	json_array_append_new(array, json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:b, s:b}", "block",
					       spec->text, "pool", spec->pool, "id",
					       (json_int_t)spec->block_id, "generation_stamp",
					       (json_int_t)st->generation_stamp, "length",
					       (json_int_t)st->length, "visible_length",
					       (json_int_t)st->visible_length, "finalized",
					       !!(st->flags & VREAD_FINALIZED), "remote",
					       !!(st->flags & VREAD_REMOTE)));
}

/* Opens every block, also after a failure. */
static int stat_blocks(struct vread *v, const struct block_list *blocks, json_t *array)
{
	int code = CLI_OK;

	if (!array)
		printf("%12s  %-10s  %-6s  %s\n", "LENGTH", "STATE", "WHERE", "BLOCK");
	for (size_t i = 0; i < blocks->count; i++) {
		struct vread_file *file;
		struct vread_stat st;
		int r = reader_open(v, &blocks->specs[i], false, &file);

		if (r) {
			code = reader_failed(&blocks->specs[i], r);
			continue;
		}
		vread_stat(file, &st);
		vread_close(file);
		if (array)
			append_json(array, &blocks->specs[i], &st);
		else
			print_text(&blocks->specs[i], &st);
	}
	return code;
}

static int print_json(json_t *array)
{
	if (json_dumpf(array, stdout, JSON_INDENT(2)) < 0)
		return cli_error(CLI_FAILED, "standard output: cannot write JSON");
	putchar('\n');
	return CLI_OK;
}

static int run_options(struct reader_options *o, int argc, char **argv)
{
	static const struct option options[] = {
		READER_OPTIONS,
		{"json", no_argument, NULL, 'j'},
		{NULL, 0, NULL, 0},
	};
	json_t *array = NULL;
	struct vread *v;
	bool json = false;
	int c, r;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'j') {
			json = true;
			continue;
		}
		r = reader_option(o, c, optarg);
		if (r)
			return r;
	}
	r = reader_arguments(o, argc, argv) ?: reader_connect(o, POOL_BYTES, &v);
	if (r)
		return r;
	if (json)
		array = json_array();
	r = stat_blocks(v, &o->blocks, array);
	vread_disconnect(v);
	if (array)
		r = print_json(array) ?: r;
	json_decref(array);
	return r;
}

static int run_stat(int argc, char **argv)
{
	struct reader_options o = {.library = {.pool_bytes = POOL_BYTES}};
	int r = run_options(&o, argc, argv);

	block_list_free(&o.blocks);
	return r;
}

const struct command command_stat = {
	.name = "stat",
	.run = run_stat,
	.synopsis = "[OPTION...] POOL/blk_ID_GS[@STORAGE][:LENGTH]...",
	.summary = "Shows length and state of blocks",
	.options = READER_OPTIONS_HELP "  --json               as JSON\n",
};
