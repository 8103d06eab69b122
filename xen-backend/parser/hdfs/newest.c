// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the newest finalized replicas of a block pool without reading all its folders. newest.h
 * describes the function.
 *
 * HDFS gives out block ids in ascending order. Bits 8 to 17 of the id are the number of the block's
 * folder. So the folders fill up in the order of their numbers, and then again from the first. The
 * highest ids of the folders are an ascending row that was rotated, and a binary search finds the
 * folder with the newest block:
 *
 *   folder       0     1     2     3     4     5
 *   highest id   6001  6257  6513  2817  3073  3329
 *                            ^ the last one that is higher than the first
 *
 * A folder may lack blocks that its neighbours have. Then the search ends in an older folder, and
 * the replicas found are less new.
 */
#include "parser/hdfs/newest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parser/hdfs/locate.h"

#define SUBDIRS 32U
#define ATTEMPTS 4 /* of a search that the owner's changes disturb */

struct search {
	struct fs_view *view;
	uint64_t inodes[SUBDIRS * SUBDIRS]; /* of the folders there are, in the order of numbers */
	unsigned num_folders;
	struct replica_name *found; /* in descending order of id */
	unsigned count;
	int64_t highest; /* id in the folder that is being read; 0: none so far */
};

/* Collects the directories subdir0 to subdir31 of one directory. */
static int collect_subdir(void *ctx, const char *name, uint64_t inode)
{
	uint64_t *inodes = ctx;
	unsigned long number;
	char *end;

	if (strncmp(name, "subdir", 6) != 0 || name[6] < '0' || name[6] > '9')
		return 0;
	number = strtoul(name + 6, &end, 10);
	if (*end == '\0' && number < SUBDIRS)
		inodes[number] = inode;
	return 0;
}

static int list_subdirs(struct fs_view *view, uint64_t dir, uint64_t inodes[SUBDIRS])
{
	memset(inodes, 0, SUBDIRS * sizeof(inodes[0]));
	return fs_view_list(view, dir, collect_subdir, inodes);
}

/* A name that is no directory is passed over: a guest may have made it. */
static int find_folders(struct search *s, uint64_t finalized)
{
	uint64_t outer[SUBDIRS], inner[SUBDIRS];
	int r = list_subdirs(s->view, finalized, outer);

	s->num_folders = 0;
	for (unsigned i = 0; i < SUBDIRS && r == 0; i++) {
		r = outer[i] ? list_subdirs(s->view, outer[i], inner) : -ENOTDIR;
		for (unsigned k = 0; k < SUBDIRS && r == 0; k++)
			if (inner[k])
				s->inodes[s->num_folders++] = inner[k];
		r = r == -ENOTDIR ? 0 : r;
	}
	return r;
}

/* Keeps the newest NEWEST_MAX replicas. A replica may be shown twice. */
static void keep(struct search *s, struct replica_name name)
{
	unsigned at = s->count;

	for (unsigned i = 0; i < s->count; i++)
		if (s->found[i].id == name.id && s->found[i].genstamp >= name.genstamp)
			return;
	while (at > 0 && s->found[at - 1].id < name.id)
		at--;
	if (at == NEWEST_MAX)
		return;
	if (s->count < NEWEST_MAX)
		s->count++;
	memmove(&s->found[at + 1], &s->found[at], (s->count - at - 1) * sizeof(name));
	s->found[at] = name;
}

static int collect_replica(void *ctx, const char *name, uint64_t inode)
{
	struct search *s = ctx;
	struct replica_name found;

	(void)inode;
	if (!block_parse_meta_name(name, &found.id, &found.genstamp) || found.id < 0)
		return 0;
	if (found.id > s->highest)
		s->highest = found.id;
	keep(s, found);
	return 0;
}

/* Sets *ret to the highest id in a folder; 0: it holds no block. */
static int read_folder(struct search *s, unsigned folder, int64_t *ret)
{
	int r;

	s->highest = 0;
	r = fs_view_list(s->view, s->inodes[folder], collect_replica, s);
	*ret = s->highest;
	return r == -ENOTDIR ? 0 : r;
}

static int search_folders(struct search *s)
{
	unsigned low = 0, high = s->num_folders;
	int64_t first, id;
	int r = high ? read_folder(s, 0, &first) : 0;

	while (r == 0 && high - low > 1) {
		unsigned middle = low + (high - low) / 2;

		r = read_folder(s, middle, &id);
		if (id >= first)
			low = middle;
		else
			high = middle;
	}
	/* The newest folder may hold few blocks so far. */
	if (r == 0 && s->num_folders > 1)
		r = read_folder(s, low ? low - 1 : s->num_folders - 1, &id);
	return r;
}

static int search_once(struct fs *fs, const char *path, struct search *s)
{
	uint64_t finalized;
	int confirmed, r = fs_view_open(fs, &s->view, NULL);

	if (r < 0)
		return r;
	s->count = 0;
	r = fs_view_lookup(s->view, fs_view_root(s->view), path, &finalized);
	if (r == 0)
		r = find_folders(s, finalized);
	if (r == 0)
		r = search_folders(s);
	confirmed = fs_view_confirm(s->view, NULL, NULL);
	fs_view_close(s->view);
	return confirmed < 0 ? confirmed : r;
}

int newest_replicas(struct fs *fs, const char *path, struct replica_name ret[NEWEST_MAX],
		    unsigned *ret_count)
{
	struct search s = {.found = ret};
	int r = -EAGAIN;

	for (unsigned i = 0; i < ATTEMPTS && r == -EAGAIN; i++)
		r = search_once(fs, path, &s);
	*ret_count = s.count;
	return r;
}
