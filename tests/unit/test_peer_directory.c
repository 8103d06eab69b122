/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests peer/directory.h: which peer has which storage, and which source is believed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "peer/wire/address.h"
#include "peer/directory.h"

#define PEERS 200U

static _Atomic uint64_t generation;
static int refused = DIRECTORY_NOWHERE; /* this peer has no storage that it announces */

static bool has(void *ctx, int peer, const char *storage_id)
{
	(void)ctx, (void)storage_id;
	return peer != refused;
}

static struct directory *make(void)
{
	refused = DIRECTORY_NOWHERE;
	return directory_new(PEERS, &(struct directory_judge){has, NULL, &generation});
}

static void refuse(int peer)
{
	refused = peer;
	generation++;
}

static int where(struct directory *d, const char *storage)
{
	struct directory_entry *e = directory_find(d, storage);

	return e ? directory_peer(d, e) : DIRECTORY_NOWHERE;
}

static void better_sources_count(void **state)
{
	struct directory *d = make();

	(void)state;
	assert_null(directory_find(d, "DS-1"));
	assert_int_equal(directory_announce(d, "DS-1", "dn1", 1, 1), 0);
	assert_int_equal(directory_announce(d, "DS-1", "dn9", 1, 1), 0);
	assert_int_equal(where(d, "DS-1"), 1);
	assert_string_equal(directory_datanode(directory_find(d, "DS-1")), "dn9");
	assert_int_equal(directory_set(d, "DS-1", "dn1", 3, DIRECTORY_CONFIGURED), 0);
	assert_int_equal(directory_announce(d, "DS-1", "dn2", 4, 1), -EPERM);
	assert_int_equal(where(d, "DS-1"), 3);
	assert_string_equal(directory_datanode(directory_find(d, "DS-1")), "dn1");
	assert_int_equal(directory_set(d, "DS-1", "dn1", DIRECTORY_NOWHERE, DIRECTORY_MOVED), 0);
	assert_int_equal(directory_announce(d, "DS-1", "dn1", 4, 1), -EPERM);
	assert_int_equal(directory_set(d, "DS-1", "dn1", 4, DIRECTORY_CONFIGURED), -EPERM);
	assert_int_equal(where(d, "DS-1"), DIRECTORY_NOWHERE);
	directory_forget_move(d, "DS-1");
	assert_int_equal(where(d, "DS-1"), 1);
	directory_free(d);
}

static void what_is_announced_no_more_is_nowhere(void **state)
{
	struct directory *d = make();

	(void)state;
	assert_int_equal(directory_announce(d, "DS-1", "dn1", 1, 7), 0);
	assert_int_equal(directory_announce(d, "DS-2", "dn1", 1, 7), 0);
	assert_int_equal(directory_announce(d, "DS-3", "dn1", 2, 3), 0);
	assert_int_equal(directory_set(d, "DS-4", "dn1", 1, DIRECTORY_CONFIGURED), 0);
	directory_end_announcement(d, 1, 7);
	assert_int_equal(directory_count(d, 1), 3);
	assert_int_equal(directory_announce(d, "DS-2", "dn1", 1, 8), 0);
	directory_end_announcement(d, 1, 8);
	assert_int_equal(where(d, "DS-1"), DIRECTORY_NOWHERE);
	assert_int_equal(where(d, "DS-2"), 1);
	assert_int_equal(where(d, "DS-3"), 2); /* another peer's */
	assert_int_equal(where(d, "DS-4"), 1); /* configured by an operator */
	assert_int_equal(directory_announce(d, "DS-1", "dn1", 1, 9), 0);
	assert_int_equal(where(d, "DS-1"), 1);
	directory_free(d);
}

static bool not_of_dn2(const void *ctx, const char *datanode)
{
	return ctx && strcmp(datanode, "dn2") != 0;
}

