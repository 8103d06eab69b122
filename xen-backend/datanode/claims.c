// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Takes storages that belong to other datanodes out of what a datanode serves. refresh.c and
 * registry.c call it; claims.h describes the functions.
 */
#include "datanode/claims.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "datanode/owners.h"

#define CLAIM_TWICE "twice"

/* One data directory that is judged. `why` is NULL if the directory is served. */
struct claim {
	const struct layout_data_dir *dir;
	const char *datanode;
	const char *why;
	enum owners_verdict verdict; /* ITS: the directory is shown twice */
	char other[OWNERS_MAX_NAME + 1];
};

/* ---- the reason, for the operator --------------------------------------------------- */

static json_t *owner_of(const struct claim *c)
{
	if (!c->other[0])
		return NULL;
	return owners_is_peer(c->other) ? json_sprintf("peer %s", c->other + 1)
					: json_string(c->other);
}

static json_t *refusal(const struct claim *c)
{
	json_t *pools = json_array(), *o;
	char *problem = NULL, *remedy = NULL;

	if (c->verdict == OWNERS_ITS) {
		error_text(&problem, 0, "two data directories of this datanode show it");
		error_text(&remedy, 0, "remove the copy from its disks or from data-dirs");
	} else {
		owners_explain(c->verdict, c->datanode, c->other, c->dir->storage_id, &problem,
			       &remedy);
	}
	for (unsigned i = 0; i < c->dir->num_pools; i++)
		json_array_append_new(pools, json_string(c->dir->pools[i]));
	o = json_pack("{s:s, s:s, s:s, s:o*, s:s*, s:o, s:s*, s:s*}", "storage-id",
		      c->dir->storage_id, "path", c->dir->path, "because", c->why, "owner",
		      owner_of(c), "datanode-uuid", c->dir->datanode_uuid, "pools", pools,
		      "problem", problem, "remedy", remedy);
	free(problem);
	free(remedy);
	return o;
}

/* ---- judging ----------------------------------------------------------------------- */

static bool is_shown_twice(const struct image_layout *l, const char *storage_id)
{
	unsigned count = 0;

	for (unsigned i = 0; i < l->num_filesystems; i++)
		for (unsigned k = 0; k < l->filesystems[i].num_data_dirs; k++)
			count += !strcmp(l->filesystems[i].data_dirs[k].storage_id, storage_id);
	return count > 1;
}

/* The owner is asked about a storage that is shown twice, too: it is recorded as the datanode's, so
 * that no other takes it meanwhile. */
static void judge(const struct served *v, struct claim *c)
{
	c->verdict = owners_show(v->datanode->registry->owners, c->datanode, c->dir->storage_id,
				 c->other);
	c->why = owners_because(c->verdict);
	if (!c->why)
		c->other[0] = '\0';
	if (!c->why && is_shown_twice(v->layout, c->dir->storage_id))
		c->why = CLAIM_TWICE;
}

/* Notes the refusals of a file system's directories in `refused`, a flag for each. */
static void judge_filesystem(struct served *v, const struct layout_filesystem *lfs, bool *refused)
{
	for (unsigned i = 0; i < lfs->num_data_dirs; i++) {
		struct claim c = {.dir = &lfs->data_dirs[i], .datanode = v->datanode->name};

		judge(v, &c);
		refused[i] = c.why != NULL;
		if (c.why)
			json_array_append_new(v->refused, refusal(&c));
	}
}

static void take_out(struct layout_filesystem *lfs, const bool *refused)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < lfs->num_data_dirs; i++) {
		if (refused[i])
			layout_data_dir_clear(&lfs->data_dirs[i]);
		else
			lfs->data_dirs[kept++] = lfs->data_dirs[i];
	}
	lfs->num_data_dirs = kept;
}

bool claims_announce(const struct served *v)
{
	struct owners *owners = v->datanode->registry->owners;
	bool unsure = false;

	if (!atomic_load(&v->datanode->registry->judges))
		return false;
	owners_begin_look(owners);
	for (unsigned i = 0; i < v->layout->num_filesystems; i++)
		for (unsigned k = 0; k < v->layout->filesystems[i].num_data_dirs; k++) {
			const char *id = v->layout->filesystems[i].data_dirs[k].storage_id;
			char other[OWNERS_MAX_NAME + 1];

			owners_show(owners, v->datanode->name, id, other);
			unsure |= owners_is_unsure(owners, id);
		}
	return unsure;
}

void claims_judge(struct served *v)
{
	bool refused[LAYOUT_MAX_FILESYSTEMS][LAYOUT_MAX_DATA_DIRS];
	struct registry *s = v->datanode->registry;

	if (!atomic_load(&s->judges))
		return;
	v->refused = json_array();
	owners_begin_look(s->owners);
	for (unsigned i = 0; i < v->layout->num_filesystems; i++)
		judge_filesystem(v, &v->layout->filesystems[i], refused[i]);
	for (unsigned i = 0; i < v->layout->num_filesystems; i++)
		take_out(&v->layout->filesystems[i], refused[i]);
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "out of memory";
}

/* Why the storage is refused now; NULL: it is not. */
static const char *because(const struct served *v, const char *storage_id)
{
	char other[OWNERS_MAX_NAME + 1];

	return owners_because(
		owners_judge(v->datanode->registry->owners, v->datanode->name, storage_id, other));
}

bool claims_refusals_hold(const struct served *v)
{
	json_t *o;
	size_t i;

	json_array_foreach(v->refused, i, o)
	{
		const char *was = text_of(o, "because");
		const char *is = because(v, text_of(o, "storage-id"));

		if (strcmp(was, is ? is : CLAIM_TWICE))
			return false;
	}
	return true;
}

bool claims_hold(const struct served *v)
{
	struct registry *s = v->datanode->registry;

	if (!atomic_load(&s->judges))
		return true;
	for (unsigned i = 0; i < v->layout->num_filesystems; i++) {
		const struct layout_filesystem *lfs = &v->layout->filesystems[i];

		for (unsigned k = 0; k < lfs->num_data_dirs; k++)
			if (because(v, lfs->data_dirs[k].storage_id))
				return false;
	}
	return true;
}

void claims_log(const struct served *v)
{
	json_t *o;
	size_t i;

	json_array_foreach(v->refused, i, o)
	{
		log_event(LOG_EVENT_STORAGE_REFUSED, LOG_LEVEL_ERROR, v->datanode->name,
			  "storage %s in %s is not served: %s; %s", text_of(o, "storage-id"),
			  text_of(o, "path"), text_of(o, "problem"), text_of(o, "remedy"));
	}
}
