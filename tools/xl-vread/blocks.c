/* SPDX-License-Identifier: GPL-2.0-or-later */
/* blocks.c - `xl-vread blocks`: lists the replicas in datanode images, without vreadd.  The
 * operator runs it in dom0. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "by_keys.h"
#include "datanode/list.h"
#include "datanode/registry.h"
#include "read/store.h"
#include "commands.h"
#include "config_path.h"
#include "control/config.h"
#include "control/keyed.h"
#include "disk/image.h"
#include "layout/layout.h"

enum format { FORMAT_TEXT, FORMAT_SPECS, FORMAT_JSON };

struct options {
	const char *folders[IMAGE_MAX_FOLDERS];
	unsigned num_folders;
	const char *image, *layout, *config, *pool;
	const char *data_dirs[LAYOUT_MAX_DATA_DIRS];
	unsigned num_data_dirs;
	enum format format;
};

struct printer {
	const struct options *options;
	json_t *array;
};

static void append_json(json_t *array, const struct block_listing *b)
{
	json_array_append_new(array,
			      json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:b, s:s*}", "datanode",
					b->datanode, "storage", b->storage_id, "pool", b->pool_id,
					"id", (json_int_t)b->block_id, "generation_stamp",
					(json_int_t)b->genstamp, "length", (json_int_t)b->length,
					"finalized", b->finalized, "problem",
					b->status ? b->problem : NULL));
}

static void print_spec(const struct block_listing *b)
{
	printf("%s/blk_%" PRId64 "_%" PRIu64 "@%s", b->pool_id, b->block_id, b->genstamp,
	       b->storage_id);
	if (b->length)
		printf(":%" PRIu64, b->length);
}

static int print_block(void *ctx, const struct block_listing *b)
{
	struct printer *p = ctx;

	if (p->options->pool && strcmp(p->options->pool, b->pool_id))
		return 0;
	if (p->array) {
		append_json(p->array, b);
	} else if (p->options->format == FORMAT_SPECS) {
		if (b->status)
			return 0; /* cannot be read, so of no use for `vread cat` */
		print_spec(b);
		putchar('\n');
	} else {
		printf("%12" PRIu64 "  %-9s  ", b->length,
		       b->status      ? "unusable"
		       : b->finalized ? "finalized"
				      : "rbw");
		print_spec(b);
		putchar('\n');
		if (b->status)
			printf("%14s%s\n", "", b->problem);
	}
	return 0;
}

