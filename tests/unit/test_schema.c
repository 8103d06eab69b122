/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests the validator of xenstore nodes on a made-up tree: a good device has no problem, and each
 * single mistake is reported at its node, in words.  Also checks the sizes of all structures on the
 * ring, on which compilers must agree.
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
_Static_assert(sizeof(struct vread_key) == 16, "key");
_Static_assert(offsetof(struct vread_sring, pvt) == VREAD_RING_ALIVE_OFFSET, "alive byte");

#define BACK "/local/domain/0/backend/vread/7/0"
#define FRONT "/local/domain/7/device/vread/0"
#define KEYS BACK "/datanode"
#define MAX_NODES 64

struct node {
	char path[128];
	char value[128];
	const char *permissions; /* "n0 r7"; NULL: the usual ones at this path */
};

struct tree {
	struct node nodes[MAX_NODES];
	unsigned count;
	char problems[4096];
	char remedy[1024]; /* of the last problem */
	bool passing;
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

/* As in xenstore, a directory exists if a node is below it. */
static bool is_directory(struct tree *t, const char *path)
{
	size_t length = strlen(path);

	for (unsigned i = 0; i < t->count; i++)
		if (!strncmp(t->nodes[i].path, path, length) && t->nodes[i].path[length] == '/')
			return true;
	return false;
}

static char *tree_read(void *ctx, const char *path)
{
	struct node *n = find(ctx, path);

	return n ? strdup(n->value) : is_directory(ctx, path) ? strdup("") : NULL;
}

/* Lists direct children, each once, in one allocation, as check.h asks. */
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

static const char *usual_permissions(const char *path)
{
	if (!strncmp(path, KEYS, strlen(KEYS)))
		return "n0";
	if (!strncmp(path, BACK, strlen(BACK)))
		return "n0 r7";
	return strncmp(path, FRONT, strlen(FRONT)) ? "n0" : "n7 r0";
}

static struct vread_permission *tree_permissions(void *ctx, const char *path, unsigned *ret_count)
{
	struct node *n = find(ctx, path);
	const char *text = n && n->permissions ? n->permissions : usual_permissions(path);
	struct vread_permission *p = calloc(4, sizeof(*p));

