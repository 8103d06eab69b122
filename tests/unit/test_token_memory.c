/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests the memory of block tokens on disk (policy/token_memory.h), and what a datanode's tokens
 * make of it at the next start (policy/tokens.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "own_agent.h"
#include "own_clock.h"
#include "policy/token_memory.h"
#include "whole_file.h"

#define POOL "BP-1"
#define SECRET "sEcReT-of-BLOCKS"

static char base[] = "/tmp/vread-tokens-XXXXXX";
static char folder[64], file[96];

static void empty_folder(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/dn1.json.new", folder);
	unlink(path);
	unlink(file);
	rmdir(file);
	chmod(folder, 0700);
	rmdir(folder);
	unlink(folder);
}

static int make_folder(void **state)
{
	if (own_agent_start(state) < 0 || !mkdtemp(base))
		return -1;
	snprintf(folder, sizeof(folder), "%s/tokens", base);
	snprintf(file, sizeof(file), "%s/dn1.json", folder);
	return 0;
}

static int remove_folder(void **state)
{
	own_agent_end(state);
	empty_folder();
	return rmdir(base);
}

static int begin(void **state)
{
	(void)state;
	empty_folder();
	return 0;
}

static void put(const char *bytes, size_t length)
{
	mkdir(folder, 0700);
	whole_file_write(file, bytes, length);
}

static bool is_there(void)
{
	return access(file, F_OK) == 0;
}

static bool is_required(struct tokens *t)
{
	struct token_grant grant;

	return tokens_check(t, POOL, 1, NULL, 0, &grant) == -EPERM;
}

static struct token_keys a_key(void)
{
	struct token_keys keys = {.count = 1};

	keys.key[0] =
		(struct token_key){1, VREAD_KEY_HMAC_SHA1, sizeof(SECRET) - 1, INT64_MAX, {0}, 0};
	memcpy(keys.key[0].bytes, SECRET, sizeof(SECRET) - 1);
	return keys;
}

/* As a vreadd that starts, and ends. */
static bool required_after_a_start(void)
{
	struct tokens *t = tokens_new("dn1", folder);
	bool is = is_required(t);

	tokens_put(t);
	return is;
}

/* ---- the file ----------------------------------------------------------------------------- */

static void written_and_read(void **state)
{
	char *error = NULL;
	int64_t since = 0;
	struct stat st;

	(void)state;
	assert_int_equal(token_memory_read(folder, "dn1", &since, &error), 0);
	assert_int_equal(token_memory_write(folder, "dn1", 1700000000000, &error), 0);
	assert_int_equal(token_memory_read(folder, "dn1", &since, &error), 1);
	assert_int_equal(since, 1700000000000);
	assert_int_equal(token_memory_read(folder, "dn2", &since, &error), 0);
	assert_int_equal(token_memory_write(folder, "dn1", 5, &error), 0);
	assert_int_equal(token_memory_read(folder, "dn1", &since, &error), 1);
	assert_int_equal(since, 5);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(token_memory_remove(folder, "dn1", &error), 0);
	assert_int_equal(token_memory_remove(folder, "dn1", &error), 0);
	assert_int_equal(token_memory_read(folder, "dn1", &since, &error), 0);
	assert_null(error);
}

#define GOOD "{\"datanode\": \"dn1\", \"tokens\": \"on\", \"since\": 5}"

static const struct {
	const char *bytes;
	size_t length;
} damaged[] = {
#define BYTES(text)                    \
	{                              \
		text, sizeof(text) - 1 \
	}
	BYTES(""),
	BYTES("\0\0\0\0\0\0\0\0"),
	BYTES("{\"datanode\": \"dn1\", \"tokens\": \"on\", \"since\": "),
	BYTES(GOOD GOOD),
	BYTES(GOOD "\0"),
	BYTES("[" GOOD "]"),
	BYTES("null"),
	BYTES("{}"),
	BYTES("{\"datanode\": \"dn2\", \"tokens\": \"on\", \"since\": 5}"),
	BYTES("{\"datanode\": \"dn1\", \"tokens\": \"off\", \"since\": 5}"),
	BYTES("{\"datanode\": \"dn1\", \"tokens\": true, \"since\": 5}"),
	BYTES("{\"datanode\": \"dn1\", \"tokens\": \"on\", \"since\": -1}"),
	BYTES("{\"datanode\": \"dn1\", \"tokens\": \"on\", \"since\": 5.0}"),
	BYTES("{\"datanode\": \"dn1\", \"tokens\": \"on\"}"),
	BYTES("{\"datanode\": \"dn1\", \"tokens\": \"on\", \"since\": 5, \"more\": 1}"),
	BYTES("{\"datanode\": \"dn1\", \"tokens\": \"on\", \"tokens\": \"on\", \"since\": 5}"),
};

static void check_damaged(void)
{
	char *error = NULL, expected[256];
	int64_t since = 0;

	snprintf(expected, sizeof(expected),
		 "%s: damaged: expected a file of vreadd that says that datanode dn1 uses block "
		 "tokens",
		 file);
	assert_int_equal(token_memory_read(folder, "dn1", &since, &error), -EINVAL);
	assert_string_equal(error, expected);
	free(error);
	assert_true(required_after_a_start());
}

static void damaged_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		put(damaged[i].bytes, damaged[i].length);
		check_damaged();
	}
}

