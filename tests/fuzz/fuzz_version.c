// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes data_version_parse(), which reads a data directory's VERSION file, written by a guest.
 * Its values become parts of messages and of JSON.
 */
#include <string.h>

#include "fuzz.h"
#include "parser/hdfs/data_version.h"
#include "layout/layout.h"

static void check_value(const char *value)
{
	check(strnlen(value, DATA_VERSION_MAX_VALUE) < DATA_VERSION_MAX_VALUE);
	for (; *value; value++)
		check((unsigned char)*value >= 0x20 && *value != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = (char *)bytes_of(data, size); /* not terminated by a zero */
	struct data_version version;
	char reason[DATA_VERSION_MAX_REASON] = "";

	if (data_version_parse(text, size, &version, reason) < 0) {
		check(reason[0] && strnlen(reason, sizeof(reason)) < sizeof(reason));
	} else {
		check_value(version.datanode_uuid);
		check_value(version.cluster_id);
		check(!version.is_datanode || layout_storage_id_valid(version.storage_id));
		check(layout_id_valid(version.cluster_id));
		check(version.namespace_id <= INT32_MAX);
	}
	free(text);
	return 0;
}
