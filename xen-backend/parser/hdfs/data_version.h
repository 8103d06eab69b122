/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * data_version.h - parses the VERSION file of a datanode's data directory, or of a block pool in
 * it: Java properties, written by HDFS. Called by data_dir.c and by vread-provision. A pure
 * function: the text comes from a guest's image.
 */
#ifndef VREAD_LAYOUT_DATA_VERSION_H
#define VREAD_LAYOUT_DATA_VERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATA_VERSION_MAX_BYTES (64U << 10)
#define DATA_VERSION_MAX_VALUE 128U

struct data_version {
	bool is_datanode; /* storageType=DATA_NODE */
	char storage_id[DATA_VERSION_MAX_VALUE];
	char datanode_uuid[DATA_VERSION_MAX_VALUE];
	char cluster_id[DATA_VERSION_MAX_VALUE];
	uint32_t namespace_id; /* of a pool; 0: none that makes sense */
};

/* Returns 0, or -EINVAL with `*ret_reason` (static text). If the directory is not a datanode's,
 * only is_datanode is meaningful. */
int data_version_parse(const char *text, size_t length, struct data_version *ret,
		       const char **ret_reason);

#endif
