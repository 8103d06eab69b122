// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests the parser of layouts: which layouts it accepts, and its error for each other layout. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "layout/layout.h"

#define UUID "\"7617e2d8-789d-440f-82cf-a3ceeed3fa97\""
#define DIR_HEAD "{\"path\":\"/dfs/data\",\"storage-id\":\"DS-1\",\"datanode-uuid\":\"dn\","
#define DIR                                                                \
	DIR_HEAD "\"cluster-id\":\"CID-1\",\"pools\":[\"BP-1\",\"BP-2\"]," \
		 "\"namespace-ids\":[7,0]}"
#define FS_HEAD "{\"image\":0,\"partition\":\"gpt:2\",\"offset\":1048576,\"length\":4194304,"
#define FS FS_HEAD "\"type\":\"ext4\",\"uuid\":" UUID ",\"data-dirs\":[" DIR "]}"
#define HEAD "{\"layout-version\":2,\"images\":[{\"size\":10485760}],\"filesystems\":["
#define GOOD HEAD FS "]}"

static void good_one(void **state)
{
	struct image_layout *l;
	char *error = NULL, name[LAYOUT_MAX_VOLUME_NAME];

	(void)state;
	assert_int_equal(layout_parse(GOOD, strlen(GOOD), "x.json", &l, &error), 0);
	assert_null(error);
	assert_int_equal(l->num_images, 1);
	assert_int_equal(l->image_sizes[0], 10485760);
	assert_int_equal(l->num_filesystems, 1);
	assert_int_equal(l->filesystems[0].table, LAYOUT_GPT);
	assert_string_equal(layout_volume_name(&l->filesystems[0], name), "gpt:2");
	assert_int_equal(l->filesystems[0].offset, 1048576);
	assert_string_equal(l->filesystems[0].type, "ext4");
	assert_string_equal(l->filesystems[0].data_dirs[0].path, "/dfs/data");
	assert_int_equal(l->filesystems[0].data_dirs[0].num_pools, 2);
	assert_string_equal(l->filesystems[0].data_dirs[0].pools[1], "BP-2");
	assert_int_equal(l->filesystems[0].data_dirs[0].namespaces[0], 7);
	layout_free(l);
}

/* A layout that was written is read back unchanged. */
static void round_trip(void **state)
{
	struct image_layout *l, *again;
	char *error = NULL, *text;
	json_t *json, *other;

	(void)state;
	assert_int_equal(layout_parse(GOOD, strlen(GOOD), "x.json", &l, &error), 0);
	json = layout_to_json(l);
	text = json_dumps(json, 0);
	assert_int_equal(layout_parse(text, strlen(text), "x.json", &again, &error), 0);
	other = layout_to_json(again);
	assert_true(json_equal(json, other));
	json_decref(json);
	json_decref(other);
	free(text);
	layout_free(l);
	layout_free(again);
}

#define LV(segments)                                                                 \
	"{\"layout-version\":2,\"images\":[{\"size\":10485760},{\"size\":4194304}]," \
	"\"filesystems\":[{\"volume\":\"vg-0/data.1\",\"segments\":[" segments       \
	"],\"type\":\"ext4\",\"uuid\":" UUID ",\"data-dirs\":[" DIR "]}]}"
#define LINEAR "{\"length\":4096,\"stripes\":[{\"image\":1,\"offset\":4190208}]}"
#define STRIPED(length, offset)                                                                   \
	"{\"length\":" length ",\"stripe-size\":65536,\"stripes\":[{\"image\":0,\"offset\":512}," \
	"{\"image\":1,\"offset\":" offset "}]}"
#define LOGICAL LV(LINEAR "," STRIPED("8388608", "0"))

