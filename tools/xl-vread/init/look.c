// SPDX-License-Identifier: GPL-2.0-or-later
/* look.c - implements look.h: reads records, vread.conf(5), keys and the domains' disks.  Called by
 * init.c. */
#include "look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../config_path.h"
#include "../record.h"
#include "../search.h"
#include "cli/cli.h"
#include "disk/image.h"
#include "keys/disks.h"

static int read_disks(struct xs_handle *xs, const struct domain *d, struct disks *ret)
{
	int r = disks_read(xs, XBT_NULL, 0, d->domid, ret);

	return r ? cli_error(CLI_FAILED, "domain %s: cannot read its disks: %s", d->name,
			     strerror(-r))
		 : CLI_OK;
}

/* ---- what is configured already ------------------------------------------------------ */

static const char *path_of(const char *image)
{
	const char *path;

	return image_spec_split(image, &path) ? path : image;
}

static bool has_image(const struct disks *disks, const char *image)
{
	for (unsigned i = 0; i < disks->count; i++)
		if (disks->disk[i].image &&
		    strcmp(path_of(disks->disk[i].image), path_of(image)) == 0)
			return true;
	return false;
}

/* The datanode of vread.conf itself that has one of these disks.  NULL: none. */
static const char *datanode_of(const struct config *c, const struct disks *disks)
{
	for (size_t i = 0; i < c->num_datanodes; i++) {
		const struct config_datanode *n = &c->datanodes[i];

		if (strcmp(n->file, config_path()) != 0)
			continue;
		for (unsigned j = 0; j < n->images.count; j++)
			if (has_image(disks, n->images.path[j]))
				return n->name;
	}
	return NULL;
}

static const char *datanode_of_devices(const struct specs *s)
{
	for (unsigned i = 0; i < s->count; i++)
		if (s->spec[i].data_dirs)
			return s->spec[i].policy.allow_datanodes;
	return NULL;
}

/* Keys that vreadd refuses count as well: their toolstack has the domain's disks served. */
static const char *datanode_of_keys(const struct keys_list *keys, unsigned domid)
{
	for (size_t i = 0; i < keys->count; i++)
		if (keys->keys[i].domid == domid && keys->keys[i].value[KEYS_NAME])
			return keys->keys[i].value[KEYS_NAME];
	return NULL;
}

int look_at_devices(struct xs_handle *xs, const struct config *c, const struct keys_list *keys,
		    struct looked *l)
{
	const char *datanode;
	struct disks disks;
	int r;

	l->broken = record_read(&l->domain, &l->devices) != CLI_OK;
	r = read_disks(xs, &l->domain, &disks);
	if (r)
		return r;
	datanode = datanode_of_devices(&l->devices)
			   ?: datanode_of(c, &disks)
			   ?: datanode_of_keys(keys, l->domain.domid);
	l->datanode = datanode ? strdup(datanode) : NULL;
	disks_free(&disks);
	return datanode && !l->datanode ? cli_error(CLI_FAILED, "out of memory") : CLI_OK;
}

/* ---- its disks ------------------------------------------------------------------------ */

struct candidates {
	const char *image[LAYOUT_MAX_IMAGES], *name[LAYOUT_MAX_IMAGES];
	unsigned count;
};

static void list_candidates(const struct domain *d, const struct disks *disks,
			    struct candidates *ret)
{
	ret->count = 0;
	for (unsigned i = 0; i < disks->count; i++) {
		const struct disk *disk = &disks->disk[i];

		if (!disk->writable)
			continue;
		if (disk->problem || ret->count == LAYOUT_MAX_IMAGES) {
			fprintf(stderr, "domain %s: disk %s is left out: %s\n", d->name, disk->name,
				disk->problem ?: "a datanode has at most 64 disks");
			continue;
		}
		ret->image[ret->count] = disk->image;
		ret->name[ret->count++] = disk->name;
	}
}

/* Lists the names of the disks that have data directories, separated by blanks. */
static char *name_disks(const struct candidates *c, const bool on[LAYOUT_MAX_IMAGES])
{
	char *names = NULL;
	size_t size;
	FILE *out = open_memstream(&names, &size);

	if (!out)
		return NULL;
	for (unsigned i = 0; i < c->count; i++)
		if (on[i])
			fprintf(out, "%s%s", ftell(out) ? " " : "", c->name[i]);
	if (fclose(out) == 0)
		return names;
	free(names);
	return NULL;
}

static int search(struct looked *l, const struct candidates *c)
{
	struct search_result found = {0};
	int r;

	fprintf(stderr, "domain %s: looking for data directories on its disks\n", l->domain.name);
	r = search_data_dirs(c->image, c->count, NULL, &found);
	if (r == SEARCH_NOTHING)
		return CLI_OK;
	if (r)
		return cli_error(r,
				 "domain %s: its disks could not be looked at: see above; if it is "
				 "a datanode, say so: xl-vread attach %s role=datanode,"
				 "datanodes=NAME,data-dirs=/dfs/data,disks=xvdb",
				 l->domain.name, l->domain.name);
	l->dirs = found.dirs;
	l->disks = name_disks(c, found.on);
	return l->disks ? CLI_OK : cli_error(CLI_FAILED, "out of memory");
}

int look_into_disks(struct xs_handle *xs, struct looked *l)
{
	struct candidates c;
	struct disks disks;
	int r = read_disks(xs, &l->domain, &disks);

	if (r)
		return r;
	list_candidates(&l->domain, &disks, &c);
	if (c.count)
		r = search(l, &c);
	disks_free(&disks);
	return r;
}

void looked_clear(struct looked *l)
{
	specs_free(&l->devices);
	free(l->datanode);
	free(l->dirs);
	free(l->disks);
}
