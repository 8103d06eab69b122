// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * search.c - searches a file system that is mounted in the appliance, breadth first: see
 * search.h.  inspect.c calls it.
 *
 * One call into the appliance takes about a millisecond, and ten times as long under two levels
 * of emulation.  So the search is bounded, skips directories that belong to an operating
 * system, and does not go into data directories.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parser/hdfs/data_version.h"
#include "base/error.h"
#include "provision/appliance.h"
#include "provision/progress.h"
#include "provision/search.h"

#define MAX_DEPTH 7
#define MAX_DIRECTORIES 5000

static const char *const system_path[] = {
	"/bin",     "/boot",       "/dev",         "/etc",          "/lib",      "/lib32",
	"/lib64",   "/lost+found", "/proc",        "/run",          "/sbin",     "/snap",
	"/sys",     "/usr/bin",    "/usr/include", "/usr/lib",      "/usr/sbin", "/usr/share",
	"/usr/src", "/var/cache",  "/var/lib/apt", "/var/lib/dpkg",
};

struct queue {
	char **path;
	int *depth;
	unsigned head, tail;
};

struct search {
	guestfs_h *g;
	const char *where;
	struct layout_filesystem *lfs;
	struct queue queue;
	bool cut; /* the search left something out */
};

static bool is_system_path(const char *path)
{
	for (size_t i = 0; i < sizeof(system_path) / sizeof(system_path[0]); i++)
		if (!strcmp(path, system_path[i]))
			return true;
	return false;
}

static char *join(const char *directory, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", strcmp(directory, "/") ? directory : "", name) < 0)
		return NULL;
	return path;
}

static int is_file(guestfs_h *g, const char *directory, const char *name)
{
	char *path = join(directory, name);
	int r = path ? guestfs_is_file(g, path) : -1;

	free(path);
	return r;
}

/* Contents of DIRECTORY/current/VERSION.  NULL: there is no such file of a sane size. */
static char *read_version(guestfs_h *g, const char *directory, size_t *ret_length)
{
	char *path = join(directory, "current/VERSION"), *text = NULL;

	if (path && guestfs_is_file(g, path) > 0 &&
	    guestfs_filesize(g, path) <= (int64_t)DATA_VERSION_MAX_BYTES)
		text = guestfs_read_file(g, path, ret_length);
	free(path);
	return text;
}

/* The namespace id in DIRECTORY/current/VERSION of a pool.  0: not known. */
static uint32_t namespace_of(guestfs_h *g, const char *directory)
{
	struct data_version version;
	char reason[DATA_VERSION_MAX_REASON];
	size_t length = 0;
	char *text = read_version(g, directory, &length);
	int r = text ? data_version_parse(text, length, &version, reason) : -ENOENT;

	free(text);
	return r == 0 ? version.namespace_id : 0;
}