static void logical_volume(void **state)
{
	struct image_layout *l, *other;
	char *error = NULL, buf[LAYOUT_MAX_PLACE];
	const struct layout_segment *s;
	json_t *json, *text = json_loads(LOGICAL, 0, NULL);

	(void)state;
	assert_int_equal(layout_parse(LOGICAL, strlen(LOGICAL), "x.json", &l, &error), 0);
	assert_int_equal(l->filesystems[0].table, LAYOUT_LVM);
	assert_string_equal(layout_volume_name(&l->filesystems[0], buf), "lvm:vg-0/data.1");
	assert_string_equal(layout_place(&l->filesystems[0], buf), "logical volume vg-0/data.1");
	assert_int_equal(l->filesystems[0].length, 4096 + 8388608);
	assert_int_equal(l->filesystems[0].image, 1);
	assert_int_equal(l->filesystems[0].num_segments, 2);
	s = &l->filesystems[0].segments[1];
	assert_int_equal(s->stripe_size, 65536);
	assert_int_equal(s->num_stripes, 2);
	assert_int_equal(s->stripes[0].offset, 512);
	json = layout_to_json(l);
	assert_true(json_equal(json, text));
	json_decref(json);
	json_decref(text);

	assert_int_equal(layout_parse(LOGICAL, strlen(LOGICAL), "x.json", &other, &error), 0);
	assert_true(layout_same_place(&l->filesystems[0], &other->filesystems[0]));
	other->filesystems[0].segments[1].stripes[1].offset += 512;
	assert_false(layout_same_place(&l->filesystems[0], &other->filesystems[0]));
	layout_free(other);
	layout_free(l);
}

static void refused(const char *text, const char *said)
{
	struct image_layout *l = NULL;
	char *error = NULL;
	int r = layout_parse(text, strlen(text), "x.json", &l, &error);

	assert_true(r < 0);
	assert_null(l);
	assert_non_null(error);
	if (strncmp(error, "layout x.json: ", 15) || !strstr(error, said))
		fail_msg("expected ...%s..., got: %s", said, error);
	free(error);
}

static void not_json(void **state)
{
	(void)state;
	refused("", "line 1");
	refused("{\"layout-version\":1,", "line 1, column 20");
	refused("[]", "expected an object");
	refused("7", "expected an object");
	refused("{\"layout-version\":1,\"layout-version\":1}", "duplicate");
}

static void wrong_root(void **state)
{
	(void)state;
	refused("{}", "layout-version is missing; expected 2");
	refused("{\"layout-version\":1}", "layout-version is 1; expected 2");
	refused("{\"layout-version\":\"2\"}", "layout-version is \"2\"; expected 2");
	refused("{\"layout-version\":2}", "images is missing; expected an array");
	refused("{\"layout-version\":2,\"images\":[7],\"filesystems\":[]}",
		"images[0] is 7; expected an object");
	refused("{\"layout-version\":2,\"images\":[{\"size\":-1}],\"filesystems\":[]}",
		"images[0].size is -1; expected a number of bytes");
	refused("{\"layout-version\":2,\"images\":[{\"size\":1.5}],\"filesystems\":[]}",
		"images[0].size is 1.5");
	refused("{\"layout-version\":2,\"images\":[{\"size\":1}],\"filesystems\":{}}",
		"filesystems is {}; expected an array of at most 64");
	refused("{\"layout-version\":2,\"images\":[{\"size\":1}],\"filesystems\":[],\"x\":0}",
		"x is 0; expected no key of this name");
}

