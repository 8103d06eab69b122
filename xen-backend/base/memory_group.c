// SPDX-License-Identifier: GPL-2.0-or-later
/* Implements memory_group.h: reads the files of control groups. */
#include "base/memory_group.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MOST (INT64_MAX / 4) /* larger numbers are no numbers of bytes */

/* The number in a file of a control group. False: no such file, or no limit ("max"). */
static bool group_number(const char *group, const char *name, int64_t *ret)
{
	char path[PATH_MAX];
	FILE *file;
	bool found;

	snprintf(path, sizeof(path), "%s/%s", group, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	found = fscanf(file, "%" SCNd64, ret) == 1 && *ret >= 0 && *ret < MOST;
	fclose(file);
	return found;
}

/* Bytes of pages in the group that the kernel drops when it needs memory. */
static int64_t group_files(const char *group)
{
	char path[PATH_MAX], name[64];
	int64_t bytes, sum = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/memory.stat", group);
	file = fopen(path, "re");
	while (file && fscanf(file, "%63s %" SCNd64, name, &bytes) == 2)
		if ((!strcmp(name, "active_file") || !strcmp(name, "inactive_file")) &&
		    bytes >= 0 && bytes < MOST)
			sum += bytes;
	if (file)
		fclose(file);
	return sum;
}

static int64_t group_spare(const char *group, unsigned kept)
{
	int64_t limit, current;

	if (!group_number(group, "memory.max", &limit) ||
	    !group_number(group, "memory.current", &current))
		return MOST;
	return limit - (kept ? limit / kept : 0) - (current - group_files(group));
}

int64_t memory_group_spare(const char *root, unsigned kept)
{
	char path[PATH_MAX], line[PATH_MAX / 4], group[PATH_MAX / 2];
	int64_t least = MOST;
	size_t top;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	file = fopen(path, "re");
	group[0] = 0;
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "0::/", 4))
			snprintf(group, sizeof(group), "%s/sys/fs/cgroup%.*s", root,
				 (int)strcspn(line + 3, "\n"), line + 3);
	if (file)
		fclose(file);
	top = strlen(root) + strlen("/sys/fs/cgroup");
	while (strlen(group) > top) {
		int64_t spare = group_spare(group, kept);

		if (spare < least)
			least = spare;
		*strrchr(group, '/') = 0;
	}
	return least;
}
