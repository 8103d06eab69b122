/* SPDX-License-Identifier: GPL-2.0-or-later */
/* datanode_list.c - implements datanode_list.h: a table of keys in xenstore.  Called by list.c. */
#include "datanode_list.h"

#include <stdio.h>
#include <string.h>

#include "by_keys.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "config_path.h"
#include "control/keyed.h"
#include "domains.h"

static void print(struct xs_handle *xs, const struct keys *k)
{
	const char *status = by_keys_status(k);
	struct domain d;

	if (!domain_get(xs, k->domid, &d))
		snprintf(d.name, sizeof(d.name), "(domain %u)", k->domid);
	printf("%-24s %-24s", k->value[KEYS_NAME] ?: "-", d.name);
	for (unsigned i = 0; i < k->num_images; i++)
		printf(" %s", k->image[i]);
	putchar('\n');
	if (!keyed_accepted(k) || strchr(status, ';'))
		text_wrap(stdout, 4, status);
}

int datanode_list(struct xs_handle *xs)
{
	struct config *config = NULL;
	struct keys_list keys;
	json_t *problems;
	int r;

	if (config_load(config_path(), &config, &problems))
		json_decref(problems);
	r = by_keys_read(xs, config, &keys);
	config_free(config);
	if (r)
		return cli_error(CLI_FAILED, "xenstore: cannot read the keys of datanodes: %s",
				 strerror(-r));
	if (keys.count)
		printf("\n%-24s %-24s %s\n", "Datanode", "Domain", "Disks");
	for (size_t i = 0; i < keys.count; i++)
		print(xs, &keys.keys[i]);
	keys_free(&keys);
	return CLI_OK;
}