static void wrong_filesystem(void **state)
{
#define PART(p, o, l)                                                          \
	HEAD "{\"image\":0,\"partition\":" p ",\"offset\":" o ",\"length\":" l \
	     ",\"type\":\"ext4\",\"uuid\":" UUID ",\"data-dirs\":[]}]}"
	(void)state;
	refused(HEAD "3]}", "filesystems[0] is 3; expected an object");
	refused(PART("\"gpt\"", "0", "1"),
		"filesystems[0].partition is \"gpt\"; expected \"gpt:N\"");
	refused(PART("\"gpt:0\"", "0", "1"), "filesystems[0].partition is \"gpt:0\"");
	refused(PART("\"gpt:2x\"", "0", "1"), "filesystems[0].partition is \"gpt:2x\"");
	refused(PART("\"gpt:99999\"", "0", "1"), "filesystems[0].partition");
	refused(PART("2", "0", "1"), "filesystems[0].partition is 2");
	refused(PART("\"mbr:1\"", "513", "1"),
		"filesystems[0].offset is 513; expected a multiple of 512");
	refused(PART("\"none\"", "512", "1"), "filesystems[0].offset is 512");
	refused(PART("\"mbr:1\"", "512", "0"), "filesystems[0].length is 0");
	refused(PART("\"mbr:1\"", "512", "10485760"), "inside the image of 10485760 bytes");
	refused(PART("\"mbr:1\"", "9223372036854775296", "9223372036854775296"),
		"inside the image of 10485760 bytes");
	refused(HEAD FS_HEAD "\"type\":\"ntfs\",\"uuid\":" UUID ",\"data-dirs\":[]}]}",
		"filesystems[0].type is \"ntfs\"; expected one of ext2");
	refused(HEAD "{\"image\":1,\"partition\":\"gpt:1\"}]}",
		"filesystems[0].image is 1; expected the index of an image");
	refused(HEAD FS_HEAD "\"type\":\"ext4\",\"uuid\":\"no\",\"data-dirs\":[]}]}",
		"filesystems[0].uuid is \"no\"; expected the file system's UUID");
	refused(HEAD FS_HEAD "\"type\":\"ext4\",\"uuid\":" UUID "}]}",
		"filesystems[0].data-dirs is missing");
}

static void wrong_logical_volume(void **state)
{
#define NAMED(name) HEAD "{\"volume\":" name ",\"segments\":[" LINEAR "]}]}"
	(void)state;
	refused(NAMED("7"), "filesystems[0].volume is 7; expected a logical volume's name");
	refused(NAMED("\"vg\""), "filesystems[0].volume is \"vg\"");
	refused(NAMED("\"vg/\""), "filesystems[0].volume is \"vg/\"");
	refused(NAMED("\"vg/a/b\""), "filesystems[0].volume is \"vg/a/b\"");
	refused(HEAD "{\"volume\":\"vg/a\",\"partition\":\"none\"}]}",
		"filesystems[0].partition is \"none\"; expected no key of this name");
	refused(HEAD "{\"volume\":\"vg/a\"}]}", "filesystems[0].segments is missing");
	refused(LV(""), "filesystems[0].segments is []; expected at least one");
	refused(LV("1"), "filesystems[0].segments[0] is 1; expected an object");
	refused(LV(LINEAR ",{\"length\":1}"), "filesystems[0].segments[1].stripes is missing");
	refused(LV("{\"length\":512,\"stripes\":[]}"), "stripes is []; expected at least one");
	refused(LV("{\"length\":512,\"stripes\":[2]}"), "segments[0].stripes[0] is 2");
	refused(LV("{\"length\":0,\"stripes\":[{\"image\":0,\"offset\":0}]}"),
		"segments[0].length is 0; expected a multiple of stripe-size times");
	refused(LV("{\"length\":512,\"stripes\":[{\"image\":2,\"offset\":0}]}"),
		"segments[0].stripes[0].image is 2; expected the index of an image");
	refused(LV("{\"length\":512,\"stripes\":[{\"image\":0,\"offset\":1}]}"),
		"segments[0].stripes[0].offset is 1");
	refused(LV("{\"length\":512,\"stripes\":[{\"image\":0,\"offset\":0},{}]}"),
		"segments[0].stripe-size is missing");
	refused(LV(STRIPED("8388608", "512")),
		"stripes[1].offset is 512; expected a stripe inside");
	refused(LV(STRIPED("8388609", "0")),
		"length is 8388609; expected a multiple of stripe-size times");
	refused(LV(STRIPED("196608", "0")),
		"length is 196608; expected a multiple of stripe-size times");
}