static void a_file_without_end(void **state)
{
	char bytes[4096];

	(void)state;
	memset(bytes, ' ', sizeof(bytes));
	memcpy(bytes, GOOD, sizeof(GOOD) - 1);
	put(bytes, 512);
	assert_true(required_after_a_start());
	put(bytes, 513);
	check_damaged();
	put(bytes, sizeof(bytes));
	check_damaged();
}

/* What is no file, or cannot be read, is no permission to open blocks. */
static void no_file(void **state)
{
	char *error = NULL, text[256];
	int64_t since;

	(void)state;
	mkdir(folder, 0700);
	mkfifo(file, 0600);
	check_damaged();
	unlink(file);
	mkdir(file, 0700);
	check_damaged();
	rmdir(file);
	assert_int_equal(symlink("/dev/zero", file), 0);
	assert_int_equal(token_memory_read(folder, "dn1", &since, &error), -ELOOP);
	snprintf(text, sizeof(text), "%s: cannot read: %s", file, strerror(ELOOP));
	assert_string_equal(error, text);
	free(error);
	assert_true(required_after_a_start());
	empty_folder();
	close(open(folder, O_WRONLY | O_CREAT, 0600));
	assert_true(required_after_a_start());
}

/* ---- a datanode's tokens -------------------------------------------------------------------- */

static void a_start_remembers(void **state)
{
	struct token_keys keys = a_key();
	struct tokens *t = tokens_new("dn1", folder);
	char bytes[1024];

	(void)state;
	assert_false(is_required(t));
	assert_false(is_there());
	assert_int_equal(own_agent_take(t, POOL, true, &keys), 0);
	tokens_put(t);
	whole_file_read(file, bytes, sizeof(bytes));
	assert_null(strstr(bytes, "sEcReT"));
	assert_true(required_after_a_start());
	t = tokens_new("dn2", folder);
	assert_false(is_required(t));
	tokens_put(t);
}

/* The word without keys is enough. */
static void on_without_keys(void **state)
{
	struct token_keys none = {0};
	struct tokens *t = tokens_new("dn1", folder);

	(void)state;
	assert_int_equal(own_agent_take(t, POOL, false, &none), 0);
	assert_false(is_there());
	assert_int_equal(own_agent_take(t, POOL, true, &none), 0);
	tokens_put(t);
	assert_true(required_after_a_start());
	t = tokens_new("dn1", folder);
	assert_int_equal(own_agent_take(t, POOL, false, &none), -EPERM);
	tokens_put(t);
	assert_true(required_after_a_start());
}

static void expired_keys(void **state)
{
	struct token_keys keys = a_key();
	struct tokens *t = tokens_new("dn1", folder);
	json_t *o, *pool;

	(void)state;
	keys.key[0].expiry = (int64_t)clock_wall_ms() + 1000;
	assert_int_equal(own_agent_take(t, POOL, true, &keys), 0);
	own_clock_advance(2000);
	assert_true(is_required(t));
	o = tokens_status(t);
	pool = json_array_get(json_object_get(o, "pools"), 0);
	assert_int_equal(json_integer_value(json_object_get(pool, "expiry")), keys.key[0].expiry);
	assert_null(json_object_get(pool, "until"));
	json_decref(o);
	tokens_put(t);
	assert_true(required_after_a_start());
}

