/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * datanode.c - implements datanode.h: writes the keys of datanodes and waits for vreadd's word.
 * Called by commands of xl-vread(8) and by provision.c.
 *
 * vread.conf(5) names vreadd's control socket, and says whether vreadd reads keys.
 */
#include "datanode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "by_keys.h"
#include "cli/cli.h"
#include "config_path.h"
#include "keys/disks.h"
#include "layout/layout.h"
#include "old_file.h"
#include "record.h"
#include "search.h"
#include "toolstack/device.h"
#include "vreadd/control_client.h"

#define LIMIT 10U /* s in which vreadd judges keys */

bool datanode_concerns(const struct specs *s)
{
	for (unsigned i = 0; i < s->count; i++)
		if (s->spec[i].data_dirs)
			return true;
	return false;
}

/* ---- before the domain is created --------------------------------------------------------- */

int datanode_load(struct config **ret)
{
	json_t *problems, *problem;
	size_t i;

	if (config_load(config_path(), ret, &problems)) {
		json_array_foreach(problems, i, problem) config_problem_print(stderr, problem, "");
		json_decref(problems);
		return cli_error(CLI_FAILED,
				 "%s: correct the mistakes first: the disks of datanodes add to "
				 "this configuration",
				 config_path());
	}
	return CLI_OK;
}

/* Fails if vreadd does not read keys.  c NULL: the configuration has mistakes, and vreadd has an
 * older one. */
static int check_keys_are_read(const struct config *c)
{
	if (!c || c->xen.datanode_keys)
		return CLI_OK;
	return cli_error(CLI_FAILED,
			 "%s: [xen] datanode-keys = no: expected yes, or vreadd serves no disks of "
			 "domains: set it, or write a section [datanode NAME] and no data-dirs in "
			 "the domain's configuration",
			 config_path());
}

/* Fails if vread.conf itself has a section for this datanode. */
static int check_name(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->num_datanodes; i++)
		if (strcmp(c->datanodes[i].name, name) == 0 &&
		    strcmp(c->datanodes[i].file, config_path()) == 0)
			return cli_error(CLI_FAILED,
					 "%s:%u: [datanode %s] exists already: remove it, or "
					 "data-dirs from the domain's configuration",
					 config_path(), c->datanodes[i].line, name);
	return CLI_OK;
}

/* Fails if keys in xenstore provision a datanode of this name already.  xs NULL: there is no
 * xenstore. */
static int check_other_keys(struct xs_handle *xs, const struct config *c, const char *name)
{
	struct keys_list keys = {0};
	const struct keys *k;
	int r = xs ? by_keys_read(xs, c, &keys) : 0;

	if (r)
		return cli_error(CLI_FAILED, "xenstore: cannot read the keys of datanodes: %s",
				 strerror(-r));
	k = by_keys_find(&keys, name);
	if (k)
		r = cli_error(CLI_FAILED,
			      "datanode %s: domain %u has this name already, by keys in xenstore "
			      "(%s): each datanode needs its own",
			      name, k->domid, k->path);
	keys_free(&keys);
	return r;
}

int datanode_check(const struct specs *s)
{
	struct xs_handle *xs;
	struct config *config;
	int r;

	if (!datanode_concerns(s))
		return CLI_OK;
	r = datanode_load(&config);
	if (r)
		return r;
	xs = xs_open(0);
	r = check_keys_are_read(config);
	for (unsigned i = 0; i < s->count && !r; i++)
		if (s->spec[i].data_dirs)
			r = check_name(config, s->spec[i].policy.allow_datanodes)
				    ?: check_other_keys(xs, config,
							s->spec[i].policy.allow_datanodes);
	xs_close(xs);
	config_free(config);
	return r;
}

/* ---- the domain's disks ------------------------------------------------------------------ */

struct images {
	const char *image[LAYOUT_MAX_IMAGES];
	unsigned count;
	const char *missing; /* name of a disk that the domain does not have; NULL: none */
};

static int add_disk(const struct domain *d, const struct disk *disk, struct images *ret)
{
	if (disk->problem)
		return cli_error(CLI_FAILED, "domain %s: disk %s: %s", d->name, disk->name,
				 disk->problem);
	if (ret->count == LAYOUT_MAX_IMAGES)
		return cli_error(CLI_FAILED, "domain %s: disks: expected at most %u", d->name,
				 LAYOUT_MAX_IMAGES);
	ret->image[ret->count++] = disk->image;
	return CLI_OK;
}