static void wrong_data_dir(void **state)
{
#define IN_DIR(path, storage, pools)                                                              \
	HEAD FS_HEAD "\"type\":\"ext4\",\"uuid\":" UUID ",\"data-dirs\":[" DIR ",{\"path\":" path \
		     ",\"storage-id\":" storage ",\"datanode-uuid\":\"d\",\"cluster-id\":\"c\","  \
		     "\"pools\":" pools "}]}]}"
	(void)state;
	refused(IN_DIR("\"dfs\"", "\"DS\"", "[]"),
		"filesystems[0].data-dirs[1].path is \"dfs\"; expected an absolute path");
	refused(IN_DIR("\"/a/../b\"", "\"DS\"", "[]"), "data-dirs[1].path is \"/a/../b\"");
	refused(IN_DIR("\"/a/..\"", "\"DS\"", "[]"), "data-dirs[1].path is \"/a/..\"");
	refused(IN_DIR("\"/a\\nb\"", "\"DS\"", "[]"), "data-dirs[1].path");
	refused(IN_DIR("\"/a\"", "\"\"", "[]"), "data-dirs[1].storage-id is \"\"");
	refused(IN_DIR("\"/a\"", "\"D S\"", "[]"), "data-dirs[1].storage-id is \"D S\"");
	refused(IN_DIR("\"/a\"", "null", "[]"), "data-dirs[1].storage-id is null");
	refused(IN_DIR("\"/a\"", "\"DS\"", "[\"BP-1\",\"../x\"]"),
		"data-dirs[1].pools[1] is \"../x\"");
	refused(IN_DIR("\"/a\"", "\"DS\"", "[\"..\"]"), "data-dirs[1].pools[0] is \"..\"");
	refused(IN_DIR("\"/a\"", "\"DS\"", "[1]"), "data-dirs[1].pools[0] is 1");
	refused(IN_DIR("\"/a\"", "\"DS\"", "[\"BP-1\"],\"namespace-ids\":[]"),
		"data-dirs[1].namespace-ids is []; expected a number from 0 to 2147483647 for "
		"each");
	refused(IN_DIR("\"/a\"", "\"DS\"", "[\"BP-1\"],\"namespace-ids\":[2147483648]"),
		"data-dirs[1].namespace-ids is");
	refused(IN_DIR("\"/a\"", "\"DS\"", "[\"BP-1\"],\"namespace-ids\":[\"1\"]"),
		"data-dirs[1].namespace-ids is");
}

static void too_many(void **state)
{
	char *text = malloc(100000), *p;

	(void)state;
	p = text + sprintf(text, HEAD FS_HEAD "\"type\":\"ext4\",\"uuid\":" UUID
					      ",\"data-dirs\":[" DIR_HEAD
					      "\"cluster-id\":\"c\",\"pools\":[");
	for (unsigned i = 0; i <= LAYOUT_MAX_POOLS; i++)
		p += sprintf(p, "%s\"BP-%u\"", i ? "," : "", i);
	strcpy(p, "]}]}]}");
	refused(text, "expected an array of at most 64");
	free(text);
}

static void files(void **state)
{
	struct image_layout *l = NULL;
	char *error = NULL;

	(void)state;
	assert_int_equal(layout_load("/nonexistent/l.json", &l, &error), -ENOENT);
	assert_non_null(strstr(error, "vread-provision --output /nonexistent/l.json IMAGE"));
	assert_true(layout_load("/", &l, &error) < 0);
	assert_non_null(strstr(error, "layout /: Is a directory"));
	free(error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_one),         cmocka_unit_test(round_trip),
		cmocka_unit_test(not_json),         cmocka_unit_test(wrong_root),
		cmocka_unit_test(wrong_filesystem), cmocka_unit_test(wrong_data_dir),
		cmocka_unit_test(too_many),         cmocka_unit_test(files),
		cmocka_unit_test(logical_volume),   cmocka_unit_test(wrong_logical_volume),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
