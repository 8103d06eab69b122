/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search.c - implements search.h: runs vread-provision(8) and takes the paths from its layout.
 * Called by datanode.c and init/look.c.
 *
 * Only the paths are taken: with them vreadd finds the rest by itself, now and whenever the disks
 * change.  The guest chose these paths.  A path that cannot stand in a configuration is refused.
 */
#include "search.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/words.h"
#include "cli/cli.h"
#include "layout/layout.h"
#include "run.h"
#include "spec.h"

#define NAME_THEM "name them in the domain's configuration: data-dirs=/dfs/data"

/* folders: separated by blanks; is cut into words. */
static int run_provision(const char *const *images, unsigned num, char *folders, const char *layout)
{
	const char **words = calloc(num + 4 + 2 * strlen(folders), sizeof(*words));
	unsigned n = 0;
	char *folder;
	int r;

	if (!words)
		return -ENOMEM;
	words[n++] = "vread-provision";
	words[n++] = "-o";
	words[n++] = layout;
	while ((folder = strsep(&folders, " \t"))) {
		if (!*folder)
			continue;
		words[n++] = "--backing-folder";
		words[n++] = folder;
	}
	memcpy(words + n, images, num * sizeof(*images));
	r = run_program(words);
	free(words);
	return r;
}

static int provision(const char *const *images, unsigned num, const char *folders,
		     const char *layout)
{
	char *copy = strdup(folders ?: "");
	int r = copy ? run_provision(images, num, copy, layout) : -ENOMEM;

	free(copy);
	if (r < 0)
		return cli_error(CLI_FAILED, "vread-provision: cannot run: %s; " NAME_THEM,
				 strerror(-r));
	if (r && r != SEARCH_NOTHING)
		return cli_error(CLI_FAILED, "vread-provision failed: exit code %d; " NAME_THEM, r);
	return r;
}

static int add_path(const char *path, char list[SPEC_MAX_WORDS + 1])
{
	size_t used = strlen(list), room = SPEC_MAX_WORDS + 1 - used;

	if (!spec_data_dir_valid(path))
		return cli_error(CLI_FAILED,
				 "the disks have a data directory '%s', a name that is not allowed "
				 "in vreadd's configuration: rename it in the guest",
				 path);
	if (words_have(list, path, strlen(path))) /* several disks may have it */
		return CLI_OK;
	if ((size_t)snprintf(list + used, room, "%s%s", used ? " " : "", path) < room)
		return CLI_OK;
	return cli_error(CLI_FAILED,
			 "the paths of all data directories have more than %u characters; "
			 "use a layout of vread-provision(8) and a section in vread.conf(5)",
			 SPEC_MAX_WORDS);
}

static void mark_images(const struct layout_filesystem *fs, bool on[LAYOUT_MAX_IMAGES])
{
	if (!fs->num_segments)
		on[fs->image] = true;
	for (unsigned i = 0; i < fs->num_segments; i++)
		for (unsigned j = 0; j < fs->segments[i].num_stripes; j++)
			on[fs->segments[i].stripes[j].image] = true;
}

static int take_filesystem(const struct layout_filesystem *fs, char list[SPEC_MAX_WORDS + 1],
			   bool on[LAYOUT_MAX_IMAGES])
{
	int r = CLI_OK;

	if (fs->num_data_dirs)
		mark_images(fs, on);
	for (unsigned i = 0; i < fs->num_data_dirs && !r; i++)
		r = add_path(fs->data_dirs[i].path, list);
	return r;
}

static int collect(const char *layout_file, struct search_result *ret)
{
	struct search_result found = {0};
	char list[SPEC_MAX_WORDS + 1] = "", *error = NULL;
	struct image_layout *layout;
	int r = CLI_OK;

	if (layout_load(layout_file, &layout, &error)) {
		r = cli_error(CLI_FAILED, "%s", error ?: "out of memory");
		free(error);
		return r;
	}
	for (unsigned i = 0; i < layout->num_filesystems && !r; i++)
		r = take_filesystem(&layout->filesystems[i], list, found.on);
	layout_free(layout);
	if (r || !list[0])
		return r ?: SEARCH_NOTHING;
	found.dirs = strdup(list);
	if (!found.dirs)
		return cli_error(CLI_FAILED, "out of memory");
	*ret = found;
	return CLI_OK;
}

int search_data_dirs(const char *const *images, unsigned num, const char *folders,
		     struct search_result *ret)
{
	char folder[] = P_tmpdir "/xl-vread-XXXXXX", layout[PATH_MAX];
	int r;

	if (!mkdtemp(folder))
		return cli_error(CLI_FAILED, "%s: cannot create: %m", folder);
	snprintf(layout, sizeof(layout), "%s/layout.json", folder);
	r = provision(images, num, folders, layout) ?: collect(layout, ret);
	unlink(layout);
	rmdir(folder);
	return r;
}