static int add_pool(struct layout_data_dir *d, const char *name, uint32_t namespace_id)
{
	char **grown = reallocarray(d->pools, d->num_pools + 1, sizeof(*grown));
	uint32_t *ids;

	if (!grown)
		return -ENOMEM;
	d->pools = grown;
	ids = reallocarray(d->namespaces, d->num_pools + 1, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	d->namespaces = ids;
	ids[d->num_pools] = namespace_id;
	d->pools[d->num_pools] = strdup(name);
	if (!d->pools[d->num_pools])
		return -ENOMEM;
	d->num_pools++;
	return 0;
}

static int find_pools(struct search *s, struct layout_data_dir *d)
{
	char *current = join(d->path, "current"), **names;
	int r = current ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	names = guestfs_ls(s->g, current);
	for (size_t i = 0; names && names[i] && r == 0; i++) {
		char *pool = join(current, names[i]);

		if (pool && !strncmp(names[i], "BP-", 3) &&
		    is_file(s->g, pool, "current/VERSION") > 0 && d->num_pools < LAYOUT_MAX_POOLS)
			r = add_pool(d, names[i], namespace_of(s->g, pool));
		free(pool);
	}
	appliance_free_list(names);
	free(current);
	return r;
}

static int add_data_dir(struct search *s, const char *path, const struct data_version *v)
{
	struct layout_filesystem *lfs = s->lfs;
	struct layout_data_dir *grown, *d;

	if (lfs->num_data_dirs == LAYOUT_MAX_DATA_DIRS) {
		progress_warn("%s: more than %u data directories; %s is left out", s->where,
			      LAYOUT_MAX_DATA_DIRS, path);
		return 0;
	}
	grown = reallocarray(lfs->data_dirs, lfs->num_data_dirs + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	lfs->data_dirs = grown;
	d = &grown[lfs->num_data_dirs++];
	*d = (struct layout_data_dir){
		.path = strdup(path),
		.storage_id = strdup(v->storage_id),
		.datanode_uuid = strdup(v->datanode_uuid),
		.cluster_id = strdup(v->cluster_id),
	};
	if (!d->path || !d->storage_id || !d->datanode_uuid || !d->cluster_id)
		return -ENOMEM;
	progress_step("%s: found data directory %s", s->where, path);
	return find_pools(s, d);
}

/* 1: path is a data directory, and was added; 0: it is not; or negative errno. */
static int look_at(struct search *s, const char *path)
{
	struct data_version version = {0};
	char reason[DATA_VERSION_MAX_REASON];
	size_t length;
	char *text = read_version(s->g, path, &length);
	int r;

	if (!text)
		return 0;
	r = data_version_parse(text, length, &version, reason);
	free(text);
	if (r < 0) {
		progress_warn("%s: %s/current/VERSION is skipped: %s", s->where, path, reason);
		return 0;
	}
	if (!version.is_datanode)
		return 0;
	r = add_data_dir(s, path, &version);
	return r < 0 ? r : 1;
}

/* Takes over path. */
static void push(struct search *s, char *path, int depth)
{
	struct queue *q = &s->queue;

	if (!path || depth > MAX_DEPTH || q->tail == MAX_DIRECTORIES || is_system_path(path)) {
		s->cut |= path && !is_system_path(path);
		free(path);
		return;
	}
	q->path[q->tail] = path;
	q->depth[q->tail++] = depth;
}

static void push_children(struct search *s, const char *path, int depth)
{
	struct guestfs_dirent_list *list = guestfs_readdir(s->g, path);

	for (uint32_t i = 0; list && i < list->len; i++) {
		const struct guestfs_dirent *e = &list->val[i];

		if ((e->ftyp == 'd' || e->ftyp == 'u') && strcmp(e->name, ".") &&
		    strcmp(e->name, ".."))
			push(s, join(path, e->name), depth + 1);
	}
	if (list)
		guestfs_free_dirent_list(list);
}

static int walk(struct search *s)
{
	struct queue *q = &s->queue;
	int r = 0;

	push(s, strdup("/"), 0);
	for (; q->head < q->tail && r >= 0; q->head++) {
		r = look_at(s, q->path[q->head]);
		if (r == 0)
			push_children(s, q->path[q->head], q->depth[q->head]);
		if (q->head % 50 == 49)
			progress_tick(-1);
	}
	if (r >= 0 && s->cut && s->lfs->num_data_dirs == 0)
		progress_warn(
			"%s: no data directory in its first %u directories or %d levels; if it "
			"has one, name it with --data-dir",
			s->where, q->tail, MAX_DEPTH);
	return r < 0 ? r : 0;
}

static int search_everywhere(struct search *s)
{
	struct queue *q = &s->queue;
	int r = -ENOMEM;

	q->path = calloc(MAX_DIRECTORIES, sizeof(*q->path));
	q->depth = calloc(MAX_DIRECTORIES, sizeof(*q->depth));
	if (q->path && q->depth)
		r = walk(s);
	for (unsigned i = 0; q->path && i < q->tail; i++)
		free(q->path[i]);
	free(q->path);
	free(q->depth);
	return r;
}

int search_data_dirs(guestfs_h *g, const char *where, const char *const *hints, unsigned num_hints,
		     struct layout_filesystem *lfs, char **ret_error)
{
	struct search s = {.g = g, .where = where, .lfs = lfs};
	int r = 0;

	for (unsigned i = 0; i < num_hints && r >= 0; i++)
		r = look_at(&s, hints[i]);
	if (num_hints == 0)
		r = search_everywhere(&s);
	if (r < 0)
		return error_text(ret_error, r, "%s: out of memory", where);
	return 0;
}
