// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests the parser of VERSION files: files as HDFS writes them, and wrong files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "parser/hdfs/data_version.h"

static int parse(const char *text, struct data_version *v)
{
	const char *reason = NULL;
	int r = data_version_parse(text, strlen(text), v, &reason);

	assert_true(r == 0 || reason != NULL);
	return r;
}

static void as_hdfs_writes_it(void **state)
{
	struct data_version v;

	(void)state;
	assert_int_equal(parse("#Sat Nov 21 07:22:00 UTC 2026\nstorageID=DS-1f-2\n"
			       "clusterID=CID-3\ncTime=0\ndatanodeUuid=4\\:5\n"
			       "storageType=DATA_NODE\nlayoutVersion=-57\n",
			       &v),
			 0);
	assert_true(v.is_datanode);
	assert_string_equal(v.storage_id, "DS-1f-2");
	assert_string_equal(v.cluster_id, "CID-3");
	assert_string_equal(v.datanode_uuid, "4:5");
}

static void spaces_and_line_ends(void **state)
{
	struct data_version v;

	(void)state;
	assert_int_equal(
		parse("\n ! note\r\n storageID = DS-1 \r\nclusterID=c\r\ndatanodeUuid=d\r\n"
		      "storageType=DATA_NODE",
		      &v),
		0);
	assert_string_equal(v.storage_id, "DS-1");
	assert_true(v.is_datanode);
}

static void namespaces(void **state)
{
	struct data_version v;

	(void)state;
	assert_int_equal(parse("namespaceID=2147483647\nblockpoolID=BP-1\n", &v), 0);
	assert_int_equal(v.namespace_id, 2147483647);
	assert_int_equal(parse("namespaceID=2147483648\n", &v), 0);
	assert_int_equal(v.namespace_id, 0);
	assert_int_equal(parse("namespaceID=-1\n", &v), 0);
	assert_int_equal(v.namespace_id, 0);
	assert_int_equal(parse("namespaceID=\n", &v), 0);
	assert_int_equal(v.namespace_id, 0);
}

static void others_are_not_datanodes(void **state)
{
	struct data_version v = {.is_datanode = true};

	(void)state;
	assert_int_equal(parse("storageType=NAME_NODE\nclusterID=c\n", &v), 0);
	assert_false(v.is_datanode);
	assert_int_equal(parse("", &v), 0);
	assert_false(v.is_datanode);
}

static void refused(void **state)
{
	struct data_version v = {.storage_id = "old"};
	char line[400] = "storageType=DATA_NODE\nclusterID=c\ndatanodeUuid=d\nstorageID=";

	(void)state;
	assert_int_equal(parse("storageType=DATA_NODE\n", &v), -EINVAL);
	assert_int_equal(parse("storageType=DATA_NODE\nstorageID=DS\nclusterID=c\n", &v), -EINVAL);
	assert_int_equal(parse("storageType=DATA_NODE\nstorageID=DS\ndatanodeUuid=d\n", &v),
			 -EINVAL);
	assert_int_equal(parse("storageID=\n", &v), -EINVAL);
	assert_int_equal(parse("storageID=a b\n", &v), -EINVAL);
	assert_int_equal(parse("storageID=a\\", &v), -EINVAL);
	assert_int_equal(parse("storageID=a\x1b[2J\n", &v), -EINVAL);
	memset(line + strlen(line), 'x', DATA_VERSION_MAX_VALUE);
	assert_int_equal(parse(line, &v), -EINVAL);
	assert_string_equal(v.storage_id, "old");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_hdfs_writes_it), cmocka_unit_test(spaces_and_line_ends),
		cmocka_unit_test(namespaces),        cmocka_unit_test(others_are_not_datanodes),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
