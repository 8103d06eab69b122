/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inspect.c - `xl-vread inspect`: runs vread-provision on an image.  The operator runs it in dom0.
 *
 * vread-provision is a program of its own, so that no other program has to load libguestfs.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "disk/image.h"

#define PROVISION "vread-provision"

/* Writes the path of vread-provision in the folder of this program: both lie there in a build tree,
 * or if they were installed together.  False: the folder is not known. */
static bool beside(char *buf, size_t room)
{
	ssize_t n = readlink("/proc/self/exe", buf, room - sizeof(PROVISION));
	char *slash;

	if (n <= 0 || (size_t)n >= room - sizeof(PROVISION))
		return false;
	buf[n] = '\0';
	slash = strrchr(buf, '/');
	if (!slash)
		return false;
	strcpy(slash + 1, PROVISION);
	return true;
}

static int run_inspect(int argc, char **argv)
{
	static const struct option options[] = {
		{"backing-folder", required_argument, NULL, 'b'},
		{NULL, 0, NULL, 0},
	};
	char *arguments[4 + 2 * IMAGE_MAX_FOLDERS] = {PROVISION, "--summary"};
	char path[PATH_MAX];
	unsigned n = 2;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != 'b')
			return cli_bad_option();
		if (n == 2 + 2 * IMAGE_MAX_FOLDERS)
			return cli_usage("--backing-folder: expected at most %u",
					 IMAGE_MAX_FOLDERS);
		arguments[n++] = "--backing-folder";
		arguments[n++] = optarg;
	}
	if (argc - optind != 1)
		return cli_usage("expected one image, not %d", argc - optind);
	arguments[n] = argv[optind];
	fflush(stdout);
	if (beside(path, sizeof(path)))
		execv(path, arguments);
	execvp(PROVISION, arguments);
	return cli_error(CLI_FAILED,
			 PROVISION ": cannot run (%m); install it beside xl-vread, or in PATH");
}

const struct command command_inspect = {
	.name = "inspect",
	.run = run_inspect,
	.synopsis = "[--backing-folder DIR]... IMAGE",
	.summary = "Shows what vRead finds in a datanode's disk image",
	.options = "  --backing-folder DIR\n"
		   "                    a folder of this host below which files may lie that the\n"
		   "                    image names (may be given again)\n",
};
