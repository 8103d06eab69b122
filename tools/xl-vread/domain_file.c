/* SPDX-License-Identifier: GPL-2.0-or-later */
/* domain_file.c - implements domain_file.h: finds the file of a domain and reads its devices.
 * Called by record.c. */
#include "domain_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "domain_config.h"
#include "domains.h"

#define FOLDER "/etc/vread/domains.d"

static bool find(const char *name, char path[PATH_MAX])
{
	const char *named = getenv("VREAD_DOMAIN_FILES");
	int length = snprintf(path, PATH_MAX, "%s/%s.cfg", named && *named ? named : FOLDER, name);

	return length < PATH_MAX && access(path, F_OK) == 0;
}

bool domain_file_find(const struct domain *d, char path[PATH_MAX])
{
	return find(d->uuid, path) || (*d->name && !strchr(d->name, '/') && find(d->name, path));
}

static int check(const char *path, const struct specs *s)
{
	for (unsigned i = 0; i < s->count; i++) {
		const struct spec *spec = &s->spec[i];

		if (spec->data_dirs &&
		    (!spec->disks || strcmp(spec->data_dirs, SPEC_DATA_DIRS_AUTO) == 0))
			return cli_error(CLI_FAILED,
					 "%s: vread[%u]: data-dirs: expected folders and disks by "
					 "name (data-dirs=/dfs/data,disks=xvdb): this domain's "
					 "disks appear one after another",
					 path, i);
	}
	return CLI_OK;
}

int domain_file_read(const char *path, struct specs *ret)
{
	int r = domain_config_read_devices(path, ret);

	if (r)
		return r;
	r = check(path, ret);
	if (r)
		specs_free(ret);
	return r;
}
