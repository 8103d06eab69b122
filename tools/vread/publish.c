/* SPDX-License-Identifier: GPL-2.0-or-later */
/* publish.c - `vread publish`: reports for a datanode what happens to its blocks.  For scripts and
 * repairs: normally the datanode's plug-in reports it. */
#include <errno.h>
#include <string.h>

#include "commands.h"
#include "connect.h"

#define POOL_BYTES ((size_t)64 << 10) /* nothing is read */

static const char *const events[] = {
	[VREAD_EVENT_FINALIZED] = "finalized",
	[VREAD_EVENT_APPEND] = "append",
	[VREAD_EVENT_TRUNCATE] = "truncate",
	[VREAD_EVENT_DELETE] = "delete",
};

/* 0: no such event. */
static unsigned find_event(const char *name)
{
	for (unsigned e = VREAD_EVENT_FINALIZED; e <= VREAD_EVENT_DELETE; e++)
		if (!strcmp(events[e], name))
			return e;
	return 0;
}

static int check_blocks(const struct block_list *blocks)
{
	for (size_t i = 0; i < blocks->count; i++)
		if (!blocks->specs[i].storage[0])
			return cli_usage("%s: expected @STORAGE, the replica's storage id",
					 blocks->specs[i].text);
	return CLI_OK;
}

static int publish_one(struct vread *v, unsigned event, const struct block_spec *spec)
{
	const char *storage = spec->storage;
	struct vread_block block = {
		.pool_id = spec->pool,
		.block_id = spec->block_id,
		.generation_stamp = spec->genstamp,
		.storage_ids = &storage,
		.num_storage_ids = 1,
	};

	return vread_publish(v, &block, event, spec->length);
}

/* Tries every block, also after a failure, unless the device takes no events at all. */
static int publish_blocks(struct vread *v, unsigned event, const struct block_list *blocks)
{
	int code = CLI_OK;

	for (size_t i = 0; i < blocks->count; i++) {
		int r = publish_one(v, event, &blocks->specs[i]);

		if (r == -EOPNOTSUPP)
			return cli_error(
				CLI_FAILED,
				"this device takes no events: it needs role=datanode (xl-vread "
				"attach), on the local port publish-datanodes (vread.conf)");
		if (r == -EACCES)
			return cli_error(CLI_FAILED,
					 "%s: this datanode's events are not taken from here: see "
					 "publish-datanodes of the device (xl-vread attach), on "
					 "the local port publish-datanodes and publish-uids "
					 "(vread.conf)",
					 blocks->specs[i].text);
		if (r)
			code = reader_failed(&blocks->specs[i], r);
	}
	return code;
}

static int run_options(struct reader_options *o, int argc, char **argv)
{
	static const struct option options[] = {READER_OPTIONS, {NULL, 0, NULL, 0}};
	struct vread *v;
	unsigned event;
	int c, r;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		r = reader_option(o, c, optarg);
		if (r)
			return r;
	}
	if (optind == argc)
		return cli_usage("expected an event: finalized, append, truncate or delete");
	event = find_event(argv[optind]);
	if (!event)
		return cli_usage("%s: expected finalized, append, truncate or delete",
				 argv[optind]);
	optind++;
	r = reader_arguments(o, argc, argv) ?: check_blocks(&o->blocks);
	r = r ?: reader_connect(o, POOL_BYTES, &v);
	if (r)
		return r;
	r = publish_blocks(v, event, &o->blocks);
	vread_disconnect(v);
	return r;
}

static int run_publish(int argc, char **argv)
{
	struct reader_options o = {.library = {.pool_bytes = POOL_BYTES, .publisher = 1}};
	int r = run_options(&o, argc, argv);

	block_list_free(&o.blocks);
	return r;
}

const struct command command_publish = {
	.name = "publish",
	.run = run_publish,
	.synopsis = "[OPTION...] EVENT POOL/blk_ID_GS@STORAGE[:LENGTH]...",
	.summary = "Sends the backend an event of a datanode's blocks",
	.options = "  EVENT                finalized, append, truncate or "
		   "delete\n" READER_OPTIONS_HELP,
};
