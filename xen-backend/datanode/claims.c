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

/* One data directory that is judged. `why` is NULL if the directory is served. */
struct claim {
	const struct layout_data_dir *dir;
	const char *datanode;
	const char *why;
	char other[OWNERS_MAX_NAME + 1];
};

/* ---- the reason, for the operator --------------------------------------------------- */

struct texts {
	char *problem, *remedy;
};

static void set_texts(const struct claim *c, struct texts *t)
{
	const char *storage = c->dir->storage_id, *dn = c->datanode;

	if (!strcmp(c->why, "pinned")) {
		error_text(&t->problem, 0, "the configuration pins it to datanode %s", c->other);
		error_text(&t->remedy, 0,
			   "if its disk has moved here, correct storages in [datanode %s]",
			   c->other);
	} else if (!strcmp(c->why, "unlisted")) {
		error_text(&t->problem, 0, "storages in [datanode %s] does not name it", dn);
		error_text(&t->remedy, 0, "add it there if it is the datanode's own");
	} else if (!strcmp(c->why, "recorded")) {
		error_text(&t->problem, 0, "datanode %s showed it first", c->other);
		error_text(&t->remedy, 0,
			   "if its disk has moved here, run xl-vread datanode give %s %s", storage,
			   dn);
	} else if (!strcmp(c->why, "contested")) {
		error_text(&t->problem, 0,
			   "datanode %s shows it too, and who showed it first is not known",
			   c->other);
		error_text(&t->remedy, 0, "say whose it is: xl-vread datanode give %s DATANODE",
			   storage);
	} else if (!strcmp(c->why, "twice")) {
		error_text(&t->problem, 0, "two data directories of this datanode show it");
		error_text(&t->remedy, 0, "remove the copy from its disks or from data-dirs");
	} else {
		error_text(&t->problem, 0, "the record of storages has no room");
		error_text(&t->remedy, 0, "%u storages are recorded for a datanode at most",
			   OWNERS_MAX_EACH);
	}
}

static json_t *refusal(const struct claim *c)
{
	json_t *pools = json_array(), *o;
	struct texts t = {0};

	set_texts(c, &t);
	for (unsigned i = 0; i < c->dir->num_pools; i++)
		json_array_append_new(pools, json_string(c->dir->pools[i]));
	o = json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:o, s:s*, s:s*}", "storage-id",
		      c->dir->storage_id, "path", c->dir->path, "because", c->why, "owner",
		      c->other[0] ? c->other : NULL, "datanode-uuid", c->dir->datanode_uuid,
		      "pools", pools, "problem", t.problem, "remedy", t.remedy);
	free(t.problem);
	free(t.remedy);
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
	static const char *const names[] = {
		[OWNERS_ITS] = NULL,
		[OWNERS_PINNED] = "pinned",
		[OWNERS_UNLISTED] = "unlisted",
		[OWNERS_RECORDED] = "recorded",
		[OWNERS_CONTESTED] = "contested",
		[OWNERS_FULL] = "full",
	};

	c->why = names[owners_show(v->datanode->registry->owners, c->datanode, c->dir->storage_id,
				   c->other)];
	if (!c->why)
		c->other[0] = '\0';
	if (!c->why && is_shown_twice(v->layout, c->dir->storage_id))
		c->why = "twice";
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

bool claims_hold(const struct served *v)
{
	struct registry *s = v->datanode->registry;

	if (!atomic_load(&s->judges))
		return true;
	for (unsigned i = 0; i < v->layout->num_filesystems; i++) {
		const struct layout_filesystem *lfs = &v->layout->filesystems[i];

		for (unsigned k = 0; k < lfs->num_data_dirs; k++)
			if (owners_judge(s->owners, v->datanode->name,
					 lfs->data_dirs[k].storage_id) != OWNERS_ITS)
				return false;
	}
	return true;
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "out of memory";
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
