/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * datanode.c - implements datanode.h: writes the datanodes' own files and has vreadd read them.
 * Called by commands of xl-vread(8) and by provision.c.
 *
 * vread.conf(5) names the folder of these files and vreadd's control socket.  Each call reads
 * vread.conf with all these files again.  If vreadd would refuse them, nothing is written.
 */
#include "datanode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "by_keys.h"
#include "cli/cli.h"
#include "config_path.h"
#include "datanode_file.h"
#include "keys/disks.h"
#include "layout/layout.h"
#include "record.h"
#include "search.h"
#include "vreadd/control_client.h"

bool datanode_concerns(const struct specs *s)
{
	for (unsigned i = 0; i < s->count; i++)
		if (s->spec[i].data_dirs)
			return true;
	return false;
}

/* ---- vreadd's configuration ------------------------------------------------------------ */

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
	if ((*ret)->datanode_files[0])
		return CLI_OK;
	config_free(*ret);
	return cli_error(CLI_FAILED,
			 "%s: datanode-files is empty: expected the folder of the datanodes that "
			 "xl-vread keeps",
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

/* Fails if a toolstack provisions a datanode of this name by keys in xenstore: our file would count
 * before the keys.  xs NULL: there is no xenstore. */
static int check_keys(struct xs_handle *xs, const struct config *c, const char *name)
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
	for (unsigned i = 0; i < s->count && !r; i++)
		if (s->spec[i].data_dirs)
			r = check_name(config, s->spec[i].policy.allow_datanodes)
				    ?: check_keys(xs, config, s->spec[i].policy.allow_datanodes);
	xs_close(xs);
	config_free(config);
	return r;
}

static const char *problem_text(const json_t *problem, const char *key)
{
	return json_string_value(json_object_get(problem, key)) ?: "";
}

static int refused(const json_t *answer)
{
	const json_t *problem = json_array_get(json_object_get(answer, "problems"), 0);

	return cli_error(CLI_FAILED, "vreadd refuses its configuration: %s:%lld: %s",
			 problem_text(problem, "file"),
			 (long long)json_integer_value(json_object_get(problem, "line")),
			 problem_text(problem, "problem"));
}

/* Has vreadd read its configuration.  If vreadd cannot be reached this is no failure: it reads the
 * configuration when it starts. */
