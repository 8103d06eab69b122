/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The xenstore validator against a made-up tree: a good device has no problem,
 * and each single mistake is reported at the node that has it, in words.
 * Also the sizes of what crosses the ring, which compilers must agree on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check.h"
#include "vread-ring-user.h"

_Static_assert(sizeof(struct vread_request) == 64, "request");
_Static_assert(sizeof(struct vread_response) == 32, "response");
_Static_assert(sizeof(union vread_sring_entry) == 64, "ring entry");
_Static_assert(sizeof(struct vread_pool_directory) == VREAD_PAGE_SIZE, "directory");
_Static_assert(sizeof(struct vread_open_data) == 8, "open data");
_Static_assert(offsetof(struct vread_sring, pvt) == VREAD_RING_ALIVE_OFFSET, "alive byte");

#define BACK "/local/domain/0/backend/vread/7/0"
#define FRONT "/local/domain/7/device/vread/0"
#define MAX_NODES 64

struct node {
	char path[128];
	char value[128];
	bool guest_writable;
};

struct tree {
	struct node nodes[MAX_NODES];
	unsigned count;
	char problems[4096];
};

static struct node *find(struct tree *t, const char *path)
{
	for (unsigned i = 0; i < t->count; i++)
		if (!strcmp(t->nodes[i].path, path))
			return &t->nodes[i];
	return NULL;
}

static void put(struct tree *t, const char *path, const char *value)
{
	struct node *n = find(t, path);

	if (!n) {
		assert_true(t->count < MAX_NODES);
		n = &t->nodes[t->count++];
		snprintf(n->path, sizeof(n->path), "%s", path);
	}
	snprintf(n->value, sizeof(n->value), "%s", value);
}

static void drop(struct tree *t, const char *path)
{
	struct node *n = find(t, path);

	assert_non_null(n);
	*n = t->nodes[--t->count];
}

static char *tree_read(void *ctx, const char *path)
{
	struct node *n = find(ctx, path);

	return n ? strdup(n->value) : NULL;
}

/* Direct children, each once, in one allocation as the header asks. */
static char **tree_list(void *ctx, const char *path, unsigned *ret_count)
{
	struct tree *t = ctx;
	size_t length = strlen(path);
	char **names = calloc(1, MAX_NODES * (sizeof(char *) + 64));
	char *text = (char *)(names + MAX_NODES);

	assert_non_null(names);
	*ret_count = 0;
	for (unsigned i = 0; i < t->count; i++) {
		const char *name = t->nodes[i].path + length + 1;
		size_t size = strcspn(name, "/");
		bool seen = strncmp(t->nodes[i].path, path, length) != 0 ||
			    t->nodes[i].path[length] != '/';

		for (unsigned k = 0; !seen && k < *ret_count; k++)
			seen = strlen(names[k]) == size && !strncmp(names[k], name, size);
		if (seen)
			continue;
		snprintf(text, 64, "%.*s", (int)size, name);
		names[(*ret_count)++] = text;
		text += 64;
	}
	return names;
}

static int tree_writable_by(void *ctx, const char *path, unsigned domid)
{
	struct node *n = find(ctx, path);

	assert_int_equal(domid, 7);
	return n && n->guest_writable;
}

static void tree_problem(void *ctx, const char *path, const char *text)
{
	struct tree *t = ctx;
	size_t length = strlen(t->problems);

	snprintf(t->problems + length, sizeof(t->problems) - length, "%s: %s\n", path, text);
}

static unsigned check(struct tree *t)
{
	struct vread_schema_tree callbacks = {
		.read = tree_read,
		.list = tree_list,
		.writable_by = tree_writable_by,
		.problem = tree_problem,
		.ctx = t,
	};

	t->problems[0] = '\0';
	return vread_schema_check(&callbacks, BACK);
}

static void connected_device(struct tree *t)
{
	static const char *const nodes[][2] = {
		{BACK "/frontend", FRONT},
		{BACK "/frontend-id", "7"},
		{BACK "/online", "1"},
		{BACK "/state", "4"},
		{BACK "/allow-datanodes", "dn1 dn2"},
		{BACK "/versions", "1"},
		{BACK "/max-queues", "4"},
		{BACK "/max-ring-page-order", "2"},
		{BACK "/max-pool-pages", "8192"},
		{FRONT "/backend", BACK},
		{FRONT "/backend-id", "0"},
		{FRONT "/state", "4"},
		{FRONT "/version", "1"},
		{FRONT "/role", "client"},
		{FRONT "/num-queues", "2"},
		{FRONT "/ring-page-order", "1"},
		{FRONT "/queue-0/ring-ref0", "9"},
		{FRONT "/queue-0/ring-ref1", "10"},
		{FRONT "/queue-0/event-channel", "15"},
		{FRONT "/queue-1/ring-ref0", "11"},
		{FRONT "/queue-1/ring-ref1", "12"},
		{FRONT "/queue-1/event-channel", "16"},
		{FRONT "/pool-pages", "4096"},
		{FRONT "/pool-directory", "13"},
	};

	memset(t, 0, sizeof(*t));
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		put(t, nodes[i][0], nodes[i][1]);
}

