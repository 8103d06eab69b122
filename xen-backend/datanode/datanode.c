// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The configuration of a datanode, which lives as long as anybody holds a reference to the
 * datanode. Called by the rest of datanode/, read/ and peer/; datanode.h and datanode_private.h
 * describe the functions.
 */
#include <stdlib.h>
#include <string.h>

#include "datanode/datanode_private.h"

static void free_texts(char **texts, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		free(texts[i]);
	free(texts);
}

bool registry_copy_texts(struct registry_texts from, char ***ret, unsigned *ret_count)
{
	*ret = calloc(from.count + 1, sizeof(**ret));
	for (*ret_count = 0; *ret && *ret_count < from.count; ++*ret_count) {
		char *copy = strdup(from.text[*ret_count]);

		if (!copy)
			return false;
		(*ret)[*ret_count] = copy;
	}
	return *ret != NULL;
}

struct datanode *datanode_get(struct datanode *dn)
{
	atomic_fetch_add(&dn->references, 1);
	return dn;
}

void datanode_put(struct datanode *dn)
{
	if (!dn || atomic_fetch_sub(&dn->references, 1) != 1)
		return;
	errands_destroy(&dn->errands);
	pthread_cond_destroy(&dn->first_look);
	pthread_cond_destroy(&dn->wake);
	pthread_mutex_destroy(&dn->lock);
	published_put(dn->published);
	tokens_put(dn->tokens);
	free_texts(dn->data_dirs, dn->num_data_dirs);
	free_texts(dn->images, dn->num_images);
	free_texts(dn->folders, dn->num_folders);
	free(dn->usage);
	free(dn->layout_path);
	free(dn->name);
	free(dn);
}

struct datanode *datanode_new(struct registry *r, const char *name,
			      const struct registry_disks *disks, const struct datanode *old)
{
	struct datanode *dn = calloc(1, sizeof(*dn));

	if (!dn)
		return NULL;
	atomic_init(&dn->references, 1);
	pthread_mutex_init(&dn->lock, NULL);
	pthread_cond_init(&dn->wake, NULL);
	pthread_cond_init(&dn->first_look, NULL);
	errands_init(&dn->errands);
	dn->registry = r;
	dn->name = strdup(name);
	dn->published = old ? published_get(old->published) : published_new();
	dn->tokens = old ? tokens_get(old->tokens) : tokens_new(name, r->token_files);
	dn->usage = calloc(disks->images.count, sizeof(*dn->usage));
	for (unsigned i = 0; dn->usage && i < disks->images.count; i++)
		dn->usage[i].owner = IMAGE_NO_OWNER;
	if (dn->name && dn->published && dn->tokens && dn->usage &&
	    registry_copy_texts(disks->images, &dn->images, &dn->num_images) &&
	    registry_copy_texts(disks->folders, &dn->folders, &dn->num_folders))
		return dn;
	datanode_put(dn);
	return NULL;
}

const char *datanode_name(const struct datanode *dn)
{
	return dn->name;
}

struct published *datanode_published(struct datanode *dn)
{
	return dn->published;
}

struct tokens *datanode_tokens(struct datanode *dn)
{
	return dn->tokens;
}