	assert_non_null(p);
	for (*ret_count = 0; text; text = strchr(text, ' ')) {
		text += *text == ' ';
		p[(*ret_count)++] =
			(struct vread_permission){.domid = (unsigned)atoi(text + 1),
						  .read = *text == 'r' || *text == 'b',
						  .write = *text == 'w' || *text == 'b'};
	}
	return p;
}

static void tree_problem(void *ctx, const struct vread_problem *p)
{
	struct tree *t = ctx;
	size_t length = strlen(t->problems);

	snprintf(t->problems + length, sizeof(t->problems) - length, "%s: %s; %s\n", p->path,
		 p->found, p->expected);
	snprintf(t->remedy, sizeof(t->remedy), "%s", p->remedy);
	t->passing = p->passing;
}

static unsigned check(struct tree *t)
{
	struct vread_schema_tree callbacks = {
		.read = tree_read,
		.list = tree_list,
		.permissions = tree_permissions,
		.problem = tree_problem,
		.ctx = t,
	};

	unsigned devices;

	t->problems[0] = '\0';
	return vread_schema_check(&callbacks, 0, VREAD_ANY_DOMID, &devices);
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

static void keys_of_a_datanode(struct tree *t)
{
	connected_device(t);
	put(t, KEYS, "");
	put(t, KEYS "/name", "dn1");
	put(t, KEYS "/data-dirs", "/dfs/a /dfs/b");
	put(t, KEYS "/disks", "xvdb xvdc");
	put(t, KEYS "/tokens", "required");
	put(t, KEYS "/status", "refused: because");
}

static void good_trees_have_no_problem(void **state)
{
	struct tree t;

	(void)state;
	connected_device(&t);
	assert_int_equal(check(&t), 0);

	keys_of_a_datanode(&t);
	assert_int_equal(check(&t), 0);

	/* A new device has no nodes of either end yet. */
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
		 FRONT "/num-queues: is \"2\"; at most 1, the backend's max-queues\n"},
		{BACK "/limit-queues", "3",
		 BACK "/max-queues: is \"4\"; at most 3, the backend's limit-queues\n"},
		{BACK "/limit-pool-pages", "many",
		 BACK "/limit-pool-pages: is \"many\"; a number from 16 to 32768\n"},
		{FRONT "/num-queues", "0", FRONT "/num-queues: is \"0\"; a number from 1 to 8\n"},
		{FRONT "/num-queues", "02", FRONT "/num-queues: is \"02\"; a number from 1 to 8\n"},
		{FRONT "/pool-pages", "-1",
		 FRONT "/pool-pages: is \"-1\"; a number from 16 to 32768\n"},
		{FRONT "/pool-pages", "4294967297",
		 FRONT "/pool-pages: is \"4294967297\"; a number from 16 to 32768\n"},
		{FRONT "/pool-pages", "8193",
		 FRONT "/pool-pages: is \"8193\"; at most 8192, the backend's max-pool-pages\n"},
		{FRONT "/pool-pages", "\033[2J\xff",
		 FRONT "/pool-pages: is \"?[2J?\"; a number from 16 to 32768\n"},
		{FRONT "/role", "datanode",
		 FRONT "/role: is \"datanode\"; \"client\", the backend's role\n"},
		{FRONT "/role", "root", FRONT "/role: is \"root\"; client or datanode\n"},
		{BACK "/versions", "2,3",
		 FRONT "/version: is \"1\"; one of \"2,3\", the backend's versions\n"},
		{BACK "/state", "9", BACK "/state: is \"9\"; a xenbus state, 1 to 8\n"},
		{BACK "/allow-datanodes", "dn1  dn2",
		 BACK "/allow-datanodes: is \"dn1  dn2\"; names separated by one space, or *\n"},
		{BACK "/allow-datanodes", "dn1 *",
		 BACK "/allow-datanodes: is \"dn1 *\"; names separated by one space, or *\n"},
		{FRONT "/backend", "/local/domain/0/backend/vread/8/0",
		 FRONT "/backend: is \"/local/domain/0/backend/vread/8/0\"; " BACK "\n"},
		{FRONT "/backend-id", "3", FRONT "/backend-id: is \"3\"; 0\n"},
		{BACK "/frontend", "/local/domain/8/device/vread/0",
		 BACK "/frontend: is \"/local/domain/8/device/vread/0\"; " FRONT "\n"},
		{BACK "/frontend-id", "8", BACK "/frontend-id: is \"8\"; 7\n"},
		{BACK "/frontend-id", "me",
		 BACK "/frontend-id: is \"me\"; a number from 0 to 32751\n"},
		{FRONT "/queue-1/ring-ref1", NULL,
		 FRONT "/queue-1/ring-ref1: is missing in state 4; a number from 1 to "
		       "4294967295\n"},
		{FRONT "/pool-directory", NULL,
		 FRONT "/pool-directory: is missing in state 4; a number from 1 to 4294967295\n"},
		{BACK "/online", NULL,
		 BACK "/online: is missing in state 4; a number from 0 to 1\n"},
		{BACK "/frontend", NULL,
		 BACK "/frontend: is missing in state 4; an absolute path\n"},
		{BACK "/colour", "red",
		 BACK "/colour: is not known; only nodes of protocol version 1\n"},
		{FRONT "/queue-1/weight", "1",
		 FRONT "/queue-1/weight: is not known; only nodes of protocol version 1\n"},
		{FRONT "/queue-16", "",
		 FRONT "/queue-16: is not known; only nodes of protocol version 1\n"},
		{"/local/domain/0/backend/vread/7/zero/state", "1",
		 "/local/domain/0/backend/vread/7/zero: belongs to no device; "
		 "backend/vread/DOMID/ID\n"},
		{"/local/domain/0/backend/vread/8", "",
		 "/local/domain/0/backend/vread/8: belongs to no device; devices in it\n"},
		{"/local/domain/0/backend/vread/me/0/state", "1",
		 "/local/domain/0/backend/vread/me: belongs to no device; "
		 "backend/vread/DOMID/ID\n"},
		{"/local/domain/0/backend/vread/8/0/state", "4",
		 "/local/domain/0/backend/vread/8/0: belongs to domain 8, which does not exist; a "
		 "domain that exists\n"},
		{"/local/domain/7/device/vread/1/state", "1",
		 "/local/domain/7/device/vread/1: has no backend directory; "
		 "/local/domain/0/backend/vread/7/1\n"},
		{"/local/domain/7/device/vread/x/state", "1",
		 "/local/domain/7/device/vread/x: belongs to no device; device/vread/ID\n"},
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

static void mistakes_in_keys_are_named(void **state)
{
	static const struct {
		const char *path, *value, *permissions, *expected;
	} mistakes[] = {
		{KEYS "/name", NULL, NULL,
		 KEYS "/name: is missing; 1 to 63 letters, digits, '.', '_' and '-', the first no "
		      "'.'\n"},
		{KEYS "/name", "dn1 dn2", NULL,
		 KEYS "/name: is \"dn1 dn2\"; 1 to 63 letters, digits, '.', '_' and '-', the first "
		      "no '.'\n"},
		{KEYS "/disks", NULL, NULL,
		 KEYS "/disks: is missing; words separated by one space\n"},
		{KEYS "/data-dirs", "", NULL,
		 KEYS "/data-dirs: is \"\"; words separated by one space\n"},
		{KEYS "/data-dirs", "/a  /b", NULL,
		 KEYS "/data-dirs: is \"/a  /b\"; words separated by one space\n"},
		{KEYS "/tokens", "yes", NULL, KEYS "/tokens: is \"yes\"; auto, required or off\n"},
		{KEYS "/storage", "DS-1", NULL,
		 KEYS "/storage: is not known; only nodes of protocol version 1\n"},
		{BACK "/name", "dn1", NULL,
		 BACK "/name: is not known; only nodes of protocol version 1\n"},
		{KEYS "/disks", "xvdb", "n0 r7",
		 KEYS "/disks: has permissions n0 r7, so domain 7 may read it; n0\n"},
		{KEYS "/disks", "xvdb", "n7",
		 KEYS "/disks: has permissions n7, so domain 7 owns it; n0\n"},
		{KEYS, "", "n0 w7", KEYS ": has permissions n0 w7, so domain 7 may write it; n0\n"},
	};
	struct tree t;

	(void)state;
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		keys_of_a_datanode(&t);
		if (mistakes[i].value)
			put(&t, mistakes[i].path, mistakes[i].value);
		else
			drop(&t, mistakes[i].path);
		if (mistakes[i].permissions)
			find(&t, mistakes[i].path)->permissions = mistakes[i].permissions;
		assert_int_equal(check(&t), 1);
		assert_string_equal(t.problems, mistakes[i].expected);
	}
}

static void wrong_permissions_are_named(void **state)
{
	static const struct {
		const char *path, *permissions, *found, *right;
	} mistakes[] = {
		{BACK "/allow-datanodes", "n0 b7", "domain 7 may read and write it", "n0 r7"},
		{BACK "/allow-datanodes", "n0 w7", "domain 7 may write it", "n0 r7"},
		{BACK "/allow-datanodes", "n7 r0", "domain 7 owns it", "n0 r7"},
		{BACK "/allow-datanodes", "r0 r7", "every domain may read it", "n0 r7"},
		{BACK "/allow-datanodes", "b0 r7", "every domain may read and write it", "n0 r7"},
		{BACK "/allow-datanodes", "n0 r7 r9", "domain 9 may read it", "n0 r7"},
		{BACK "/allow-datanodes", "n0", "domain 7 may not read it", "n0 r7"},
		{BACK "/allow-datanodes", "n0 n7", "domain 7 may not read it", "n0 r7"},
		{FRONT "/state", "n0 r7", "domain 0 owns it", "n7 r0"},
		{FRONT "/state", "n7 r0 b9", "domain 9 may read and write it", "n7 r0"},
		{FRONT "/state", "n7", "domain 0 may not read it", "n7 r0"},
		{FRONT "/queue-0/ring-ref0", "r7 r0", "every domain may read it", "n7 r0"},
	};
	char expected[512];
	struct tree t;

	(void)state;
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		connected_device(&t);
		find(&t, mistakes[i].path)->permissions = mistakes[i].permissions;
		assert_int_equal(check(&t), 1);
		snprintf(expected, sizeof(expected), "%s: has permissions %s, so %s; %s\n",
			 mistakes[i].path, mistakes[i].permissions, mistakes[i].found,
			 mistakes[i].right);
		assert_string_equal(t.problems, expected);
		snprintf(expected, sizeof(expected), "xenstore-chmod %s %s", mistakes[i].path,
			 mistakes[i].right);
		assert_string_equal(t.remedy, expected);
	}
}