static void a_configuration_takes_the_place_of_another(void **state)
{
	struct directory *d = make();

	(void)state;
	assert_int_equal(directory_configure(d, "DS-1", "dn1", 1, 1), 0);
	assert_int_equal(directory_configure(d, "DS-2", "dn1", 1, 1), 0);
	assert_int_equal(directory_announce(d, "DS-3", "dn1", 1, 1), 0);
	assert_int_equal(directory_set(d, "DS-4", "dn1", 1, DIRECTORY_MOVED), 0);
	directory_end_configuration(d, 1);
	assert_int_equal(directory_count(d, 1), 4);
	assert_int_equal(directory_configure(d, "DS-2", "dn1", 2, 2), 0);
	assert_int_equal(directory_configure(d, "DS-4", "dn1", 2, 2), -EPERM);
	directory_end_configuration(d, 2);
	assert_int_equal(where(d, "DS-1"), DIRECTORY_NOWHERE);
	assert_int_equal(where(d, "DS-2"), 2);
	assert_int_equal(where(d, "DS-3"), 1);
	assert_int_equal(where(d, "DS-4"), 1);
	assert_int_equal(directory_announce(d, "DS-1", "dn1", 3, 1), 0); /* it may announce again */
	directory_free(d);
}

static void what_is_forgotten_may_come_again(void **state)
{
	struct directory *d = make();

	(void)state;
	assert_int_equal(directory_announce(d, "DS-1", "dn1", 1, 1), 0);
	assert_int_equal(directory_announce(d, "DS-2", "dn2", 1, 1), 0);
	assert_int_equal(directory_announce(d, "DS-3", "dn2", 2, 1), 0);
	assert_int_equal(directory_configure(d, "DS-4", "dn2", 1, 1), 0);
	assert_int_equal(directory_set(d, "DS-5", "dn2", 1, DIRECTORY_MOVED), 0);
	directory_keep_announced(d, 1, not_of_dn2, d);
	assert_int_equal(where(d, "DS-2"), DIRECTORY_NOWHERE);
	assert_int_equal(directory_count(d, 1), 3);
	directory_forget(d, 1);
	assert_int_equal(directory_count(d, 1), 0);
	assert_int_equal(where(d, "DS-3"), 2);
	assert_int_equal(directory_announce(d, "DS-4", "dn2", 2, 2), 0);
	assert_int_equal(directory_announce(d, "DS-5", "dn2", 2, 2), 0);
	directory_free(d);
}

static void count_announced(void *ctx, const char *storage_id, int peer)
{
	unsigned *seen = ctx;

	assert_string_equal(storage_id, "DS-1");
	*seen |= 1U << peer;
}

/* peers: a bit for each that announces DS-1. */
static void check_announced(struct directory *d, unsigned peers)
{
	unsigned seen = 0;

	directory_each_announced(d, count_announced, &seen);
	assert_int_equal(seen, peers);
}

static void several_announce_a_storage(void **state)
{
	struct directory *d = make();
	const struct directory_entry *e;

	(void)state;
	assert_int_equal(directory_announce(d, "DS-1", "dn1", 1, 1), 0);
	assert_int_equal(directory_announce(d, "DS-1", "dn2", 2, 7), 0);
	assert_int_equal(directory_announce(d, "DS-1", "dn3", 3, 7), 0);
	check_announced(d, 1U << 1 | 1U << 2 | 1U << 3);
	assert_int_equal(where(d, "DS-1"), 1);
	e = directory_find(d, "DS-1");
	assert_string_equal(directory_datanode(e), "dn1");
	assert_string_equal(directory_datanode_at(d, e, 3), "dn3");
	refuse(1);
	assert_int_equal(where(d, "DS-1"), 2);
	assert_string_equal(directory_datanode(e), "dn2");
	assert_int_equal(directory_count(d, 2), 1);
	directory_end_announcement(d, 2, 8); /* withdrawn */
	assert_int_equal(where(d, "DS-1"), 3);
	directory_keep_announced(d, 3, not_of_dn2, d);
	assert_int_equal(where(d, "DS-1"), 3);
	assert_int_equal(directory_announce(d, "DS-1", "dn2", 3, 7), 0);
	directory_keep_announced(d, 3, not_of_dn2, d);
	assert_int_equal(where(d, "DS-1"), DIRECTORY_NOWHERE);
	check_announced(d, 1U << 1);
	refuse(DIRECTORY_NOWHERE);
	assert_int_equal(where(d, "DS-1"), 1);
	assert_int_equal(directory_set(d, "DS-1", "dn1", 2, DIRECTORY_MOVED), 0);
	check_announced(d, 0); /* the operator has said whose it is */
	directory_forget(d, 2);
	assert_int_equal(where(d, "DS-1"), 1);
	directory_forget(d, 1);
	assert_int_equal(where(d, "DS-1"), DIRECTORY_NOWHERE);
	directory_free(d);
}

