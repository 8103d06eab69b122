// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where inode tables lie, read once for many views.
 *
 * A large file system has tens of thousands of group descriptors.  All that is used
 * of them is the place of each group's inode table, and nothing moves that while the
 * file system is mounted, or while nobody writes to it.  So the descriptors of
 * the first view are lent to those that follow, as long as it is the same mount,
 * or the same clean file system as by its stamp.  A file system that grew has more of
 * them, and they are read again.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "parser/fs/ext4.h"

struct ext4_groups {
	atomic_uint references;
	bool live;
	struct ext4_mount mount; /* if live */
	struct fs_stamp stamp;   /* if not */
	dgrp_t count;
	unsigned descriptor_size;
	struct opaque_ext2_group_desc *descriptors; /* libext2fs's memory */
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

/* Without the memory for it the view keeps them for itself. */
void ext4_groups_keep(struct ext4_group_store *s, struct ext4_view *v)
{
	struct ext4_groups *g = calloc(1, sizeof(*g)), *old;

	if (!g)
		return;
	atomic_init(&g->references, 2); /* the store's and the view's */
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
