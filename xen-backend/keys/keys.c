// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements keys.h.
 *
 * The keys of a datanode and its disks are read in one transaction, so they are of one moment.
 * Nothing is written in it.
 */
#include "keys/keys.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "keys/disks.h"
#include "vread-nodes.h"

#define MAX_DOMID 32751U
#define MAX_DEVICE 65535U
#define MAX_KEYS 1024U /* datanodes */

static const char *const names[KEYS_NODES] = {
	[KEYS_NAME] = VREAD_NODE_NAME,
	[KEYS_DATA_DIRS] = VREAD_NODE_DATA_DIRS,
	[KEYS_DISKS] = VREAD_NODE_DISKS,
	[KEYS_BACKING_FOLDERS] = VREAD_NODE_BACKING_FOLDERS,
	[KEYS_IMAGE_MODE] = VREAD_NODE_IMAGE_MODE,
	[KEYS_TOKENS] = VREAD_NODE_TOKENS,
	[KEYS_STORAGES] = VREAD_NODE_STORAGES,
	[KEYS_STATUS] = VREAD_NODE_STATUS,
};

struct reader {
	struct xs_handle *xs;
	xs_transaction_t transaction;
	uint32_t own;
};

const char *keys_node_name(enum keys_node node)
{
	return names[node];
}

static int node_of(const char *name)
{
	int n = 0;

	while (n < KEYS_NODES && strcmp(names[n], name) != 0)
		n++;
	return n;
}

__attribute__((format(printf, 2, 3))) static void refuse(struct keys *k, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(k->problem, sizeof(k->problem), format, ap);
	va_end(ap);
}

/* ---- one datanode ------------------------------------------------------------------ */

/* True if the node belongs to this domain, and no other domain may read or write it. */
static bool is_private(const struct reader *r, const char *path)
{
	unsigned count = 0;
	struct xs_permissions *p = xs_get_permissions(r->xs, r->transaction, path, &count);
	bool ok = p && count && p[0].id == r->own;

	for (unsigned i = 0; ok && i < count; i++)
		ok = !(p[i].perms & (XS_PERM_READ | XS_PERM_WRITE)) || (i && p[i].id == r->own);
	free(p);
	return ok;
}

static bool is_text(const char *value, unsigned length)
{
	for (unsigned i = 0; i < length; i++)
		if ((unsigned char)value[i] < ' ' || value[i] == 0x7f)
			return false;
	return true;
}

static void read_node(const struct reader *r, struct keys *k, const char *name)
{
	int node = node_of(name);
	char path[KEYS_MAX_PATH + 300];
	unsigned length = 0;

	snprintf(path, sizeof(path), "%s/%.256s", k->path, name);
	if (node == KEYS_NODES) {
		refuse(k, "%.64s: no key has this name", name);
		return;
	}
	if (!is_private(r, path)) {
		refuse(k, "%s: another domain may read or write it: xenstore-chmod -r %s n%u", name,
		       k->path, r->own);
		return;
	}
	k->value[node] = xs_read(r->xs, r->transaction, path, &length);
	if (!k->value[node])
		refuse(k, "%s: cannot be read: %s", name, strerror(errno));
	else if (!is_text(k->value[node], length))
		refuse(k, "%s: expected a text without control characters", name);
}

/* True if there is a name, and nothing is wrong so far. */
static bool is_good(const struct keys *k)
{
	return k->value[KEYS_NAME] && !*k->problem;
}

static void read_nodes(const struct reader *r, struct keys *k)
{
	static const enum keys_node needed[] = {KEYS_DATA_DIRS, KEYS_DISKS};
	unsigned count = 0;
	char **found = xs_directory(r->xs, r->transaction, k->path, &count);

	if (!is_private(r, k->path))
		refuse(k, "another domain may read or write these nodes: xenstore-chmod -r %s n%u",
		       k->path, r->own);
	for (unsigned i = 0; found && i < count && !*k->problem; i++)
		read_node(r, k, found[i]);
	for (unsigned i = 0; i < sizeof(needed) / sizeof(needed[0]) && is_good(k); i++)
		if (!k->value[needed[i]] || !*k->value[needed[i]])
			refuse(k, "%s is missing", names[needed[i]]);
	free(found);
}

static void add_disk(struct keys *k, const struct disk *disk)
{
	if (disk->problem)
		refuse(k, "disks: %.32s: %.256s", disk->name, disk->problem);
	else if (k->num_images == KEYS_MAX_DISKS)
		refuse(k, "disks: expected at most %u", KEYS_MAX_DISKS);
	else if (!(k->image[k->num_images] = strdup(disk->image)))
		refuse(k, "out of memory");
	else
		k->num_images++;
}

