/* SPDX-License-Identifier: GPL-2.0-or-later */
/* datanodes.c - see datanodes.h. */
#include "control/datanodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "block/store.h"

static int add_to_store(struct block_store *s, const struct config_datanode *n, char **ret_error)
{
	if (n->layout)
		return block_store_add(s, n->name, n->image, n->layout, ret_error);
	return block_store_add_data_dirs(s, n->name, n->image,
					 (const char *const *)n->data_dirs.path, n->data_dirs.count,
					 ret_error);
}

static void add(struct datanodes *d, const struct config_datanode *n)
{
	char *error = NULL;
	int err = add_to_store(d->store, n, &error);
	const char *text = error ? error : strerror(-err);

	if (!err && n->layout)
		log_info("datanode %s: serving %s", n->name, n->image);
	if (!err)
		return;
	log_error("datanode %s: refused: %s", n->name, text);
	json_array_append_new(d->refused, json_pack("{s:s, s:s, s:s*, s:s, s:s}", "datanode",
						    n->name, "image", n->image, "layout", n->layout,
						    "state", "refused", "error", text));
	free(error);
}

int datanodes_open(struct datanodes *d, const struct config *config)
{
	d->store = block_store_new();
	d->refused = json_array();
	if (!d->store || !d->refused) {
		datanodes_close(d);
		return -ENOMEM;
	}
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