static int reload(const struct config *c)
{
	json_t *answer, *request = json_pack("{s:s}", "command", "reload");
	char *error = NULL;
	int r = CLI_OK;

	if (!c->control_socket[0]) {
		json_decref(request);
		fprintf(stderr, "control-socket is empty in %s: run systemctl reload vreadd\n",
			config_path());
		return CLI_OK;
	}
	if (control_try(c->control_socket, request, &answer, &error)) {
		fprintf(stderr, "%s; vreadd reads the datanode's disks when it starts\n",
			error ?: "out of memory");
		free(error);
		return CLI_OK;
	}
	if (strcmp(problem_text(answer, "result"), "applied") != 0)
		r = refused(answer);
	json_decref(answer);
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

/* ---- keeping them -------------------------------------------------------------------------- */

/* Fails if the file is not ours, or belongs to another domain that is on this host. */
static int check_owner(struct xs_handle *xs, const struct domain *d, const struct datanode_file *f,
		       const char *name)
{
	char owner[DOMAIN_UUID];
	struct domain other;

	if (!f->text)
		return CLI_OK;
	if (!datanode_file_owner(f, owner))
		return cli_error(CLI_FAILED,
				 "%s: was not written by xl-vread: remove it, or data-dirs from "
				 "the domain's configuration",
				 f->path);
	if (strcmp(owner, d->uuid) != 0 && domain_find_uuid(xs, owner, &other))
		return cli_error(CLI_FAILED,
				 "datanode %s: domain %s (%u) has this name already: each datanode "
				 "needs its own",
				 name, other.name, other.domid);
	return CLI_OK;
}

/* *ret: the text that the datanode's file should have; NULL: a disk does not exist yet. */
static int wanted_text(const struct domain *d, const struct disks *disks, const struct spec *s,
		       char **ret)
{
	char *names = strdup(s->disks);
	struct images images = {0};
	int r;

	*ret = NULL;
	if (!names)
		return cli_error(CLI_FAILED, "out of memory");
	r = add_named(d, disks, names, &images);
	if (!r && !images.missing)
		r = datanode_file_text(d->uuid, s, images.image, images.count, ret);
	free(names);
	return r;
}

struct keeping {
	struct xs_handle *xs;
	const struct domain *domain;
	const struct config *config;
	struct disks disks;
};

/* Writes one file and has vreadd read it.  If vreadd refuses it, the old text is put back. */
static int change(struct keeping *k, struct datanode_file *f, const char *text)
{
	char *before = f->text;
	int r;

	f->text = NULL;
	r = datanode_file_write(f, text);
	if (!r) {
		r = reload(k->config);
		if (r)
			datanode_file_write(f, before);
	}
	free(before);
	return r;
}

static int keep_one(struct keeping *k, const struct spec *s)
{
	const char *name = s->policy.allow_datanodes;
	struct datanode_file file;
	char *text = NULL;
	int r = check_name(k->config, name);

	if (r)
		return r;
	r = datanode_file_read(k->config->datanode_files, name, &file);
	if (!r)
		r = check_owner(k->xs, k->domain, &file, name);
	if (!r && !file.text)
		r = check_keys(k->xs, k->config, name);
	if (!r)
		r = wanted_text(k->domain, &k->disks, s, &text);
	if (!r && text && (!file.text || strcmp(file.text, text) != 0)) {
		r = change(k, &file, text);
		if (!r)
			fprintf(stderr, "datanode %s: its disks are those of domain %s (%u) now\n",
				name, k->domain->name, k->domain->domid);
	}
	free(text);
	datanode_file_free(&file);
	return r;
}

static bool is_wanted(const struct specs *s, const char *name)
{
	for (unsigned i = 0; i < s->count; i++)
		if (s->spec[i].data_dirs && strcmp(s->spec[i].policy.allow_datanodes, name) == 0)
			return true;
	return false;
}

/* Removes the file of a datanode that the domain was under an earlier configuration. */
static int drop(struct keeping *k, const char *name)
{
	char owner[DOMAIN_UUID];
	struct datanode_file file;
	int r = datanode_file_read(k->config->datanode_files, name, &file);

	if (!r && datanode_file_owner(&file, owner) && strcmp(owner, k->domain->uuid) == 0) {
		r = datanode_file_write(&file, NULL) ?: reload(k->config);
		fprintf(stderr, "datanode %s: is domain %s no longer\n", name, k->domain->name);
	}
	datanode_file_free(&file);
	return r;
}

static int drop_others(struct keeping *k, const struct specs *s)
{
	int r = CLI_OK;

	for (size_t i = 0; i < k->config->num_datanodes && !r; i++)
		if (strcmp(k->config->datanodes[i].file, config_path()) != 0 &&
		    !is_wanted(s, k->config->datanodes[i].name))
			r = drop(k, k->config->datanodes[i].name);
	return r;
}

static int keep_all(struct keeping *k, const struct specs *s)
{
	int r = read_disks(k->xs, k->domain, &k->disks);

	for (unsigned i = 0; i < s->count && !r; i++)
		if (s->spec[i].data_dirs && s->spec[i].disks)
			r = keep_one(k, &s->spec[i]);
	disks_free(&k->disks);
	return r;
}

static int follow(struct xs_handle *xs, const struct domain *d, const struct specs *s)
{
	struct keeping k = {.xs = xs, .domain = d};
	struct config *config = NULL;
	json_t *problems = NULL;
	int r = CLI_OK;

	if (datanode_concerns(s))
		r = datanode_load(&config);
	else if (config_load(config_path(), &config, &problems))
		json_decref(
			problems); /* domain is no datanode: mistakes in the file do not matter */
	if (!config)
		return r;
	k.config = config;
	r = drop_others(&k, s);
	if (!r && datanode_concerns(s))
		r = keep_all(&k, s);
	config_free(config);
	return r;
}

static int follow_record(struct xs_handle *xs, const struct domain *d)
{
	struct specs s;
	int r = record_read(d, &s);

	if (!r)
		r = follow(xs, d, &s);
	specs_free(&s);
	return r;
}

int datanode_follow(const struct domain *d)
{
	struct xs_handle *xs = xs_open(0);
	int lock, r;

	if (!xs)
		return cli_error(CLI_NO_PEER,
				 "xenstore: cannot connect (%m); this works in dom0, as root");
	lock = record_lock();
	r = lock < 0 ? CLI_FAILED : follow_record(xs, d);
	record_unlock(lock);
	xs_close(xs);
	return r;
}
