// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests the parser of VERSION files: files as HDFS writes them, as people edit them, and wrong
 * files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "parser/hdfs/data_version.h"
#include "vreadif.h"

static int parse(const char *text, struct data_version *v)
{
	char reason[DATA_VERSION_MAX_REASON] = "";
	int r = data_version_parse(text, strlen(text), v, reason);

	assert_true(r == 0 || reason[0]);
	return r;
}

static void assert_refused(const char *text, const char *expected)
{
	char reason[DATA_VERSION_MAX_REASON] = "";
	struct data_version v = {.storage_id = "old"};

	assert_int_equal(data_version_parse(text, strlen(text), &v, reason), -EINVAL);
	assert_non_null(strstr(reason, expected));
	assert_string_equal(v.storage_id, "old");
}

#define DATANODE "storageType=DATA_NODE\nstorageID=DS-1\n"

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
	assert_int_equal(parse("\n ! note\r\n storageID = DS-1\r\nclusterID=c\r\ndatanodeUuid=d\r\n"
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

static void as_properties(void **state)
{
	struct data_version v;

	(void)state;
	assert_int_equal(parse("storageType : DATA_NODE\nstorageID DS-\\\n  1\n"
			       "clusterID=prod cluster\ndatanodeUuid\\\n=\\ d\\\\e\\u00e9\n",
			       &v),
			 0);
	assert_true(v.is_datanode);
	assert_string_equal(v.storage_id, "DS-1");
	assert_string_equal(v.cluster_id, "prod cluster");
	assert_string_equal(v.datanode_uuid, " d\\e\xc3\xa9");
	assert_int_equal(parse(DATANODE "#storageID=a\\\nstorageID=DS-2\nstorageID=DS-3", &v), 0);
	assert_string_equal(v.storage_id, "DS-3");
}

static void cluster_ids_that_hdfs_accepts(void **state)
{
	static const struct {
		const char *written, *shown;
	} ids[] = {
		{"prod cluster", "prod cluster"},
		{"", ""},
		{"\\u30af\\u30e9", "\xe3\x82\xaf\xe3\x83\xa9"},
		{"a\\:b\\=c\\#d", "a:b=c#d"},
		{"a\\tb\\u001b[2J", "a?b?[2J"},
		{"\\ud83d\\ude00", "??"},
		{"\xe9", "\xc3\xa9"},
		{"end ", "end "},
	};
	char line[1000] = DATANODE "clusterID=";
	struct data_version v;

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		strcpy(strchr(line, '\0') - (i ? strlen(ids[i - 1].written) : 0), ids[i].written);
		assert_int_equal(parse(line, &v), 0);
		assert_string_equal(v.cluster_id, ids[i].shown);
	}
	strcpy(line, DATANODE "clusterID=");
	memset(line + strlen(line), 'x', 500);
	assert_int_equal(parse(line, &v), 0);
	assert_int_equal(strlen(v.cluster_id), DATA_VERSION_MAX_VALUE - 1);
	assert_int_equal(parse(DATANODE, &v), 0);
	assert_string_equal(v.cluster_id, "");
}

static void layouts(void **state)
{
	static const char *const served[] = {"-57", "-58", "57", "", "-99999999999"};
	char text[200];

	(void)state;
	for (size_t i = 0; i < sizeof(served) / sizeof(served[0]); i++) {
		struct data_version v;

		snprintf(text, sizeof(text), DATANODE "layoutVersion=%s\n", served[i]);
		assert_int_equal(parse(text, &v), 0);
	}
	assert_refused("layoutVersion=-56\n" DATANODE, "layoutVersion is -56, older than -57");
	assert_refused("layoutVersion=-1\n" DATANODE, "layoutVersion is -1, older than -57");
}

static void refused(void **state)
{
	char line[400] = "storageType=DATA_NODE\nstorageID=";

	(void)state;
	assert_refused("storageType=DATA_NODE\n", "storageID is missing");
	assert_refused("storageType=DATA_NODE\nstorageID=\n", "storageID is missing or empty");
	assert_refused(DATANODE "storageID=a b\n", "storageID is 'a b': expected");
	assert_refused(DATANODE "storageID=DS-2 \n", "storageID is 'DS-2 ': expected");
	assert_refused(DATANODE "storageID=a\x1b[2J\n", "storageID is 'a?[2J'");
	assert_refused(DATANODE "storageID=a\\u0000\n", "storageID is 'a?'");
	assert_refused(DATANODE "clusterID=\\u12\n", "clusterID has \\u without four");
	memset(line + strlen(line), 'x', VREAD_MAX_STORAGE_ID + 1);
	assert_refused(line, "of at most 127 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_hdfs_writes_it),
		cmocka_unit_test(spaces_and_line_ends),
		cmocka_unit_test(namespaces),
		cmocka_unit_test(others_are_not_datanodes),
		cmocka_unit_test(as_properties),
		cmocka_unit_test(cluster_ids_that_hdfs_accepts),
		cmocka_unit_test(layouts),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
