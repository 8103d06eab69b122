/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests allow-lists: what they allow, and which texts are no valid lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/policy.h"

static struct policy *make(const char *datanodes, const char *pools)
{
	const char *error = NULL;
	struct policy *p = policy_new(POLICY_CLIENT, datanodes, pools, &error);

	assert_non_null(p);
	return p;
}

static void test_nothing_is_allowed_by_default(void **state)
{
	struct policy *p = make(NULL, "");

	(void)state;
	assert_false(policy_allows_datanode(p, "dn1"));
	assert_false(policy_allows_datanode(p, ""));
	assert_false(policy_allows_pool(p, "BP-1"));
	policy_free(p);
}

static void test_names_match_whole(void **state)
{
	struct policy *p = make("dn1 dn22 x", "BP-1");

	(void)state;
	assert_true(policy_allows_datanode(p, "dn1"));
	assert_true(policy_allows_datanode(p, "dn22"));
	assert_true(policy_allows_datanode(p, "x"));
	assert_false(policy_allows_datanode(p, "dn2"));
	assert_false(policy_allows_datanode(p, "dn"));
	assert_false(policy_allows_datanode(p, "dn1 dn22"));
	assert_false(policy_allows_datanode(p, "*"));
	assert_false(policy_allows_datanode(p, ""));
	assert_true(policy_allows_pool(p, "BP-1"));
	assert_false(policy_allows_pool(p, "BP-11"));
	policy_free(p);
}

static void test_star_allows_all_of_its_kind(void **state)
{
	struct policy *p = make("*", NULL);

	(void)state;
	assert_true(policy_allows_datanode(p, "anything"));
	assert_false(policy_allows_pool(p, "BP-1"));
	policy_free(p);
}

static void test_role(void **state)
{
	const char *error;
	struct policy *p = policy_new(POLICY_DATANODE, NULL, NULL, &error);

	(void)state;
	assert_int_equal(policy_role(p), POLICY_DATANODE);
	policy_free(p);
}

/* Reading a datanode's blocks is no right to publish for it, whatever the role is. */
static void test_a_datanode_publishes_for_what_is_named(void **state)
{
	const char *error;
	struct policy *p = policy_new(POLICY_DATANODE, "dn1 dn2", "*", &error);

	(void)state;
	assert_true(policy_is_publisher(p));
	assert_false(policy_may_publish(p, "dn1"));
	assert_null(policy_set_publish(p, "dn2"));
	assert_true(policy_may_publish(p, "dn2"));
	assert_false(policy_may_publish(p, "dn1"));
	policy_free(p);
}

static void test_a_client_publishes_only_if_told(void **state)
{
	struct policy *p = make("*", "*");

	(void)state;
	assert_false(policy_is_publisher(p));
	assert_false(policy_may_publish(p, "dn1"));
	assert_null(policy_set_publish(p, ""));
	assert_false(policy_is_publisher(p));
	assert_null(policy_set_publish(p, "dn1"));
	assert_true(policy_is_publisher(p));
	assert_true(policy_may_publish(p, "dn1"));
	assert_false(policy_may_publish(p, "dn2"));
	assert_non_null(policy_set_publish(p, "dn1  dn2"));
	assert_false(policy_may_publish(p, "dn2"));
	assert_true(policy_may_publish(p, "dn1"));
	policy_free(p);
}

static void test_unnamed_blocks_are_of_what_is_named(void **state)
{
	struct policy *p = make("*", "*");

	(void)state;
	assert_false(policy_takes_any_unnamed(p));
	assert_false(policy_takes_unnamed(p, "dn1"));
	assert_null(policy_set_unnamed(p, "dn1 dn2"));
	assert_true(policy_takes_any_unnamed(p));
	assert_true(policy_takes_unnamed(p, "dn2"));
	assert_false(policy_takes_unnamed(p, "dn3"));
	assert_non_null(policy_set_unnamed(p, "dn1  dn3"));
	assert_true(policy_takes_unnamed(p, "dn2"));
	policy_free(p);
}

static void test_malformed_lists(void **state)
{
	static const char *const bad[] = {" ",     " dn1",  "dn1 ",    "dn1  dn2", "* dn1",
					  "dn1 *", "dn*",   "**",      "dn/1",     "dn1\tdn2",
					  "dn1\n", "d\x7f", "\xc3\xa9"};
	char *name = malloc(257), *list = malloc(65538);
	const char *error;

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		error = NULL;
		assert_null(policy_new(POLICY_CLIENT, bad[i], "*", &error));
		assert_non_null(error);
		error = NULL;
		assert_null(policy_new(POLICY_CLIENT, "*", bad[i], &error));
		assert_non_null(error);
	}
	memset(name, 'n', 256);
	name[256] = '\0';
	assert_null(policy_new(POLICY_CLIENT, name, NULL, &error));
	name[255] = '\0';
	policy_free(make(name, NULL));
	for (unsigned i = 0; i < 65537; i++)
		list[i] = i % 2 ? ' ' : 'a';
	list[65537] = '\0';
	assert_null(policy_new(POLICY_CLIENT, list, NULL, &error));
	list[65535] = '\0';
	policy_free(make(list, NULL));
	free(name);
	free(list);
}

static void test_replaced_as_a_whole(void **state)
{
	struct policy *p = make("dn1", "BP-1"), *other = make("dn2", "*");

	(void)state;
	assert_null(policy_set_publish(other, "dn3"));
	policy_replace(p, other);
	assert_false(policy_allows_datanode(p, "dn1"));
	assert_true(policy_allows_datanode(p, "dn2"));
	assert_true(policy_allows_pool(p, "BP-2"));
	assert_true(policy_is_publisher(p));
	assert_true(policy_may_publish(p, "dn3"));
	policy_free(p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_allowed_by_default),
		cmocka_unit_test(test_names_match_whole),
		cmocka_unit_test(test_star_allows_all_of_its_kind),
		cmocka_unit_test(test_role),
		cmocka_unit_test(test_a_datanode_publishes_for_what_is_named),
		cmocka_unit_test(test_a_client_publishes_only_if_told),
		cmocka_unit_test(test_replaced_as_a_whole),
		cmocka_unit_test(test_unnamed_blocks_are_of_what_is_named),
		cmocka_unit_test(test_malformed_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
