// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts the references to a `served` and frees it with the last one. datanode/ and read/ call
 * it; served.h describes the functions.
 */
#include "datanode/served.h"
#include "datanode/datanode_private.h"

#include <stdlib.h>

struct served *served_get(struct served *v)
{
	if (v)
		atomic_fetch_add(&v->references, 1);
	return v;
}

/* The parser has ended, so nothing uses the images any more. */
static void served_free(void *served)
{
	struct served *v = served;

	for (unsigned i = 0; v->volumes && i < v->layout->num_filesystems; i++)
		volume_free(v->volumes[i]);
	for (unsigned i = 0; v->images && i < v->datanode->num_images; i++)
		image_close(v->images[i]);
	free(v->fs);
	free(v->volumes);
	free(v->images);
	layout_free(v->layout);
	free(v->missing);
	json_decref(v->refused);
	json_decref(v->states.texts);
	datanode_put(v->datanode);
	free(v);
}

void served_put(struct served *v)
{
	if (v && atomic_fetch_sub(&v->references, 1) == 1)
		parser_free(v->parser, served_free, v);
}