static void the_operator_forgets(void **state)
{
	struct token_keys keys = a_key();
	struct tokens *t = tokens_new("dn1", folder);

	(void)state;
	assert_int_equal(own_agent_take(t, POOL, true, &keys), 0);
	assert_true(is_there());
	tokens_set_mode(t, TOKENS_REQUIRED);
	assert_true(is_there());
	tokens_set_mode(t, TOKENS_OFF);
	assert_false(is_there());
	assert_int_equal(own_agent_take(t, POOL, true, &keys), 0);
	assert_false(is_there());
	tokens_set_mode(t, TOKENS_AUTO);
	assert_true(is_there());
	assert_true(is_required(t));
	tokens_set_mode(t, TOKENS_OFF);
	tokens_put(t);
	assert_false(required_after_a_start());
}

/* A damaged file is written anew by the next word of the datanode, and removed by the operator. */
static void a_damaged_file_heals(void **state)
{
	struct token_keys keys = a_key();
	struct tokens *t;
	json_t *o;

	(void)state;
	put("", 0);
	t = tokens_new("dn1", folder);
	o = tokens_status(t);
	assert_non_null(strstr(json_string_value(json_object_get(o, "problem")), "damaged"));
	assert_true(json_is_true(json_object_get(o, "required")));
	json_decref(o);
	assert_int_equal(own_agent_take(t, POOL, false, &keys), -EPERM);
	assert_int_equal(own_agent_take(t, POOL, true, &keys), 0);
	o = tokens_status(t);
	assert_null(json_object_get(o, "problem"));
	json_decref(o);
	tokens_put(t);
	assert_true(required_after_a_start());
	put("", 0);
	t = tokens_new("dn1", folder);
	tokens_set_mode(t, TOKENS_OFF);
	assert_false(is_there());
	tokens_put(t);
}

/* A file that cannot be written is told, tried again, and changes nothing about tokens. */
static void no_place_to_write(void **state)
{
	struct token_keys keys = a_key();
	struct tokens *t;
	json_t *o;

	(void)state;
	t = tokens_new("dn1", folder);
	close(open(folder, O_WRONLY | O_CREAT, 0600)); /* no folder */
	assert_int_equal(own_agent_take(t, POOL, true, &keys), 0);
	assert_true(is_required(t));
	o = tokens_status(t);
	assert_non_null(strstr(json_string_value(json_object_get(o, "problem")), "cannot write"));
	json_decref(o);
	unlink(folder);
	assert_int_equal(own_agent_take(t, POOL, true, &keys), 0);
	o = tokens_status(t);
	assert_null(json_object_get(o, "problem"));
	json_decref(o);
	tokens_put(t);
	assert_true(required_after_a_start());
}

/* What an interrupted writer left is no memory, and does no harm. */
static void half_written(void **state)
{
	struct token_keys keys = a_key();
	struct tokens *t;
	char path[96];

	(void)state;
	mkdir(folder, 0700);
	snprintf(path, sizeof(path), "%s/dn1.json.new", folder);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	assert_false(required_after_a_start());
	t = tokens_new("dn1", folder);
	assert_int_equal(own_agent_take(t, POOL, true, &keys), 0);
	tokens_put(t);
	assert_true(required_after_a_start());
	assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(written_and_read, begin),
		cmocka_unit_test_setup(damaged_files, begin),
		cmocka_unit_test_setup(a_file_without_end, begin),
		cmocka_unit_test_setup(no_file, begin),
		cmocka_unit_test_setup(a_start_remembers, begin),
		cmocka_unit_test_setup(on_without_keys, begin),
		cmocka_unit_test_setup(expired_keys, begin),
		cmocka_unit_test_setup(the_operator_forgets, begin),
		cmocka_unit_test_setup(a_damaged_file_heals, begin),
		cmocka_unit_test_setup(no_place_to_write, begin),
		cmocka_unit_test_setup(half_written, begin),
	};

	own_clock_start();
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