static void find_disks(struct keys *k, const struct disks *disks)
{
	char *copy = strdup(k->value[KEYS_DISKS]), *rest = copy, *name;

	while (copy && !*k->problem && (name = strsep(&rest, " "))) {
		const struct disk *disk = *name ? disks_find(disks, name) : NULL;

		if (disk)
			add_disk(k, disk);
		else if (*name && !k->missing)
			k->missing = strdup(name);
	}
	if (!copy)
		refuse(k, "out of memory");
	free(copy);
}

static void read_keys(const struct reader *r, struct keys *k)
{
	struct disks disks;
	int error;

	read_nodes(r, k);
	if (!is_good(k))
		return;
	error = disks_read(r->xs, r->transaction, r->own, k->domid, &disks);
	if (error) {
		refuse(k, "cannot read the domain's disks: %s", strerror(-error));
		return;
	}
	find_disks(k, &disks);
	disks_free(&disks);
}

/* ---- all of them -------------------------------------------------------------------- */

static void free_keys(struct keys *k)
{
	for (unsigned i = 0; i < KEYS_NODES; i++)
		free(k->value[i]);
	for (unsigned i = 0; i < k->num_images; i++)
		free(k->image[i]);
	free(k->missing);
}

/* True if there is no name, and nothing else is wrong. */
static bool is_unfinished(const struct keys *k)
{
	return !*k->problem && !k->value[KEYS_NAME];
}

static int add(const struct reader *r, uint32_t domid, uint32_t device, struct keys_list *ret)
{
	struct keys k = {.domid = domid, .device = device}, *grown;
	char *directory;
	unsigned length;

	snprintf(k.path, sizeof(k.path), VREAD_DATANODE_DIRECTORY, r->own, domid, device);
	directory = xs_read(r->xs, r->transaction, k.path, &length);
	free(directory);
	if (!directory || ret->count == MAX_KEYS)
		return 0;
	grown = reallocarray(ret->keys, ret->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	ret->keys = grown;
	read_keys(r, &k);
	if (is_unfinished(&k))
		free_keys(&k);
	else
		grown[ret->count++] = k;
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct keys *x = a, *y = b;

	if (x->domid != y->domid)
		return x->domid < y->domid ? -1 : 1;
	return x->device < y->device ? -1 : x->device > y->device;
}

/* A domain has its nodes before it is introduced, and may keep them for a while after its end. */
static bool is_dead(const struct reader *r, uint32_t domid)
{
	char path[48], *value;
	unsigned length;

	if (xs_is_domain_introduced(r->xs, domid))
		return false;
	snprintf(path, sizeof(path), "/local/domain/%u", domid);
	value = xs_read(r->xs, r->transaction, path, &length);
	if (!value)
		return errno == ENOENT; /* some xenstoreds tell only dom0 */
	free(value);
	return false;
}

static int add_domain(const struct reader *r, const char *root, const char *name,
		      struct keys_list *ret)
{
	uint32_t domid, device;
	char path[KEYS_MAX_PATH], **devices;
	unsigned count = 0;
	int error = 0;

	if (!parse_number(name, 0, MAX_DOMID, &domid) || is_dead(r, domid))
		return 0;
	snprintf(path, sizeof(path), "%s/%u", root, domid);
	devices = xs_directory(r->xs, r->transaction, path, &count);
	for (unsigned i = 0; devices && i < count && !error; i++)
		if (parse_number(devices[i], 0, MAX_DEVICE, &device))
			error = add(r, domid, device, ret);
	free(devices);
	return error;
}

static int read_all(const struct reader *r, struct keys_list *ret)
{
	char root[64], **domains;
	unsigned count = 0;
	int error = 0;

	snprintf(root, sizeof(root), "/local/domain/%u/backend/" VREAD_DEVICE_TYPE, r->own);
	domains = xs_directory(r->xs, r->transaction, root, &count);
	for (unsigned i = 0; domains && i < count && !error; i++)
		error = add_domain(r, root, domains[i], ret);
	free(domains);
	if (ret->count)
		qsort(ret->keys, ret->count, sizeof(*ret->keys), by_place);
	return error;
}

int keys_read(struct xs_handle *xs, uint32_t own, struct keys_list *ret)
{
	struct reader r = {.xs = xs, .own = own, .transaction = xs_transaction_start(xs)};
	int error;

	*ret = (struct keys_list){0};
	if (r.transaction == XBT_NULL)
		return errno ? -errno : -EIO;
	error = read_all(&r, ret);
	xs_transaction_end(xs, r.transaction, true);
	if (error)
		keys_free(ret);
	return error;
}

void keys_free(struct keys_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free_keys(&l->keys[i]);
	free(l->keys);
	*l = (struct keys_list){0};
}
