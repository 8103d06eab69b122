/* SPDX-License-Identifier: GPL-2.0-or-later */
/* datanodes.c - see datanodes.h. */
#include "control/datanodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "block/store.h"
#include "port/xen/disks.h"

static struct block_texts texts(const struct config_paths *paths)
{
	return (struct block_texts){(const char *const *)paths->path, paths->count};
}

static int add_to_store(struct block_store *s, const struct config_datanode *n, char **ret_error)
{
	struct block_texts images = texts(&n->images), dirs = texts(&n->data_dirs);

	if (n->layout)
		return block_store_add(s, n->name, images, n->layout, ret_error);
	return block_store_add_data_dirs(s, n->name, images, dirs, ret_error);
}

static json_t *images_as_json(const struct config_datanode *n)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < n->images.count; i++)
		json_array_append_new(array, json_pack("{s:s}", "image", n->images.path[i]));
	return array;
}

static void add(struct datanodes *d, const struct config_datanode *n)
{
	char *error = NULL;
	int err = add_to_store(d->store, n, &error);
	const char *text = error ? error : strerror(-err);

	if (!err && n->layout)
		log_info("datanode %s: serving %s%s", n->name, n->images.path[0],
			 n->images.count > 1 ? " and others" : "");
	if (!err)
		return;
	log_error("datanode %s: refused: %s", n->name, text);
	json_array_append_new(d->refused, json_pack("{s:s, s:o, s:s*, s:s, s:s}", "datanode",
						    n->name, "images", images_as_json(n), "layout",
						    n->layout, "state", "refused", "error", text));
	free(error);
}

static enum source_mode configured_mode(const struct datanodes *d, const char *datanode)
{
	for (size_t i = 0; i < d->config->num_datanodes; i++)
		if (!strcmp(d->config->datanodes[i].name, datanode))
			return d->config->datanodes[i].image_mode;
	return SOURCE_AUTO;
}

/* The operator's word counts, but not without a warning where it is known to be wrong. */
static void force(struct image_usage *u, enum source_mode mode)
{
	if (mode == SOURCE_BUFFERED && u->mode == SOURCE_DIRECT)
		snprintf(
			u->warning, sizeof(u->warning),
			"image-mode = buffered, but it is %s: those writes go past the page cache, "
			"and reads will be stale; remove image-mode",
			u->because);
	snprintf(u->because, sizeof(u->because), "set by image-mode");
	u->mode = mode;
}

static void usage_of(void *ctx, const char *datanode, const char *path, struct image_usage *ret)
{
	const struct datanodes *d = ctx;
	enum source_mode mode = configured_mode(d, datanode);

	*ret = (struct image_usage){.mode = SOURCE_AUTO, .owner = IMAGE_NO_OWNER};
	if (d->disks)
		xen_disks_usage(d->disks, path, ret);
	if (mode != SOURCE_AUTO)
		force(ret, mode);
}

int datanodes_open(struct datanodes *d, const struct config *config, struct xen_disks *disks)
{
	d->config = config;
	d->disks = disks;
	d->store = block_store_new();
	d->refused = json_array();
	if (!d->store || !d->refused ||
	    block_store_set_memory(d->store, config->read_ahead, config->cache) < 0) {
		datanodes_close(d);
		return -ENOMEM;
	}
	block_store_set_usage(d->store, usage_of, d);
	for (size_t i = 0; i < config->num_datanodes; i++)
		add(d, &config->datanodes[i]);
	return 0;
}

void datanodes_close(struct datanodes *d)
{
	if (d->store)
		block_store_free(d->store);
	json_decref(d->refused);
	*d = (struct datanodes){0};
}

json_t *datanodes_status(const struct datanodes *d)
{
	json_t *all = block_store_status(d->store);

	if (all)
		json_array_extend(all, d->refused);
	return all;
}
