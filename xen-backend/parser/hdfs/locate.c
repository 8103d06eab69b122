// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the files of a block by their names. parser/serve.c and folder.c call it; locate.h
 * describes the functions.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parser/hdfs/locate.h"
#include "parser/hdfs/meta.h"

/* Parses a decimal number as Java prints a long: no plus sign, no leading zero. */
static bool parse_long(const char **text, int64_t *ret)
{
	const char *p = *text + (**text == '-');
	char *end;

	if (*p < '0' || *p > '9' || (*p == '0' && p[1] >= '0' && p[1] <= '9'))
		return false;
	errno = 0;
	*ret = strtoll(*text, &end, 10);
	if (errno || (*ret == 0 && p != *text))
		return false;
	*text = end;
	return true;
}

bool block_parse_data_name(const char *name, int64_t *ret_id)
{
	if (strncmp(name, "blk_", 4))
		return false;
	name += 4;
	return parse_long(&name, ret_id) && *name == '\0';
}

bool block_parse_meta_name(const char *name, int64_t *ret_id, uint64_t *ret_genstamp)
{
	int64_t genstamp;

	if (strncmp(name, "blk_", 4))
		return false;
	name += 4;
	if (!parse_long(&name, ret_id) || *name++ != '_' || !parse_long(&name, &genstamp))
		return false;
	*ret_genstamp = (uint64_t)genstamp;
	return !strcmp(name, ".meta");
}

struct meta_search {
	int64_t id;
	bool found;
};

static int is_any_meta(void *ctx, const char *name, uint64_t inode)
{
	struct meta_search *s = ctx;
	uint64_t genstamp;
	int64_t id;

	(void)inode;
	s->found = block_parse_meta_name(name, &id, &genstamp) && id == s->id;
	return s->found;
}

/* Returns the error for a block whose data file exists, but not the .meta of the wanted
 * generation stamp: -EEXIST if there is a .meta of another stamp, else -EILSEQ. */
static int why_no_meta(struct fs_view *view, uint64_t folder, int64_t id)
{
	struct meta_search s = {id, false};
	int r = fs_view_list(view, folder, is_any_meta, &s);

	if (r < 0)
		return r;
	return s.found ? -EEXIST : -EILSEQ;
}

int block_read_header(struct fs *fs, const struct fs_file *meta, struct meta_header *ret,
		      const char **ret_reason)
{
	uint8_t raw[META_HEADER_BYTES];
	size_t length = meta->size < sizeof(raw) ? (size_t)meta->size : sizeof(raw);
	int r;

	if (!fs_file_head_settled(fs, meta, length)) {
		*ret_reason = "still in its file system's journal (data=journal)";
		return -EAGAIN;
	}
	r = fs_file_read(fs, meta, 0, raw, length);
	return r < 0 ? r : meta_parse(raw, length, ret, ret_reason);
}

static int map_files(struct fs *fs, struct fs_view *view, uint64_t data, uint64_t meta,
		     struct block_files *ret)
{
	const char *reason;
	int r = fs_view_map(view, data, &ret->data);

	if (r < 0)
		return r;
	r = fs_view_map(view, meta, &ret->meta);
	if (r == 0)
		r = block_read_header(fs, &ret->meta, &ret->header, &reason);
	else if (r == -ENODATA || r == -ENOENT)
		r = -EILSEQ;
	if (r < 0)
		block_files_clear(ret);
	return r;
}

static int locate_in(struct fs *fs, struct fs_view *view, uint64_t pool, const char *folder_path,
		     int64_t id, uint64_t genstamp, struct block_files *ret)
{
	uint64_t folder, data, meta;
	char name[64];
	int r = fs_view_lookup(view, pool, folder_path, &folder);

	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "blk_%" PRId64, id);
	r = fs_view_lookup(view, folder, name, &data);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "blk_%" PRId64 "_%" PRId64 ".meta", id, (int64_t)genstamp);
	r = fs_view_lookup(view, folder, name, &meta);
	if (r == -ENOENT)
		return why_no_meta(view, folder, id);
	return r < 0 ? r : map_files(fs, view, data, meta, ret);
}

int block_locate(struct fs *fs, struct fs_view *view, const char *dir, const char *pool, int64_t id,
		 uint64_t genstamp, struct block_files *ret)
{
	char path[2048];
	uint64_t base;
	int r, in_rbw;

	memset(ret, 0, sizeof(*ret));
	if (snprintf(path, sizeof(path), "%s/current/%s/current", dir, pool) >= (int)sizeof(path))
		return -ENODEV;
	r = fs_view_lookup(view, fs_view_root(view), path, &base);
	if (r < 0)
		return r == -ENOENT || r == -ENOTDIR ? -ENODEV : r;
	snprintf(path, sizeof(path), "finalized/subdir%d/subdir%d", (int)((id >> 16) & 0x1f),
		 (int)((id >> 8) & 0x1f));
	r = locate_in(fs, view, base, path, id, genstamp, ret);
	ret->finalized = r == 0;
	/* An append moves a block to rbw/ under a new generation stamp. */
	if (r == -ENOENT || r == -ENOTDIR || r == -EEXIST) {
		in_rbw = locate_in(fs, view, base, "rbw", id, genstamp, ret);
		if (in_rbw != -ENOENT && in_rbw != -ENOTDIR)
			r = in_rbw;
	}
	return r == -ENOTDIR ? -ENOENT : r;
}
