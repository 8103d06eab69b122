// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes data_version_parse(), which reads a data directory's VERSION file, written by a guest.
 * Its values become parts of messages and of JSON.
 */
#include <ctype.h>
#include <string.h>

#include "fuzz.h"
#include "parser/hdfs/data_version.h"
#include "layout/layout.h"

static void check_value(const char *value)
{
	check(strnlen(value, DATA_VERSION_MAX_VALUE) < DATA_VERSION_MAX_VALUE);
	for (; *value; value++)
		check(isgraph((unsigned char)*value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = (char *)bytes_of(data, size); /* not terminated by a zero */
	struct data_version version;
	const char *reason = NULL;

	if (data_version_parse(text, size, &version, &reason) < 0) {
		check(reason);
	} else {
		check_value(version.storage_id);
		check_value(version.datanode_uuid);
		check_value(version.cluster_id);
		check(!version.is_datanode || (version.storage_id[0] && version.cluster_id[0]));
		check(version.namespace_id <= INT32_MAX);
		(void)layout_storage_id_valid(version.storage_id);
	}
	free(text);
	return 0;
}