static int print_all(struct block_store *store, const struct options *o)
{
	struct printer p = {.options = o};
	int r;

	if (o->format == FORMAT_JSON)
		p.array = json_array();
	if (o->format == FORMAT_TEXT)
		printf("%12s  %-9s  %s\n", "LENGTH", "STATE", "BLOCK");
	r = registry_list(block_store_registry(store), print_block, &p);
	if (p.array) {
		json_dumpf(p.array, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(p.array);
	}
	if (r)
		return cli_error(CLI_FAILED, "cannot list blocks: %s", strerror(-r));
	return CLI_OK;
}

/* layout: NULL if data_dirs are given. */
static int add(struct block_store *store, const char *name, const struct registry_disks *disks,
	       const char *layout, struct registry_texts data_dirs)
{
	char *error = NULL;
	int r;

	if (layout)
		r = registry_add(block_store_registry(store), name, disks, layout, &error);
	else
		r = registry_add_data_dirs(block_store_registry(store), name, disks, data_dirs,
					   &error);
	if (!r)
		return CLI_OK;
	cli_error(CLI_FAILED, "%s", error ?: "out of memory");
	free(error);
	return CLI_FAILED;
}

static struct registry_texts configured(const struct config_paths *paths)
{
	return (struct registry_texts){(const char *const *)paths->path, paths->count};
}

static int add_section(struct block_store *store, const struct config_datanode *dn)
{
	const struct registry_disks disks = {configured(&dn->images),
					     configured(&dn->backing_folders)};

	return add(store, dn->name, &disks, dn->layout, configured(&dn->data_dirs));
}

/* Adds the datanodes of keys in xenstore, if vreadd would accept the keys. */
static int add_keyed(struct block_store *store, const struct config *config)
{
	char(*status)[KEYED_MAX_STATUS];
	struct keys_list keys;
	struct keyed keyed = {0};
	int code = CLI_OK;

	by_keys_try(config, &keys);
	status = calloc(keys.count + 1, sizeof(*status));
	if (!status || keyed_judge(config, &keys, &keyed, status))
		code = cli_error(CLI_FAILED, "out of memory");
	for (size_t i = 0; i < keyed.count; i++)
		code = add_section(store, &keyed.config[i]->datanodes[0]) ?: code;
	keyed_free(&keyed);
	keys_free(&keys);
	free(status);
	return code;
}

/* Adds all datanodes of this host.  *ret_some: the configuration could be read.  Then the blocks of
 * the other datanodes are listed even if one datanode is refused. */
static int add_configured(struct block_store *store, const char *path, bool *ret_some)
{
	struct config *config;
	json_t *problems, *problem;
	size_t at;
	int code = CLI_OK;

	*ret_some = false;
	if (config_load(path, &config, &problems)) {
		json_array_foreach(problems, at, problem) config_problem_print(stderr, problem, "");
		json_decref(problems);
		return CLI_FAILED;
	}
	for (size_t i = 0; i < config->num_datanodes; i++)
		code = add_section(store, &config->datanodes[i]) ?: code;
	code = add_keyed(store, config) ?: code;
	*ret_some = true;
	config_free(config);
	return code;
}

static int list(const struct options *o)
{
	const struct registry_disks disks = {{&o->image, 1}, {o->folders, o->num_folders}};
	struct block_store *store = block_store_new();
	bool some = false;
	int code;

	if (!store)
		return cli_error(CLI_FAILED, "out of memory");
	if (o->image)
		code = add(store, "image", &disks, o->layout,
			   (struct registry_texts){o->data_dirs, o->num_data_dirs});
	else
		code = add_configured(store, o->config, &some);
	if (!code || some)
		code = print_all(store, o) ?: code;
	block_store_free(store);
	return code;
}

static int add_data_dir(struct options *o, const char *path)
{
	if (!layout_path_valid(path))
		return cli_usage("--data-dir %s: expected an absolute path without ..", path);
	if (o->num_data_dirs == LAYOUT_MAX_DATA_DIRS)
		return cli_usage("--data-dir: expected at most %u", LAYOUT_MAX_DATA_DIRS);
	o->data_dirs[o->num_data_dirs++] = path;
	return CLI_OK;
}

static int add_folder(struct options *o, const char *path)
{
	if (!image_folder_valid(path))
		return cli_usage("--backing-folder %s: expected an absolute path without .., "
				 "and not / itself",
				 path);
	if (o->num_folders == IMAGE_MAX_FOLDERS)
		return cli_usage("--backing-folder: expected at most %u", IMAGE_MAX_FOLDERS);
	o->folders[o->num_folders++] = path;
	return CLI_OK;
}

/* Checks that the options name either one image or a configuration. */
static int check_source(struct options *o)
{
	if (!o->image && (o->layout || o->num_data_dirs))
		return cli_usage("--layout and --data-dir: expected --image, too");
	if (!o->image && o->num_folders)
		return cli_usage(
			"--backing-folder: expected --image, too; for a configured image use "
			"the key backing-folders of vread.conf(5)");
	if (o->image && !o->layout == !o->num_data_dirs)
		return cli_usage("--image: expected either --layout or --data-dir, too");
	if (o->image && o->config)
		return cli_usage("--config and --image: expected only one of them");
	if (!o->config)
		o->config = config_path();
	return CLI_OK;
}

static int parse(struct options *o, int argc, char **argv)
{
	static const struct option options[] = {
		{"image", required_argument, NULL, 'i'},
		{"layout", required_argument, NULL, 'l'},
		{"data-dir", required_argument, NULL, 'd'},
		{"backing-folder", required_argument, NULL, 'b'},
		{"config", required_argument, NULL, 'c'},
		{"pool", required_argument, NULL, 'p'},
		{"specs", no_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},
		{NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'i':
			o->image = optarg;
			break;
		case 'l':
			o->layout = optarg;
			break;
		case 'd':
			if (add_data_dir(o, optarg))
				return CLI_USAGE;
			break;
		case 'b':
			if (add_folder(o, optarg))
				return CLI_USAGE;
			break;
		case 'c':
			o->config = optarg;
			break;
		case 'p':
			o->pool = optarg;
			break;
		case 's':
		case 'j':
			o->format = c == 's' ? FORMAT_SPECS : FORMAT_JSON;
			break;
		default:
			return cli_bad_option();
		}
	}
	if (optind < argc)
		return cli_usage("%s: unexpected argument", argv[optind]);
	return check_source(o);
}

static int run_blocks(int argc, char **argv)
{
	struct options o = {0};

	log_set_name("xl-vread blocks");
	log_set_level(LOG_LEVEL_WARN);
	return parse(&o, argc, argv) ?: list(&o);
}

const struct command command_blocks = {
	.name = "blocks",
	.run = run_blocks,
	.synopsis = "[--image IMAGE --data-dir DIR | --config FILE] [...]",
	.summary = "Lists the blocks in datanode images, without vreadd",
	.options = "  --image IMAGE     a datanode's disk image, and\n"
		   "  --data-dir DIR    a data directory inside it (may be given again), or\n"
		   "  --layout LAYOUT   the layout vread-provision wrote for it; or instead\n"
		   "  --backing-folder DIR\n"
		   "                    a folder of this host below which files may lie that the\n"
		   "                    image names (may be given again)\n"
		   "  --config FILE     datanodes of vread.conf(5) (default $VREAD_CONFIG, else\n"
		   "                    " CONFIG_DEFAULT_PATH ")\n"
		   "  --pool POOL       only this block pool\n"
		   "  --specs           only readable blocks, one per line, for --blocks-from\n"
		   "  --json            as JSON\n",
};