/* An entry for dom0 or for the owner changes nothing: both may do everything anyway. */
static void permissions_that_say_nothing_new(void **state)
{
	struct tree t;

	(void)state;
	connected_device(&t);
	find(&t, FRONT "/state")->permissions = "n7 b0 b7";
	assert_int_equal(check(&t), 0);
}

static void directories_above_are_no_guests(void **state)
{
	static const char *const paths[] = {
		"/local/domain/0/backend/vread",
		"/local/domain/0/backend/vread/7",
		"/local/domain/7/device/vread",
	};
	static const char *const permissions[] = {"n0 w7", "n7 r0", "w0"};
	struct tree t;

	(void)state;
	for (size_t i = 0; i < 9; i++) {
		connected_device(&t);
		put(&t, paths[i / 3], "");
		find(&t, paths[i / 3])->permissions = permissions[i % 3];
		assert_int_equal(check(&t), 1);
		assert_non_null(strstr(t.problems, "; that no guest can write it\n"));
	}
}

static void states_that_do_not_go_together(void **state)
{
	static const struct {
		const char *back, *front, *found;
		bool passing;
	} cases[] = {
		{"4", "4", NULL, false},
		{"4", "3", NULL, false},
		{"2", "1", NULL, false},
		{"2", "6", NULL, false},
		{"1", "1", NULL, false},
		{"6", "6", NULL, false},
		{"2", "4", "is InitWait while the frontend's is Connected", false},
		{"1", "4", "is Initialising while the frontend's is Connected", false},
		{"2", "3", "is InitWait while the frontend's is Initialised", true},
		{"4", "6", "is Connected while the frontend's is Closed", true},
		{"5", "4", "is Closing while the frontend's is Connected", true},
		{"6", "4", "is Closed while the frontend's is Connected", true},
		{"3", "3", "is Initialised, which a backend never is", false},
		{"4", "2", "is InitWait, which a frontend never is", false},
	};
	struct tree t;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		connected_device(&t);
		put(&t, BACK "/state", cases[i].back);
		put(&t, FRONT "/state", cases[i].front);
		assert_int_equal(check(&t), cases[i].found ? 1 : 0);
		if (!cases[i].found)
			continue;
		assert_non_null(strstr(t.problems, cases[i].found));
		assert_int_equal(t.passing, cases[i].passing);
	}
}

