/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * data_version.h - parses the VERSION file of a datanode's data directory, or of a block pool in
 * it: Java properties, written by HDFS. A pure function: the text comes from a guest's image.
 */
#ifndef VREAD_LAYOUT_DATA_VERSION_H
#define VREAD_LAYOUT_DATA_VERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATA_VERSION_MAX_BYTES (64U << 10)
#define DATA_VERSION_MAX_VALUE 256U /* with its NUL */
#define DATA_VERSION_MAX_REASON 512U

/*
 * Values are UTF-8 without control characters. HDFS accepts any cluster id, so a value that is too
 * long is cut, and what cannot be shown becomes '?'. The storage id is an identity: it is valid by
 * layout_storage_id_valid(), and neither cut nor changed. A missing value is "".
 */
struct data_version {
	bool is_datanode; /* storageType=DATA_NODE */
	char storage_id[DATA_VERSION_MAX_VALUE];
	char datanode_uuid[DATA_VERSION_MAX_VALUE];
	char cluster_id[DATA_VERSION_MAX_VALUE];
	uint32_t namespace_id; /* of a pool; 0: none that makes sense */
	uint32_t layout;       /* -layoutVersion; 0: none that makes sense */
};

/* Returns 0, or -EINVAL with a reason that names key and value. If the directory is not a
 * datanode's, only is_datanode is meaningful. */
int data_version_parse(const char *text, size_t length, struct data_version *ret,
		       char reason[DATA_VERSION_MAX_REASON]);

#endif
