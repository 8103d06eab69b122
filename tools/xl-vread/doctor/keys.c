// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * keys.c - checks of `xl-vread doctor`: the keys in xenstore by which toolstacks provision
 * datanodes (docs/provisioning.md), and whether there is anything to read at all.  Called by
 * doctor.c.
 *
 * The keys are read from xenstore.  Their node `status` has what vreadd has decided, so they are
 * known while vreadd does not run, too.
 */
#include <stdlib.h>
#include <string.h>

#include "../by_keys.h"
#include "checks.h"
#include "control/keyed.h"

static bool says(const struct keys *k, const char *word)
{
	return k->value[KEYS_STATUS] && !strncmp(k->value[KEYS_STATUS], word, strlen(word));
}

static void check_one(struct doctor *d, const struct keys *k)
{
	const char *status = by_keys_status(k);

	if (keyed_accepted(k) && !strchr(status, ';'))
		doctor_ok(d, k->path, "%.128s", status);
	else if (says(k, "refused") || (!k->value[KEYS_STATUS] && *k->problem))
		doctor_fail(d, k->path,
			    "correct the domain's line for xl-vread(8), or the nodes that another "
			    "toolstack writes: see docs/provisioning.md",
			    "%.900s", status);
	else if (!k->value[KEYS_STATUS])
		doctor_warn(d, k->path,
			    "systemctl restart vreadd; it follows keys by itself while it runs",
			    "%.900s", status);
	else
		doctor_warn(d, k->path,
			    "does xl block-list show the disk? it is served once it is there; else "
			    "correct the node disks",
			    "%.900s", status);
}

/* Tells of keys that nobody reads. */
static void check_unread(struct doctor *d)
{
	struct keys_list keys;

	if (by_keys_read(d->xs, NULL, &keys))
		return;
	if (keys.count)
		doctor_warn(d, keys.keys[0].path,
			    "set datanode-keys = yes in [xen] of vread.conf and restart vreadd, or "
			    "have the toolstack write no keys",
			    "vreadd does not read the keys of datanodes: vread.conf has "
			    "datanode-keys = no");
	keys_free(&keys);
}

/* Peers may have something to read, too. */
static void check_any(struct doctor *d)
{
	const struct config *c = d->facts->config;
	char path[PATH_MAX];

	if (c && !c->num_datanodes && !c->peers.num_peers && !d->facts->keys.count)
		doctor_warn(d, d->facts->config_path ?: doctor_path(d, CONFIG_DEFAULT_PATH, path),
			    "add a section [datanode NAME] for each datanode here",
			    "names neither datanodes nor peers: nothing can be read");
}

void check_datanode_keys(struct doctor *d)
{
	const struct config *c = d->facts->config;

	if (!d->xs)
		doctor_skip(d, "datanode keys", "no xenstore");
	else if (c && !c->xen.datanode_keys)
		check_unread(d);
	else if (by_keys_read(d->xs, c, &d->facts->keys))
		doctor_fail(d, "datanode keys", "journalctl -u xenstored",
			    "the keys of datanodes cannot be read");
	for (size_t i = 0; i < d->facts->keys.count; i++)
		check_one(d, &d->facts->keys.keys[i]);
	check_any(d);
}
