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

#include "base/memory_group.h"

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
	spare = memory_group_spare(root, SERVICE_RESERVE_SHARE);
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