/* Adds the disks that names lists.  ret->missing points into names. */
static int add_named(const struct domain *d, const struct disks *disks, char *names,
		     struct images *ret)
{
	char *rest = names, *name;
	int r = CLI_OK;

	while (!r && !ret->missing && (name = strsep(&rest, " \t"))) {
		const struct disk *disk = *name ? disks_find(disks, name) : NULL;

		if (*name && !disk)
			ret->missing = name;
		else if (disk)
			r = add_disk(d, disk, ret);
	}
	return r;
}

static int no_such_disk(const struct domain *d, const char *name)
{
	return cli_error(CLI_FAILED,
			 "domain %s: disk %s: dom0 serves no disk of that name; see xl block-list",
			 d->name, name);
}

/* Lists the names of all disks that the domain may write to, separated by blanks. */
static int name_writable(const struct domain *d, const struct disks *disks, char **ret)
{
	char *names = NULL;
	size_t size;
	FILE *out = open_memstream(&names, &size);

	if (!out)
		return cli_error(CLI_FAILED, "out of memory");
	for (unsigned i = 0; i < disks->count; i++)
		if (disks->disk[i].writable)
			fprintf(out, "%s%s", ftell(out) ? " " : "", disks->disk[i].name);
	if (fclose(out))
		return cli_error(CLI_FAILED, "out of memory");
	*ret = names;
	if (*names)
		return CLI_OK;
	free(names);
	return cli_error(CLI_FAILED,
			 "domain %s: data-dirs: expected a disk that it may write to and dom0 "
			 "serves; see xl block-list",
			 d->name);
}

static int search(const struct images *images, const char *folders, struct search_result *ret)
{
	int r = search_data_dirs(images->image, images->count, folders, ret);

	if (r != SEARCH_NOTHING)
		return r;
	return cli_error(CLI_FAILED,
			 "data-dirs=auto: vread-provision failed: exit code %d; name them in the "
			 "domain's configuration: data-dirs=/dfs/data",
			 r);
}

/* Settles which disks are meant, and which data directories are on them. */
static int settle_on(const struct domain *d, const struct disks *disks, struct spec *s)
{
	char *names = s->disks ? strdup(s->disks) : NULL, *words = NULL;
	struct search_result found = {0};
	struct images images = {0};
	int r = CLI_OK;

	if (!s->disks)
		r = name_writable(d, disks, &names);
	words = names ? strdup(names) : NULL;
	if (!r && !words)
		r = cli_error(CLI_FAILED, "out of memory");
	if (!r)
		r = add_named(d, disks, words, &images);
	if (!r && images.missing)
		r = no_such_disk(d, images.missing);
	if (!r && strcmp(s->data_dirs, SPEC_DATA_DIRS_AUTO) == 0)
		r = search(&images, s->backing_folders, &found);
	if (!r && spec_settle(s, found.dirs ?: s->data_dirs, names))
		r = cli_error(CLI_FAILED, "out of memory");
	free(found.dirs);
	free(words);
	free(names);
	return r;
}

static int read_disks(struct xs_handle *xs, const struct domain *d, struct disks *ret)
{
	int r = disks_read(xs, XBT_NULL, 0, d->domid, ret);

	return r ? cli_error(CLI_FAILED, "domain %s: cannot read its disks: %s", d->name,
			     strerror(-r))
		 : CLI_OK;
}

int datanode_settle(struct xs_handle *xs, const struct domain *d, struct specs *s)
{
	struct disks disks;
	int r;

	if (!datanode_concerns(s))
		return CLI_OK;
	r = read_disks(xs, d, &disks);
	if (r)
		return r;
	for (unsigned i = 0; i < s->count && !r; i++)
		if (s->spec[i].data_dirs)
			r = settle_on(d, &disks, &s->spec[i]);
	disks_free(&disks);
	return r;
}

/* ---- keys ---------------------------------------------------------------------------------- */

/* NULL: vread.conf(5) has mistakes, or there is none.  Keys do not depend on it. */
static struct config *try_config(void)
{
	struct config *c = NULL;
	json_t *problems;

	if (config_load(config_path(), &c, &problems))
		json_decref(problems);
	return c;
}

static bool has_keys(const struct spec *s)
{
	return s->data_dirs && s->disks;
}

