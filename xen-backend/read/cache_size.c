// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements cache_size.h: reads what the kernel says about memory. store.c calls it.
 *
 * vreadd.service hides /proc/meminfo (ProcSubset=pid). Then the numbers of the memory nodes in
 * sysfs take its place. They lack the kernel's own estimate of available memory, which is made of
 * the same numbers.
 */
#include "read/cache_size.h"

#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_SHARE 2
#define SERVICE_RESERVE_SHARE 4 /* of the limit */
#define ROUND (1U << 20)
#define MOST (INT64_MAX / 4) /* larger numbers are no numbers of bytes */

/* ---- the host ------------------------------------------------------------------------- */

/* Adds up the lines of the file with one of the names. False: there is no such line. */
static bool sum_lines(const char *path, const char *const *names, int64_t *sum)
{
	FILE *file = fopen(path, "re");
	char line[256], name[64];
	bool found = false;
	int64_t kib;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Node %*d %63[^:]: %" SCNd64, name, &kib) != 2 &&
		    sscanf(line, "%63[^:]: %" SCNd64, name, &kib) != 2)
			continue;
		for (unsigned i = 0; names[i] && kib >= 0 && kib < MOST >> 10; i++)
			if (!strcmp(name, names[i])) {
				*sum += kib << 10;
				found = true;
			}
	}
	if (file)
		fclose(file);
	return found;
}

static bool sum_nodes(const char *root, int64_t *sum)
{
	static const char *const names[] = {"MemFree", "Active(file)", "Inactive(file)",
					    "KReclaimable", NULL};
	char pattern[PATH_MAX];
	bool found = false;
	glob_t nodes;

	snprintf(pattern, sizeof(pattern), "%s/sys/devices/system/node/node*/meminfo", root);
	if (glob(pattern, 0, NULL, &nodes) == 0)
		for (size_t i = 0; i < nodes.gl_pathc; i++)
			found |= sum_lines(nodes.gl_pathv[i], names, sum);
	globfree(&nodes);
	return found;
}

/* Bytes that the host has available. False: unknown. */
static bool host_available(const char *root, int64_t *ret)
{
	static const char *const names[] = {"MemAvailable", NULL};
	char path[PATH_MAX];

	*ret = 0;
	snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	return sum_lines(path, names, ret) || sum_nodes(root, ret);
}

/* ---- the control group -------------------------------------------------------------- */

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

/* What the group lets the cache have beyond `used`; negative: what it should give back. */
static int64_t group_spare(const char *group)
{
	int64_t limit, current;

	if (!group_number(group, "memory.max", &limit) ||
	    !group_number(group, "memory.current", &current))
		return MOST;
	return limit - limit / SERVICE_RESERVE_SHARE - (current - group_files(group));
}

/* The least of group_spare() of the own group and of all groups above it. */
static int64_t service_spare(const char *root)
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
		int64_t spare = group_spare(group);

		if (spare < least)
			least = spare;
		*strrchr(group, '/') = 0;
	}
	return least;
}

/* ---- both ----------------------------------------------------------------------------- */

size_t cache_size_now(const char *root, size_t used, const char **ret_limited_by)
{
	int64_t available, spare, size;

	*ret_limited_by = "unknown";
	if (!host_available(root, &available))
		return CACHE_SIZE_LEAST;
	*ret_limited_by = "host";
	size = (available + (int64_t)used) / HOST_SHARE;
	if (size > available + (int64_t)used - CACHE_SIZE_HOST_RESERVE)
		size = available + (int64_t)used - CACHE_SIZE_HOST_RESERVE;
	spare = service_spare(root);
	if (size > spare + (int64_t)used) {
		*ret_limited_by = "service";
		size = spare + (int64_t)used;
	}
	if (size < CACHE_SIZE_LEAST) {
		*ret_limited_by = "least";
		return CACHE_SIZE_LEAST;
	}
	return (size_t)size - (size_t)size % ROUND;
}
