// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Asks how each image of a datanode is to be read, and keeps the answer for the status. load.c
 * and refresh.c call it; usage.h describes the functions.
 */
#include "datanode/usage.h"

#include <string.h>

#include "base/log.h"

/* Indexed by enum source_mode. */
static const char *const ways[] = {"", ": read through the page cache", ": read with O_DIRECT"};

static void tell(const struct datanode *dn, const char *image, const struct image_usage *was,
		 const struct image_usage *is)
{
	if (is->because[0] && strcmp(was->because, is->because))
		log_datanode(LOG_LEVEL_INFO, dn->name, "image %s: %s%s", image, is->because,
			     ways[is->mode]);
	if (is->warning[0] && strcmp(was->warning, is->warning))
		log_datanode(LOG_LEVEL_WARN, dn->name, "image %s: %s", image, is->warning);
}

bool usage_update(struct datanode *dn)
{
	const struct registry *s = dn->registry;
	bool changed = false;

	for (unsigned i = 0; s->usage && i < dn->num_images; i++) {
		struct image_usage is, was;
		const char *path;

		image_spec_split(dn->images[i], &path);
		is = was = dn->usage[i]; /* only this thread changes it */
		s->usage(s->usage_ctx, dn->name, path, &is);
		pthread_mutex_lock(&dn->lock);
		dn->usage[i] = is;
		pthread_mutex_unlock(&dn->lock);
		tell(dn, dn->images[i], &was, &is);
		changed |= was.mode != is.mode;
	}
	return changed;
}

enum source_mode usage_mode(struct datanode *dn, unsigned image)
{
	enum source_mode mode;

	pthread_mutex_lock(&dn->lock);
	mode = dn->usage[image].mode;
	pthread_mutex_unlock(&dn->lock);
	return mode;
}
