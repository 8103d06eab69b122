// SPDX-License-Identifier: GPL-2.0-or-later
/* Out of the cache, if that still holds, or from the image; see find.h. */
#include "block/find.h"

#include <errno.h>

#include "layout/layout.h"

/* Also that there is no such replica must have been true at one moment. */
static int look(struct fs *fs, const struct replica_key *key, struct block_files *ret,
		struct fs_basis **ret_basis)
{
	const struct layout_data_dir *dir = key->dir;
	struct fs_view *view;
	int r, confirmed;
	bool live;

	r = fs_view_open(fs, &view, NULL);
	if (r < 0)
		return r;
	r = block_locate(fs, view, dir->path, key->pool, key->id, key->genstamp, ret);
	confirmed = fs_view_confirm(view, r == 0 ? ret_basis : NULL);
	live = !fs_view_is_clean(view);
	fs_view_close(view);
	if (confirmed == 0)
		return live ? find_not_yet(r) : r;
	if (r == 0)
		block_files_clear(ret);
	return confirmed;
}

int find_not_yet(int error)
{
	return error == -EILSEQ || error == -ENODATA ? -ENOENT : error;
}

int replica_find(struct replica_cache *c, struct served *served, struct fs *fs,
		 const struct replica_key *key, struct block_replica **ret)
{
	struct block_replica *known = replica_cache_find(c, key);
	struct block_files files;
	struct fs_basis *basis;
	int r = -EAGAIN;

	if (known && replica_check(known) == 0) {
		*ret = known;
		return 0;
	}
	replica_put(known);
	for (unsigned i = 0; i < FS_ATTEMPTS && r == -EAGAIN; i++)
		r = look(fs, key, &files, &basis);
	if (r < 0)
		return r;
	*ret = replica_new(served, fs, key, &files, basis);
	if (!*ret)
		return -ENOMEM;
	replica_cache_add(c, *ret);
	return 0;
}
