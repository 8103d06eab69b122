/* SPDX-License-Identifier: GPL-2.0-or-later */
/* datanode_list.c - implements datanode_list.h: a table of the datanodes' own files and of keys in
 * xenstore.  Called by list.c. */
#include "datanode_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "by_keys.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "config_path.h"
#include "datanode_file.h"
#include "domains.h"

struct table {
	struct xs_handle *xs;
	const struct config *config; /* NULL: it has mistakes, or there is none */
	unsigned rows;
};

static void print_row(struct table *t, const char *name, const char *domain,
		      const char *const *images, unsigned count)
{
	if (!t->rows++)
		printf("\n%-24s %-24s %s\n", "Datanode", "Domain", "Disks");
	printf("%-24s %-24s", name, domain);
	for (unsigned i = 0; i < count; i++)
		printf(" %s", images[i]);
	putchar('\n');
}

/* ---- their own files ------------------------------------------------------------------------ */

static void print_file(struct table *t, const struct config_datanode *n,
		       const struct datanode_file *f)
{
	char owner[DOMAIN_UUID];
	struct domain d;
	bool ours = datanode_file_owner(f, owner);
	bool here = ours && domain_find_uuid(t->xs, owner, &d);

	print_row(t, n->name,
		  here   ? d.name
		  : ours ? "(not running)"
			 : "(nobody's)",
		  (const char *const *)n->images.path, n->images.count);
}

static int list_files(struct table *t)
{
	const struct config *c = t->config;
	int r = CLI_OK;

	for (size_t i = 0; c && i < c->num_datanodes && !r; i++) {
		struct datanode_file file;

		if (strcmp(c->datanodes[i].file, config_path()) == 0)
			continue;
		r = datanode_file_read(c->datanode_files, c->datanodes[i].name, &file);
		if (!r)
			print_file(t, &c->datanodes[i], &file);
		datanode_file_free(&file);
	}
	return r;
}

/* ---- keys ----------------------------------------------------------------------------------- */

static void print_keys(struct table *t, const struct keys *k)
{
	char line[2048];
	struct domain d;

	if (!domain_get(t->xs, k->domid, &d))
		snprintf(d.name, sizeof(d.name), "(domain %u)", k->domid);
	print_row(t, k->value[KEYS_NAME] ?: "-", d.name, (const char *const *)k->image,
		  k->num_images);
	snprintf(line, sizeof(line), "by keys in xenstore: %s", by_keys_status(k));
	text_wrap(stdout, 4, line);
}

static int list_keys(struct table *t)
{
	struct keys_list keys;
	int r = by_keys_read(t->xs, t->config, &keys);

	if (r)
		return cli_error(CLI_FAILED, "xenstore: cannot read the keys of datanodes: %s",
				 strerror(-r));
	for (size_t i = 0; i < keys.count; i++)
		print_keys(t, &keys.keys[i]);
	keys_free(&keys);
	return CLI_OK;
}

int datanode_list(struct xs_handle *xs)
{
	struct config *config = NULL;
	struct table t = {.xs = xs};
	json_t *problems;
	int r = config_load(config_path(), &config, &problems), code = CLI_OK;

	if (r)
		json_decref(problems);
	if (r && r != -ENOENT)
		code = cli_error(CLI_FAILED,
				 "%s: has mistakes, so the datanodes that have a file are not "
				 "listed: see xl-vread config check",
				 config_path());
	t.config = config;
	code = list_files(&t) ?: code;
	code = list_keys(&t) ?: code;
	config_free(config);
	return code;
}
