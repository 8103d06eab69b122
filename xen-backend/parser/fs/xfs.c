// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The entry points of the XFS reader: implements struct fs_ops (fs_impl.h) with the functions of
 * xfs.h.  fs.c calls them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "parser/fs/xfs.h"
#include "parser/fs/xfs_format.h"

struct fs_reader {
	struct xfs_log *log;
};

static int init(struct fs *fs)
{
	struct fs_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->log = xfs_log_new();
	if (!r->log) {
		free(r);
		return -ENOMEM;
	}
	fs->reader = r;
	return 0;
}

static void release(struct fs *fs)
{
	xfs_log_free(fs->reader->log);
	free(fs->reader);
}

static struct xfs_view *of(struct fs_view *v)
{
	return (struct xfs_view *)v;
}

static void view_close(struct fs_view *v)
{
	xfs_view_end(of(v));
	free(v);
}

static int view_open(struct fs *fs, struct fs_view **ret, const char **ret_reason)
{
	struct xfs_view *v = calloc(1, sizeof(*v));
	int r;

	*ret_reason = "out of memory";
	if (!v)
		return -ENOMEM;
	v->view.fs = fs;
	v->log = fs->reader->log;
	r = xfs_view_begin(v, ret_reason);
	if (r < 0) {
		view_close(&v->view);
		return r == -EOPNOTSUPP ? -EBUSY : r;
	}
	*ret = &v->view;
	return 0;
}

static int view_confirm(struct fs_view *v, struct fs_basis **ret, struct fs_watch *ret_watch)
{
	return xfs_view_confirm(of(v), ret, ret_watch);
}

static uint64_t root(struct fs_view *v)
{
	return of(v)->since.super.root;
}

struct wanted {
	const char *name;
	size_t length;
	uint64_t inode;
};

static int is_wanted(void *ctx, const uint8_t *name, unsigned length, uint64_t inode)
{
	struct wanted *w = ctx;

	if (length != w->length || memcmp(name, w->name, length))
		return 0;
	w->inode = inode;
	return 1;
}

static int lookup(struct fs_view *v, uint64_t dir, const char *name, size_t length,
		  uint64_t *ret_inode)
{
	struct wanted w = {name, length, 0};
	int r = xfs_dir_names(of(v), dir, is_wanted, &w);

	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	*ret_inode = w.inode;
	return 0;
}

static int read_link(struct fs_view *v, uint64_t inode, char buf[FS_MAX_LINK])
{
	return xfs_readlink(of(v), inode, buf);
}

struct listing {
	fs_list_cb *cb;
	void *ctx;
};

static int list_name(void *ctx, const uint8_t *name, unsigned length, uint64_t inode)
{
	struct listing *l = ctx;
	char text[FS_MAX_NAME + 1];

	if (memchr(name, '\0', length))
		return 0;
	memcpy(text, name, length);
	text[length] = '\0';
	return l->cb(l->ctx, text, inode);
}

static int list(struct fs_view *v, uint64_t dir, fs_list_cb *cb, void *ctx)
{
	struct listing l = {cb, ctx};

	return xfs_dir_names(of(v), dir, list_name, &l);
}

static int map(struct fs_view *v, uint64_t number, struct fs_file *ret)
{
	const uint8_t *inode;
	int r = xfs_view_inode(of(v), number, &inode);

	if (r < 0)
		return r;
	if (xfs_get16(inode + XFS_INODE_MODE) == 0 || xfs_get32(inode + XFS_INODE_LINKS) == 0)
		return -EIO; /* the directory entry names a deleted file */
	if (!S_ISREG(xfs_get16(inode + XFS_INODE_MODE)))
		return -ENOENT;
	if (xfs_get16(inode + XFS_INODE_FLAGS) & XFS_INODE_REALTIME)
		return -ENODATA;
	return xfs_map(of(v), number, inode, ret);
}

static int check(struct fs *fs, struct fs_basis *b, struct fs_watch *ret_watch)
{
	return xfs_basis_check(fs->reader->log, fs, b, ret_watch);
}

/* Opens a view to find out whether the log can be followed. */
static enum fs_state state(struct fs *fs, const char **ret_reason)
{
	uint8_t raw[XFS_SUPER_BYTES];
	struct xfs_super super;
	struct fs_view *v;
	enum fs_state is = FS_LIVE;
	int r = xfs_log_super(fs, raw, &super, ret_reason);

	if (r == 0)
		r = fs_view_open(fs, &v, ret_reason);
	if (r == 0) {
		is = of(v)->since.idle ? FS_CLEAN : FS_LIVE;
		view_close(v);
		return is;
	}
	switch (r) {
	case -EAGAIN:
		return FS_LIVE;
	case -EBUSY:
	case -EOPNOTSUPP:
		return FS_REFUSED;
	default:
		return FS_UNREADABLE;
	}
}

/* Always true: XFS never writes file data to the log. */
static bool settled(struct fs *fs, uint64_t offset, uint64_t length)
{
	(void)fs, (void)offset, (void)length;
	return true;
}

static uint64_t bytes(struct volume *volume)
{
	uint8_t raw[XFS_SUPER_BYTES];

	return volume_read(volume, 0, raw, sizeof(raw)) < 0 ? 0 : xfs_super_bytes(raw);
}

const struct fs_ops xfs_ops = {
	.bytes = bytes,
	.init = init,
	.release = release,
	.state = state,
	.view_open = view_open,
	.view_close = view_close,
	.view_confirm = view_confirm,
	.root = root,
	.lookup = lookup,
	.readlink = read_link,
	.list = list,
	.map = map,
	.check = check,
	.settled = settled,
};
