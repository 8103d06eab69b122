/* SPDX-License-Identifier: GPL-2.0-or-later */
/* old_file.c - implements old_file.h.  Called by datanode.c. */
#include "old_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "config_path.h"
#include "vreadd/control_client.h"

#define OWNER "# Disks of domain " /* and the domain's UUID: how the first line begins */

/* False: the file is not of xl-vread. */
static bool read_owner(const char *path, char uuid[DOMAIN_UUID])
{
	char line[sizeof(OWNER) + DOMAIN_UUID] = "";
	FILE *file = fopen(path, "re");

	if (file && !fgets(line, sizeof(line), file))
		line[0] = '\0';
	if (file)
		fclose(file);
	if (strncmp(line, OWNER, strlen(OWNER)) != 0)
		return false;
	snprintf(uuid, DOMAIN_UUID, "%s", line + strlen(OWNER));
	return domain_uuid_valid(uuid);
}

static bool is_on_this_host(const char *uuid)
{
	struct xs_handle *xs = xs_open(0);
	struct domain d;
	bool found = xs && domain_find_uuid(xs, uuid, &d);

	xs_close(xs);
	return found;
}

static void reload(const struct config *c)
{
	json_t *answer = NULL;
	char *error = NULL;

	if (!c->control_socket[0])
		fprintf(stderr, "control-socket is empty in %s: run systemctl reload vreadd\n",
			config_path());
	else if (control_try(c->control_socket, json_pack("{s:s}", "command", "reload"), &answer,
			     &error) == 0)
		json_decref(answer);
	free(error);
}

void old_file_remove(const struct config *c, const struct domain *d, const char *name)
{
	char owner[DOMAIN_UUID];

	for (size_t i = 0; i < c->num_datanodes; i++) {
		const struct config_datanode *n = &c->datanodes[i];

		if (strcmp(n->name, name) != 0 || strcmp(n->file, config_path()) == 0 ||
		    !read_owner(n->file, owner) ||
		    (strcmp(owner, d->uuid) != 0 && is_on_this_host(owner)))
			continue;
		if (unlink(n->file) < 0) {
			cli_error(CLI_FAILED, "%s: cannot remove: %m", n->file);
			continue;
		}
		fprintf(stderr, "%s: removed: keys in xenstore take its place\n", n->file);
		reload(c);
	}
}
