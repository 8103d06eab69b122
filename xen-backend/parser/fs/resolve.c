// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Resolves a path as the guest's kernel would if the file system were its root: follows symbolic
 * links, "." and "..". The walk never leaves the file system, and it ends: links and names are
 * counted, because a hostile guest may link in circles.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "parser/fs/fs_impl.h"

#define MAX_LINKS 40U /* as Linux */
#define MAX_NAMES 256U
#define MAX_DEPTH 64U

struct walk {
	struct fs_view *view;
	struct fs_resolved *ret;
	char todo[FS_MAX_LINK]; /* the part of the path that is not walked yet */
	unsigned links, names, depth;
	uint64_t at[MAX_DEPTH + 1]; /* inodes from the root to here */
	size_t end[MAX_DEPTH + 1];  /* lengths of their paths in ret->path */
};

static void climb(struct walk *w, unsigned depth)
{
	w->depth = depth;
	w->ret->path[w->end[depth]] = '\0';
}

static int descend(struct walk *w, const char *name, uint64_t inode)
{
	size_t end = w->end[w->depth];
	int n;

	if (w->depth == MAX_DEPTH)
		return -ENOENT;
	n = snprintf(w->ret->path + end, sizeof(w->ret->path) - end, "/%s", name);
	if (n < 0 || (size_t)n >= sizeof(w->ret->path) - end)
		return -ENOENT;
	w->at[++w->depth] = inode;
	w->end[w->depth] = end + (size_t)n;
	return 0;
}

/* Puts the target before the rest of the path. */
static int follow(struct walk *w, const char *name, const char *target)
{
	char rest[FS_MAX_LINK];
	int n;

	if (++w->links > MAX_LINKS)
		return -ELOOP;
	snprintf(w->ret->link, sizeof(w->ret->link), "%s/%s", w->ret->path, name);
	snprintf(w->ret->target, sizeof(w->ret->target), "%s", target);
	memcpy(rest, w->todo, sizeof(rest));
	n = snprintf(w->todo, sizeof(w->todo), "%s/%s", target, rest);
	if (n < 0 || (size_t)n >= sizeof(w->todo))
		return -ENOENT;
	if (target[0] == '/')
		climb(w, 0);
	return 0;
}

static int step(struct walk *w, const char *name)
{
	const struct fs_ops *ops = w->view->fs->ops;
	char target[FS_MAX_LINK];
	uint64_t inode;
	int r;

	if (!strcmp(name, "."))
		return 0;
	if (!strcmp(name, "..")) {
		climb(w, w->depth ? w->depth - 1 : 0);
		return 0;
	}
	r = ops->lookup(w->view, w->at[w->depth], name, strlen(name), &inode);
	if (r < 0)
		return r;
	r = ops->readlink(w->view, inode, target);
	if (r == -EINVAL)
		return descend(w, name, inode);
	return r < 0 ? r : follow(w, name, target);
}

/* Takes the first name off todo: its length, 0 at the end, or -ENOENT if it is too long. */
static int next_name(struct walk *w, char name[FS_MAX_NAME + 1])
{
	size_t skip = strspn(w->todo, "/"), length = strcspn(w->todo + skip, "/");

	if (length > FS_MAX_NAME)
		return -ENOENT;
	memcpy(name, w->todo + skip, length);
	name[length] = '\0';
	memmove(w->todo, w->todo + skip + length, strlen(w->todo + skip + length) + 1);
	return (int)length;
}

int fs_view_resolve(struct fs_view *v, const char *path, struct fs_resolved *ret)
{
	struct walk w = {.view = v, .ret = ret};
	char name[FS_MAX_NAME + 1];
	int r;

	*ret = (struct fs_resolved){0};
	if (strlen(path) >= sizeof(w.todo))
		return -ENOENT;
	strcpy(w.todo, path);
	w.at[0] = fs_view_root(v);
	while ((r = next_name(&w, name)) > 0) {
		r = ++w.names > MAX_NAMES ? -ELOOP : step(&w, name);
		if (r < 0)
			return r;
	}
	ret->inode = w.at[w.depth];
	return r;
}