static void a_device_going_offline_or_refused(void **state)
{
	struct tree t;

	(void)state;
	connected_device(&t);
	put(&t, BACK "/online", "0");
	assert_int_equal(check(&t), 1);
	assert_non_null(strstr(t.problems, BACK "/state: is Connected while online is 0; "));
	assert_string_equal(t.remedy, "xl-vread detach 7 --id 0 --force");
	connected_device(&t);
	put(&t, BACK "/state", "6");
	put(&t, FRONT "/state", "6");
	put(&t, "/local/domain/0/error/backend/vread/7/0/error", "22 num-queues: \"x\"");
	assert_int_equal(check(&t), 1);
	assert_non_null(
		strstr(t.problems, "is Closed, because of: 22 num-queues: \"x\"; Connected"));
}

static void a_device_without_its_frontend(void **state)
{
	struct tree t;

	(void)state;
	connected_device(&t);
	for (unsigned i = 0; i < t.count;)
		if (!strncmp(t.nodes[i].path, FRONT, strlen(FRONT)))
			drop(&t, t.nodes[i].path);
		else
			i++;
	put(&t, "/local/domain/7/name", "guest");
	assert_int_equal(check(&t), 1);
	assert_string_equal(t.problems,
			    FRONT ": is missing; the frontend directory of this device\n");
}

/* Another domain may serve the device: only the existence of its backend is checked. */
static void a_driver_domains_device(void **state)
{
	struct tree t;

	(void)state;
	connected_device(&t);
	put(&t, "/local/domain/7/device/vread/1/backend-id", "3");
	assert_int_equal(check(&t), 1);
	put(&t, "/local/domain/3/backend/vread/7/1/state", "9");
	assert_int_equal(check(&t), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_trees_have_no_problem),
		cmocka_unit_test(every_mistake_is_named),
		cmocka_unit_test(mistakes_in_keys_are_named),
		cmocka_unit_test(wrong_permissions_are_named),
		cmocka_unit_test(permissions_that_say_nothing_new),
		cmocka_unit_test(directories_above_are_no_guests),
		cmocka_unit_test(states_that_do_not_go_together),
		cmocka_unit_test(a_device_going_offline_or_refused),
		cmocka_unit_test(a_device_without_its_frontend),
		cmocka_unit_test(a_driver_domains_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
