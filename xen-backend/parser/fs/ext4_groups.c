// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shares the group descriptors that one view has read with later views; see ext4.h.  ext4.c calls
 * these functions.
 *
 * A large file system has tens of thousands of group descriptors.  The reader uses only the place
 * of each group's inode table.  That place does not change while the file system is mounted, or
 * while nobody writes to the file system.  Later views therefore borrow the descriptors of the
 * first view, as long as the mount is the same, or the stamp of the clean file system is equal.  A
 * file system that has grown has more descriptors; a view then reads all descriptors again.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "parser/fs/ext4.h"

struct ext4_groups {
	atomic_uint references;
	bool live;
	struct ext4_mount mount; /* if live */
	struct fs_stamp stamp;   /* if not live */
	dgrp_t count;
	unsigned descriptor_size;
	struct opaque_ext2_group_desc *descriptors; /* allocated by libext2fs */
};

void ext4_groups_init(struct ext4_group_store *s)
{
	pthread_mutex_init(&s->lock, NULL);
	s->groups = NULL;
}

static void put(struct ext4_groups *g)
{
	if (!g || atomic_fetch_sub(&g->references, 1) != 1)
		return;
	ext2fs_free_mem(&g->descriptors);
	free(g);
}

void ext4_groups_release(struct ext4_group_store *s)
{
	put(s->groups);
	pthread_mutex_destroy(&s->lock);
}

/* True if the descriptors in g are valid for view v. */
static bool same_time(const struct ext4_groups *g, const struct ext4_view *v)
{
	if (g->live != v->view.live)
		return false;
	return g->live ? ext4_same_mount(&g->mount, &v->super.mount)
		       : fs_stamp_equal(&g->stamp, &v->stamp);
}

bool ext4_groups_find(struct ext4_group_store *s, struct ext4_view *v)
{
	pthread_mutex_lock(&s->lock);
	if (s->groups && same_time(s->groups, v)) {
		v->groups = s->groups;
		atomic_fetch_add(&v->groups->references, 1);
	}
	pthread_mutex_unlock(&s->lock);
	return v->groups;
}

bool ext4_groups_lend(struct ext4_view *v)
{
	const struct ext4_groups *g = v->groups;

	if (v->filsys->group_desc_count > g->count ||
	    EXT2_DESC_SIZE(v->filsys->super) != g->descriptor_size)
		return false;
	v->filsys->group_desc = g->descriptors;
	return true;
}

void ext4_groups_return(struct ext4_view *v)
{
	if (!v->groups)
		return;
	if (v->filsys)
		v->filsys->group_desc = NULL;
	put(v->groups);
	v->groups = NULL;
}

/* If out of memory, v keeps its descriptors for itself. */
void ext4_groups_keep(struct ext4_group_store *s, struct ext4_view *v)
{
	struct ext4_groups *g = calloc(1, sizeof(*g)), *old;

	if (!g)
		return;
	atomic_init(&g->references, 2); /* one for the store, one for the view */
	g->live = v->view.live;
	g->mount = v->super.mount;
	g->stamp = v->stamp;
	g->count = v->filsys->group_desc_count;
	g->descriptor_size = EXT2_DESC_SIZE(v->filsys->super);
	g->descriptors = v->filsys->group_desc;
	v->groups = g;
	pthread_mutex_lock(&s->lock);
	old = s->groups;
	s->groups = g;
	pthread_mutex_unlock(&s->lock);
	put(old);
}