/* Writes the keys of one device, if the device exists. */
static int provision_one(const struct domain *d, const struct spec *s)
{
	const struct xs_device_keys keys = {
		.name = s->policy.allow_datanodes,
		.data_dirs = s->data_dirs,
		.disks = s->disks,
		.backing_folders = s->backing_folders,
		.tokens = s->tokens,
	};
	struct xs_device device;
	int r = xs_device_init(&device, d->domid, s->id);

	if (r)
		return r;
	r = xs_device_provision(&device, &keys);
	if (!r)
		fprintf(stderr, "datanode %s: its disks are those of domain %s (%u) now\n",
			keys.name, d->name, d->domid);
	if (r == -EALREADY || r == -ENOENT)
		r = 0;
	if (r)
		cli_error(CLI_FAILED, "%s: cannot write: %s", device.datanode, xs_device_error(r));
	xs_device_done(&device);
	return r ? CLI_FAILED : CLI_OK;
}

int datanode_write_keys(const struct domain *d, const struct specs *s)
{
	struct config *config = try_config();
	int r = CLI_OK;

	/* The domain runs all the same, and its blocks are read by TCP. */
	if (check_keys_are_read(config)) {
		config_free(config);
		return CLI_OK;
	}
	for (unsigned i = 0; i < s->count && !r; i++) {
		if (!has_keys(&s->spec[i]))
			continue;
		r = provision_one(d, &s->spec[i]);
		if (!r && config)
			old_file_remove(config, d, s->spec[i].policy.allow_datanodes);
	}
	config_free(config);
	return r;
}

int datanode_provision(const struct domain *d)
{
	int lock = record_lock(), r = CLI_FAILED;
	struct specs s = {0};

	if (lock >= 0)
		r = record_read(d, &s) ?: datanode_write_keys(d, &s);
	specs_free(&s);
	record_unlock(lock);
	return r;
}

/* ---- vreadd's word ------------------------------------------------------------------------- */

/* False: vreadd does not read keys now.  Prints that it does not run. */
static bool is_there(void)
{
	struct config *c = try_config();
	const char *socket = c ? c->control_socket : CONTROL_DEFAULT_SOCKET;
	bool there = !c || c->xen.datanode_keys;
	char *error = NULL;
	json_t *status;

	if (there && *socket) {
		there = !control_try(socket, json_pack("{s:s}", "command", "status"), &status,
				     &error);
		if (there)
			json_decref(status);
		else
			fprintf(stderr, "%s; vreadd reads the datanode's disks when it starts\n",
				error ?: "out of memory");
	}
	free(error);
	config_free(c);
	return there;
}

static int judge(const struct domain *d, const struct spec *s, const char *status)
{
	static const char refused[] = "refused: ";

	if (strncmp(status, refused, strlen(refused)) != 0)
		return CLI_OK;
	return cli_error(CLI_FAILED, "datanode %s: vreadd refuses domain %s (%u): %s",
			 s->policy.allow_datanodes, d->name, d->domid, status + strlen(refused));
}

static int await_one(const struct domain *d, const struct spec *s)
{
	struct xs_device device;
	char *status = NULL;
	int r = xs_device_init(&device, d->domid, s->id);

	if (r)
		return r;
	r = xs_device_wait_status(&device, LIMIT, &status);
	if (r)
		fprintf(stderr,
			"%s: vreadd has not read these keys within %u s; see xl-vread list\n",
			device.datanode, LIMIT);
	else
		r = judge(d, s, status);
	xs_device_done(&device);
	free(status);
	return r > 0 ? r : CLI_OK;
}

int datanode_await(const struct domain *d, const struct specs *s)
{
	int r = CLI_OK;

	if (!datanode_concerns(s) || !is_there())
		return CLI_OK;
	for (unsigned i = 0; i < s->count && !r; i++)
		if (has_keys(&s->spec[i]))
			r = await_one(d, &s->spec[i]);
	return r;
}

void datanode_leave(const struct specs *s)
{
	struct config *c = try_config();
	const char *socket = c ? c->control_socket : CONTROL_DEFAULT_SOCKET;

	for (unsigned i = 0; i < s->count && *socket; i++) {
		const char *name = s->spec[i].policy.allow_datanodes;
		char *error = NULL;
		json_t *answer;

		if (!s->spec[i].data_dirs)
			continue;
		if (control_try(socket,
				json_pack("{s:s, s:s}", "command", "leave", "datanode", name),
				&answer, &error) == 0)
			json_decref(answer);
		else
			fprintf(stderr,
				"%s; guests of this host read datanode %s by TCP until `xl-vread "
				"datanode move` says where its storages are\n",
				error ?: "out of memory", name);
		free(error);
	}
	config_free(c);
}