static void bounded(void **state)
{
	struct directory *d = make();
	char id[32];

	(void)state;
	for (unsigned i = 0; i < DIRECTORY_MAX; i++) {
		snprintf(id, sizeof(id), "DS-%u", i);
		assert_int_equal(directory_configure(d, id, "dn1", (int)(i % PEERS), 1), 0);
	}
	assert_int_equal(directory_set(d, "DS-x", "dn1", 0, DIRECTORY_MOVED), -ENOSPC);
	assert_int_equal(directory_set(d, "DS-7", "dn1", 9, DIRECTORY_MOVED), 0);
	assert_int_equal(where(d, "DS-7"), 9);
	assert_int_equal(directory_count(d, 7), DIRECTORY_MAX / PEERS);
	directory_free(d);
}

/* A peer that announces without end leaves room for other peers, and takes no more memory. */
static void a_peer_has_a_share(void **state)
{
	struct directory *d = make();
	char text[32];

	(void)state;
	for (unsigned i = 0; i < DIRECTORY_MAX + 1000; i++) {
		snprintf(text, sizeof(text), "DS-%u", i);
		assert_int_equal(directory_announce(d, text, "dn1", 3, i),
				 i < DIRECTORY_MAX_EACH ? 0 : -ENOSPC);
	}
	directory_end_announcement(d, 3, 0); /* storages taken back still count */
	assert_int_equal(directory_announce(d, "DS-other", "dn1", 3, 1), -ENOSPC);
	assert_int_equal(directory_announce(d, "DS-0", "dn1", 3, 1), 0);
	for (unsigned i = 1; i < 2 * DIRECTORY_MAX_NAMES_EACH; i++) {
		snprintf(text, sizeof(text), "dn-%u", i);
		assert_int_equal(directory_announce(d, "DS-0", text, 3, 1),
				 i < DIRECTORY_MAX_NAMES_EACH ? 0 : -ENOSPC);
	}
	assert_int_equal(directory_announce(d, "DS-other", "dn-another", 4, 1), 0);
	assert_int_equal(directory_set(d, "DS-more", "dn-more", 3, DIRECTORY_MOVED), 0);
	assert_int_equal(directory_count(d, 4), 1);
	directory_free(d);
}

/* A peer gives its datanode a new name each time. */
static void names_are_bounded(void **state)
{
	struct directory *d = make();
	int peer = 0;
	char name[32], id[32];

	(void)state;
	for (unsigned i = 0; i < DIRECTORY_MAX_DATANODES; i++) {
		snprintf(name, sizeof(name), "dn%u", i);
		peer += i && i % DIRECTORY_MAX_NAMES_EACH == 0; /* each peer has a share */
		snprintf(id, sizeof(id), "DS-peer-%d", peer);
		assert_int_equal(directory_announce(d, id, name, peer, i + 1), 0);
	}
	peer++;
	assert_int_equal(directory_announce(d, "DS-1", "one more", peer, 9999), -ENOSPC);
	assert_int_equal(directory_announce(d, "DS-2", "one more", peer, 9999), -ENOSPC);
	assert_int_equal(directory_announce(d, "DS-2", "dn7", peer, 9999), 0);
	directory_free(d);
}

static void addresses(void **state)
{
	static const char *const bad[] = {"",       "1.2.3.4",       "1.2.3.4:", "1.2.3.4:0",
					  "host:1", "1.2.3.4:65536", "[::1]",    "::1:7",
					  "[::1:7", "[1.2.3.4]:7",   ":7",       "1.2.3.4:07"};
	char text[ADDRESS_TEXT];
	struct address a;

	(void)state;
	assert_true(address_parse("192.0.2.7:7867", &a));
	assert_string_equal(address_text(&a, text), "192.0.2.7:7867");
	assert_true(address_parse("[2001:db8::7]:1", &a));
	assert_string_equal(address_text(&a, text), "[2001:db8::7]:1");
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(address_parse(bad[i], &a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(better_sources_count),
		cmocka_unit_test(what_is_announced_no_more_is_nowhere),
		cmocka_unit_test(a_configuration_takes_the_place_of_another),
		cmocka_unit_test(what_is_forgotten_may_come_again),
		cmocka_unit_test(several_announce_a_storage),
		cmocka_unit_test(bounded),
		cmocka_unit_test(names_are_bounded),
		cmocka_unit_test(a_peer_has_a_share),
		cmocka_unit_test(addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