static void good_trees_have_no_problem(void **state)
{
	struct tree t;

	(void)state;
	connected_device(&t);
	assert_int_equal(check(&t), 0);

	/* A device just created has no nodes of either end yet. */
	memset(&t, 0, sizeof(t));
	put(&t, BACK "/frontend", FRONT);
	put(&t, BACK "/frontend-id", "7");
	put(&t, BACK "/online", "1");
	put(&t, BACK "/state", "1");
	put(&t, FRONT "/backend", BACK);
	put(&t, FRONT "/backend-id", "0");
	put(&t, FRONT "/state", "1");
	assert_int_equal(check(&t), 0);
}

static void every_mistake_is_named(void **state)
{
	static const struct {
		const char *path, *value, *expected;
	} mistakes[] = {
		{BACK "/max-queues", "1",
		 FRONT "/num-queues: 2 is above the backend's max-queues, 1\n"},
		{FRONT "/num-queues", "0",
		 FRONT "/num-queues: \"0\" is not a number from 1 to 8\n"},
		{FRONT "/num-queues", "02",
		 FRONT "/num-queues: \"02\" is not a number from 1 to 8\n"},
		{FRONT "/pool-pages", "-1",
		 FRONT "/pool-pages: \"-1\" is not a number from 16 to 32768\n"},
		{FRONT "/pool-pages", "4294967297",
		 FRONT "/pool-pages: \"4294967297\" is not a number from 16 to 32768\n"},
		{FRONT "/pool-pages", "8193",
		 FRONT "/pool-pages: 8193 is above the backend's max-pool-pages, 8192\n"},
		{FRONT "/role", "datanode",
		 FRONT "/role: \"datanode\" differs from the backend's role, \"client\"\n"},
		{FRONT "/role", "root",
		 FRONT "/role: \"root\" is neither \"client\" nor \"datanode\"\n"},
		{BACK "/versions", "2,3",
		 FRONT "/version: \"1\" is not among the backend's versions, \"2,3\"\n"},
		{BACK "/state", "9", BACK "/state: \"9\" is not a xenbus state from 1 to 8\n"},
		{BACK "/allow-datanodes", "dn1  dn2",
		 BACK
		 "/allow-datanodes: \"dn1  dn2\" is not a list of names separated by one space\n"},
		{FRONT "/backend", "/local/domain/0/backend/vread/8/0",
		 FRONT ": names \"/local/domain/0/backend/vread/8/0\" as its backend, not \"" BACK
		       "\"\n"},
		{FRONT "/queue-1/ring-ref1", NULL,
		 FRONT "/queue-1/ring-ref1: is missing in state 4\n"},
		{FRONT "/pool-directory", NULL, FRONT "/pool-directory: is missing in state 4\n"},
		{BACK "/online", NULL, BACK "/online: is missing in state 4\n"},
		{BACK "/colour", "red", BACK "/colour: is not a node of protocol version 1\n"},
		{FRONT "/queue-1/weight", "1",
		 FRONT "/queue-1/weight: is not a node of protocol version 1\n"},
		{FRONT "/queue-16/ring-ref0", "1",
		 FRONT "/queue-16: is not a node of protocol version 1\n"},
	};
	struct tree t;

	(void)state;
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		connected_device(&t);
		if (mistakes[i].value)
			put(&t, mistakes[i].path, mistakes[i].value);
		else
			drop(&t, mistakes[i].path);
		if (check(&t) != 1)
			fail_msg("%s=%s: %s", mistakes[i].path,
				 mistakes[i].value ? mistakes[i].value : "-", t.problems);
		assert_string_equal(t.problems, mistakes[i].expected);
	}
}

static void a_guest_that_can_write_policy_is_reported(void **state)
{
	struct tree t;

	(void)state;
	connected_device(&t);
	find(&t, BACK "/allow-datanodes")->guest_writable = true;
	assert_int_equal(check(&t), 1);
	assert_string_equal(t.problems, BACK "/allow-datanodes: can be written by domain 7, "
					     "whose device it governs\n");
}

static void something_else_is_not_taken_for_a_device(void **state)
{
	struct tree t = {.count = 0};

	(void)state;
	assert_int_equal(check(&t), 1);
	assert_string_equal(t.problems,
			    BACK ": names no frontend directory; is this a vread device?\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_trees_have_no_problem),
		cmocka_unit_test(every_mistake_is_named),
		cmocka_unit_test(a_guest_that_can_write_policy_is_reported),
		cmocka_unit_test(something_else_is_not_taken_for_a_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
