/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests datanode/owners.h: which datanode a storage belongs to, and the file that keeps it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"
#include "datanode/owners_private.h"
#include "whole_file.h"

static char folder[] = "/tmp/test_owners.XXXXXX", path[64];
static char other[OWNERS_MAX_NAME + 1];

static int make_folder(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/storages", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static int remove_file(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static void configure(struct owners *o, const char *dn1, const char *dn2, const char *dn3)
{
	const struct owners_pins all[] = {{"dn1", dn1, false, false},
					  {"dn2", dn2, false, false},
					  {"dn3", dn3, false, false}};

	assert_int_equal(owners_configure(o, OWNERS_DATANODES, all, dn3 ? 3 : dn2 ? 2 : 1), 0);
}

/* Three datanodes without pins. */
static struct owners *new_owners(void)
{
	struct owners *o = owners_new();

	assert_non_null(o);
	configure(o, "", "", "");
	return o;
}

static enum owners_verdict judge(struct owners *o, const char *party, const char *storage)
{
	char ignored[OWNERS_MAX_NAME + 1];

	return owners_judge(o, party, storage, ignored);
}

static enum owners_verdict show(struct owners *o, const char *datanode, const char *storage)
{
	owners_begin_look(o);
	return owners_show(o, datanode, storage, other);
}

static void the_first_one_has_it(void **state)
{
	struct owners *o = new_owners();

	(void)state;
	owners_settle(o, OWNERS_DATANODES);
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_ITS);
	assert_int_equal(show(o, "dn2", "DS-1"), OWNERS_RECORDED);
	assert_string_equal(other, "dn1");
	assert_int_equal(show(o, "dn2", "DS-2"), OWNERS_ITS);
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_ITS);
	assert_int_equal(judge(o, "dn1", "DS-2"), OWNERS_RECORDED);
	owners_free(o);
}

static void without_a_first_one_nobody_has_it(void **state)
{
	struct owners *o = new_owners();

	(void)state;
	assert_int_equal(show(o, "dn2", "DS-1"), OWNERS_ITS);
	assert_int_equal(show(o, "dn3", "DS-1"), OWNERS_CONTESTED);
	assert_string_equal(other, "dn2");
	assert_int_equal(judge(o, "dn2", "DS-1"), OWNERS_CONTESTED);
	owners_settle(o, OWNERS_DATANODES);
	assert_int_equal(show(o, "dn2", "DS-1"), OWNERS_CONTESTED);
	assert_string_equal(other, "dn3");
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_CONTESTED);
	assert_int_equal(owners_give(o, "DS-1", "dn3"), 0);
	assert_int_equal(show(o, "dn2", "DS-1"), OWNERS_RECORDED);
	assert_int_equal(show(o, "dn3", "DS-1"), OWNERS_ITS);
	owners_free(o);
}

static void a_contest_ends_with_one_of_the_two(void **state)
{
	struct owners *o = new_owners();

	(void)state;
	show(o, "dn1", "DS-1");
	show(o, "dn2", "DS-1");
	owners_settle(o, OWNERS_DATANODES);
	configure(o, "", NULL, NULL);
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_ITS);
	configure(o, "", "", NULL);
	assert_int_equal(show(o, "dn2", "DS-1"), OWNERS_RECORDED);
	owners_free(o);
}

static void a_pin_counts_more_than_the_record(void **state)
{
	struct owners *o = new_owners();

	(void)state;
	owners_settle(o, OWNERS_DATANODES);
	show(o, "dn1", "DS-1");
	configure(o, "", " DS-1", "");
	assert_int_equal(judge(o, "dn1", "DS-1"), OWNERS_PINNED);
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_PINNED);
	assert_string_equal(other, "dn2");
	assert_int_equal(show(o, "dn2", "DS-1"), OWNERS_ITS);
	assert_int_equal(owners_give(o, "DS-1", "dn1"), -EPERM);
	configure(o, "", "", ""); /* the pin was recorded */
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_RECORDED);
	owners_free(o);
}

static void who_is_not_configured_has_nothing(void **state)
{
	struct owners *o = new_owners();

	(void)state;
	owners_settle(o, OWNERS_DATANODES);
	show(o, "dn2", "DS-1");
	configure(o, "", NULL, NULL);
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_ITS);
	configure(o, "", "", NULL);
	assert_int_equal(show(o, "dn2", "DS-1"), OWNERS_RECORDED);
	assert_int_equal(owners_give(o, "DS-1", "dn9"), -ENOENT);
	assert_int_equal(owners_give(o, "DS 1", "dn1"), -EINVAL);
	owners_free(o);
}

static void who_has_pins_has_no_others(void **state)
{
	struct owners *o = new_owners();

	(void)state;
	owners_settle(o, OWNERS_DATANODES);
	show(o, "dn1", "DS-2");
	configure(o, " DS-1", "", "");
	assert_int_equal(show(o, "dn1", "DS-2"), OWNERS_UNLISTED);
	assert_string_equal(other, "");
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_ITS);
	assert_int_equal(owners_give(o, "DS-2", "dn1"), -EPERM);
	assert_int_equal(owners_give(o, "DS-1", "dn1"), 0);
	assert_int_equal(show(o, "dn2", "DS-2"), OWNERS_ITS); /* the record of dn1 gives way */
	assert_int_equal(owners_give(o, "DS-2", "dn3"), 0);
	owners_free(o);
}

/* A guest that keeps inventing storages forgets its own, and nobody else's. */
static void each_has_room_for_itself(void **state)
{
	struct owners *o = new_owners();
	char id[16];

	(void)state;
	owners_settle(o, OWNERS_DATANODES);
	show(o, "dn1", "DS-mine");
	for (unsigned i = 0; i < 2 * OWNERS_MAX_EACH; i++) {
		snprintf(id, sizeof(id), "DS-%u", i);
		assert_int_equal(show(o, "dn2", id), OWNERS_ITS);
	}
	assert_int_equal(show(o, "dn2", "DS-mine"), OWNERS_RECORDED);
	assert_int_equal(o->table.count, OWNERS_MAX_EACH + 1);
	assert_int_equal(show(o, "dn3", "DS-0"), OWNERS_ITS);
	owners_begin_look(o);
	for (unsigned i = 0; i <= OWNERS_MAX_EACH; i++) { /* all at once */
		snprintf(id, sizeof(id), "DS-x%u", i);
		assert_int_equal(owners_show(o, "dn2", id, other),
				 i < OWNERS_MAX_EACH ? OWNERS_ITS : OWNERS_FULL);
	}
	owners_free(o);
}

/* ---- peers ----------------------------------------------------------------------- */

static void configure_peers(struct owners *o, const char *b_pins, bool with_c)
{
	const struct owners_pins all[] = {{"@b", b_pins, false, false}, {"@c", "", false, false}};

	assert_int_equal(owners_configure(o, OWNERS_PEERS, all, with_c ? 2 : 1), 0);
}

/* dn1 to dn3, b and c, of whom everybody was seen. */
static struct owners *owners_with_peers(void)
{
	struct owners *o = new_owners();

	configure_peers(o, "", true);
	owners_settle(o, OWNERS_DATANODES);
	return o;
}

/* The peer announces that storage only, or nothing. */
static enum owners_verdict announce(struct owners *o, const char *peer, const char *storage)
{
	enum owners_verdict verdict = OWNERS_ITS;

	owners_begin_list(o, peer);
	if (storage)
		verdict = owners_show(o, peer, storage, other);
	owners_end_list(o, peer);
	return verdict;
}

static void peers_and_datanodes_are_under_one_rule(void **state)
{
	struct owners *o = owners_with_peers();

	(void)state;
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_ITS);
	assert_int_equal(announce(o, "@b", "DS-1"), OWNERS_RECORDED);
	assert_string_equal(other, "dn1");
	assert_false(owners_keep(o, "@b", "DS-1"));
	assert_int_equal(announce(o, "@b", "DS-2"), OWNERS_ITS);
	assert_true(owners_keep(o, "@b", "DS-2"));
	assert_int_equal(show(o, "dn1", "DS-2"), OWNERS_RECORDED);
	assert_string_equal(other, "@b");
	assert_int_equal(announce(o, "@c", "DS-2"), OWNERS_RECORDED);
	assert_int_equal(owners_give(o, "DS-2", "dn1"), 0);
	assert_int_equal(judge(o, "@b", "DS-2"), OWNERS_RECORDED);
	assert_int_equal(owners_give(o, "DS-2", "@c"), 0);
	assert_int_equal(judge(o, "dn1", "DS-2"), OWNERS_RECORDED);
	assert_int_equal(owners_give(o, "DS-2", NULL), 0);
	assert_int_equal(show(o, "dn2", "DS-2"), OWNERS_ITS);
	assert_int_equal(owners_give(o, "DS-2", "@d"), -ENOENT);
	owners_free(o);
}

static void what_a_peer_withdraws_may_move(void **state)
{
	struct owners *o = owners_with_peers();

	(void)state;
	assert_int_equal(announce(o, "@b", "DS-1"), OWNERS_ITS);
	assert_int_equal(announce(o, "@c", "DS-1"), OWNERS_RECORDED);
	owners_begin_list(o, "@b"); /* a list that is not whole */
	assert_int_equal(judge(o, "@c", "DS-1"), OWNERS_RECORDED);
	announce(o, "@b", NULL);
	assert_true(owners_keep(o, "@c", "DS-1"));
	assert_int_equal(announce(o, "@c", "DS-1"), OWNERS_ITS);

	/* The first one announces it again. */
	assert_int_equal(announce(o, "@b", "DS-1"), OWNERS_CONTESTED);
	assert_string_equal(other, "@c");
	assert_false(owners_keep(o, "@c", "DS-1"));
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_CONTESTED);
	announce(o, "@c", NULL);
	assert_int_equal(announce(o, "@b", "DS-1"), OWNERS_ITS);

	announce(o, "@b", NULL); /* and it moves to this host */
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_ITS);
	assert_int_equal(announce(o, "@c", "DS-1"), OWNERS_RECORDED);
	assert_int_equal(announce(o, "@b", "DS-1"), OWNERS_CONTESTED);
	assert_int_equal(judge(o, "dn1", "DS-1"), OWNERS_CONTESTED);
	owners_free(o);
}

static void who_is_removed_has_withdrawn_all(void **state)
{
	struct owners *o = owners_with_peers();

	(void)state;
	assert_int_equal(announce(o, "@c", "DS-1"), OWNERS_ITS);
	configure_peers(o, "", false);
	assert_int_equal(announce(o, "@b", "DS-1"), OWNERS_ITS);
	configure_peers(o, "", true);
	assert_int_equal(announce(o, "@c", "DS-1"), OWNERS_RECORDED);
	configure(o, "", "", "");
	assert_int_equal(show(o, "dn3", "DS-3"), OWNERS_ITS);
	configure(o, "", "", NULL); /* a section that the operator removed */
	assert_int_equal(announce(o, "@b", "DS-3"), OWNERS_ITS);
	owners_free(o);
}

static void what_is_new_awaits_all_peers(void **state)
{
	struct owners *o = owners_with_peers();

	(void)state;
	assert_int_equal(announce(o, "@b", "DS-1"), OWNERS_ITS);
	owners_unsettle(o, OWNERS_PEERS);
	assert_int_equal(announce(o, "@b", "DS-1"), OWNERS_ITS); /* it is not new */
	assert_int_equal(announce(o, "@b", "DS-2"), OWNERS_AWAITED);
	assert_false(owners_keep(o, "@b", "DS-2"));
	assert_int_equal(show(o, "dn1", "DS-3"), OWNERS_AWAITED);
	assert_int_equal(announce(o, "@c", "DS-3"), OWNERS_CONTESTED);
	assert_int_equal(show(o, "dn1", "DS-4"), OWNERS_AWAITED);
	owners_settle(o, OWNERS_PEERS);
	assert_true(owners_keep(o, "@b", "DS-2"));
	assert_int_equal(judge(o, "dn1", "DS-3"), OWNERS_CONTESTED);
	assert_int_equal(judge(o, "dn1", "DS-4"), OWNERS_ITS);
	assert_int_equal(announce(o, "@c", "DS-4"), OWNERS_RECORDED);
	owners_free(o);
}

static void pins_of_peers(void **state)
{
	struct owners *o = owners_with_peers();

	(void)state;
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_ITS);
	configure_peers(o, "dn7/DS-1 dn7/DS-2", true);
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_PINNED);
	assert_string_equal(other, "@b");
	assert_int_equal(announce(o, "@c", "DS-2"), OWNERS_PINNED);
	assert_int_equal(announce(o, "@b", "DS-2"), OWNERS_ITS);
	assert_int_equal(announce(o, "@b", "DS-3"), OWNERS_ITS); /* beside its pins */
	assert_int_equal(owners_give(o, "DS-1", "dn1"), -EPERM);
	assert_int_equal(owners_give(o, "DS-1", "@c"), 0);
	configure(o, "DS-4", "", "");
	assert_int_equal(announce(o, "@b", "DS-4"), OWNERS_PINNED);
	assert_int_equal(owners_give(o, "DS-4", "@b"), -EPERM);
	owners_free(o);
}

/* A peer that keeps inventing storages forgets its own, and leaves room for others. */
static void peers_have_room_for_themselves(void **state)
{
	struct owners *o = owners_with_peers();
	char id[16];

	(void)state;
	show(o, "dn1", "DS-mine");
	announce(o, "@c", "DS-c");
	for (unsigned i = 0; i < 2 * OWNERS_MAX_EACH_PEER; i++) {
		snprintf(id, sizeof(id), "DS-%u", i);
		assert_int_equal(announce(o, "@b", id), OWNERS_ITS);
	}
	assert_int_equal(o->table.count, OWNERS_MAX_EACH_PEER + 2);
	assert_int_equal(judge(o, "@b", "DS-mine"), OWNERS_RECORDED);
	assert_int_equal(judge(o, "@b", "DS-c"), OWNERS_RECORDED);
	owners_free(o);
}

/* ---- the file ------------------------------------------------------------------ */

static void put_file(const char *text)
{
	whole_file_write(path, text, strlen(text));
}

static void check_file(const char *expected)
{
	char text[256];

	whole_file_read(path, text, sizeof(text));
	assert_string_equal(text, expected);
}

static struct owners *kept_owners(void)
{
	struct owners *o = new_owners();

	assert_int_equal(owners_keep_in(o, path), 0);
	return o;
}

static void the_record_outlives_us(void **state)
{
	struct owners *o = kept_owners();
	struct stat st;

	(void)state;
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_ITS);
	owners_save(o);
	check_file("vread-storages 1 0\n"); /* another may have been first */
	owners_settle(o, OWNERS_DATANODES);
	owners_save(o);
	check_file("vread-storages 1 1\nDS-1 dn1\n");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	owners_free(o);

	o = kept_owners();
	assert_int_equal(show(o, "dn2", "DS-1"), OWNERS_RECORDED);
	assert_string_equal(other, "dn1");
	owners_free(o);
}

/* dn1 comes and goes, or not; with dn2, or alone. */
static void configure_guests(struct owners *o, bool dn1, bool comes_and_goes)
{
	const struct owners_pins all[] = {{"dn2", "", false, false},
					  {"dn1", "", comes_and_goes, false}};

	assert_int_equal(owners_configure(o, OWNERS_DATANODES, all, dn1 ? 2 : 1), 0);
}

static void who_comes_and_goes_keeps_what_it_has(void **state)
{
	struct owners *o = kept_owners();

	(void)state;
	configure_guests(o, true, true);
	owners_settle(o, OWNERS_DATANODES);
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_ITS);
	configure_guests(o, false, true);
	assert_int_equal(show(o, "dn2", "DS-1"), OWNERS_RECORDED);
	assert_string_equal(other, "dn1");
	owners_save(o);
	check_file("vread-storages 2 1\nDS-1 dn1*\n");
	owners_free(o);

	o = kept_owners();
	configure_guests(o, false, true);
	assert_int_equal(show(o, "dn2", "DS-1"), OWNERS_RECORDED);
	configure_guests(o, true, true);
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_ITS);
	assert_int_equal(owners_give(o, "DS-1", "dn2"), 0);
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_RECORDED);
	owners_free(o);
}

static void who_has_left_gives_way(void **state)
{
	struct owners *o = kept_owners();

	(void)state;
	configure_peers(o, "", true);
	configure_guests(o, true, true);
	owners_settle(o, OWNERS_DATANODES);
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_ITS);
	configure_guests(o, false, true);
	assert_int_equal(announce(o, "@b", "DS-1"), OWNERS_RECORDED);
	owners_leave(o, "dn1");
	assert_int_equal(announce(o, "@b", "DS-1"), OWNERS_ITS);
	configure_guests(o, true, true); /* it is back, and waits for the other host */
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_RECORDED);
	announce(o, "@b", NULL);
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_ITS);
	owners_free(o);
}

static void a_section_of_that_name_makes_it_like_others(void **state)
{
	struct owners *o = kept_owners();

	(void)state;
	configure_guests(o, true, true);
	owners_settle(o, OWNERS_DATANODES);
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_ITS);
	configure_guests(o, true, false);
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_ITS);
	assert_false(owners_is_unsure(o, "DS-1"));
	owners_save(o);
	check_file("vread-storages 1 1\nDS-1 dn1\n");
	configure_guests(o, false, false);
	assert_int_equal(show(o, "dn2", "DS-1"), OWNERS_ITS);
	owners_free(o);
}

/* A datanode whose disks stay the same is not looked into. */
static void how_it_is_configured_counts_at_once(void **state)
{
	struct owners *o = kept_owners();

	(void)state;
	configure_guests(o, true, false);
	owners_settle(o, OWNERS_DATANODES);
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_ITS);
	configure_guests(o, true, true);
	owners_save(o);
	check_file("vread-storages 2 1\nDS-1 dn1*\n");
	configure_guests(o, false, true);
	assert_int_equal(show(o, "dn2", "DS-1"), OWNERS_RECORDED);
	configure_guests(o, true, false);
	owners_save(o);
	check_file("vread-storages 1 1\nDS-1 dn1\n");
	configure_guests(o, false, false);
	assert_int_equal(show(o, "dn2", "DS-1"), OWNERS_ITS);
	owners_free(o);
}

static void what_peers_have_outlives_us(void **state)
{
	struct owners *o = kept_owners();

	(void)state;
	configure_peers(o, "", true);
	owners_settle(o, OWNERS_DATANODES);
	announce(o, "@b", "DS-1");
	owners_save(o);
	check_file("vread-storages 3 1\nDS-1 @b\n");
	owners_free(o);

	o = kept_owners();
	configure_peers(o, "", true);
	assert_int_equal(announce(o, "@c", "DS-1"), OWNERS_RECORDED); /* b was not heard yet */
	assert_int_equal(show(o, "dn1", "DS-1"), OWNERS_RECORDED);
	announce(o, "@b", NULL);
	assert_int_equal(announce(o, "@c", "DS-1"), OWNERS_ITS);
	owners_settle(o, OWNERS_DATANODES);
	owners_save(o);
	check_file("vread-storages 3 1\nDS-1 @c -@b\n");
	owners_free(o);

	o = kept_owners();
	configure_peers(o, "", true);
	assert_int_equal(judge(o, "@c", "DS-1"), OWNERS_ITS);
	assert_int_equal(announce(o, "@b", "DS-1"), OWNERS_CONTESTED);
	owners_save(o);
	check_file("vread-storages 3 1\nDS-1 @c @b\n");
	owners_free(o);
}

static void a_contest_is_recorded(void **state)
{
	struct owners *o = kept_owners();

	(void)state;
	show(o, "dn1", "DS-1");
	show(o, "dn2", "DS-1");
	owners_settle(o, OWNERS_DATANODES);
	owners_save(o);
	check_file("vread-storages 1 1\nDS-1 dn1 dn2\n");
	owners_free(o);

	o = kept_owners();
	owners_settle(o, OWNERS_DATANODES);
	assert_int_equal(show(o, "dn2", "DS-1"), OWNERS_CONTESTED);
	owners_free(o);
}

static void check_damaged(const char *expected)
{
	struct owners *o = kept_owners();

	assert_true(o->damaged);
	assert_non_null(strstr(o->problem, path));
	if (!strstr(o->problem, expected))
		fail_msg("%s", o->problem);
	owners_settle(o, OWNERS_DATANODES);
	assert_int_equal(show(o, "dn1", "DS-7"), OWNERS_ITS);
	owners_settle(o, OWNERS_DATANODES);
	assert_int_equal(show(o, "dn2", "DS-7"), OWNERS_CONTESTED);
	assert_int_equal(show(o, "dn1", "DS-7"), OWNERS_CONTESTED);
	owners_save(o); /* does not touch the file */
	owners_free(o);
}

static void a_damaged_record_is_told_and_left_alone(void **state)
{
	static const struct {
		const char *text, *expected;
	} wrong[] = {
		{"", "line 1: expected \"vread-storages \", a version from 1 to 3 and"},
		{"vread-storages 4 0\n", "it is of a later release of vRead: expected"},
		{"vread-storages 12 0\n", "it is of a later release of vRead: expected"},
		{"vread-storages 1 1\nDS-1 dn1*\n", "line 2: expected STORAGE DATANODE"},
		{"vread-storages 2 1\nDS-1 dn1**\n", "line 2: expected STORAGE DATANODE"},
		{"vread-storages 2 1\nDS-1 *\n", "line 2: expected STORAGE DATANODE"},
		{"vread-storages 2 1\nDS-1 dn1 dn2*\n", "line 2: expected STORAGE DATANODE"},
		{"vread-storages 2 1\nDS-1 @b\n", "line 2: expected STORAGE DATANODE"},
		{"vread-storages 3 1\nDS-1 @\n", "line 2: expected STORAGE DATANODE"},
		{"vread-storages 3 1\nDS-1 -@b\n", "line 2: expected STORAGE DATANODE"},
		{"vread-storages 3 1\nDS-1 @b -@b\n", "line 2: expected STORAGE DATANODE"},
		{"vread-storages 1 01\nDS-1 dn1\n", "line 1: expected"},
		{"vread-storages 1 65537\n", "line 1: expected"},
		{"vread-storages 1 1", "line 1: expected"},
		{"vread-storages 1 1\n", "line 2: expected another line"},
		{"vread-storages 1 1\nDS-1 dn1", "line 2: expected another line"},
		{"vread-storages 1 1\nDS-1 dn1\nDS-2 dn1\n", "line 3: expected the end"},
		{"vread-storages 1 1\nDS-1\n", "line 2: expected STORAGE DATANODE"},
		{"vread-storages 1 1\nDS-1 \n", "line 2: expected STORAGE DATANODE"},
		{"vread-storages 1 1\nDS-1  dn1\n", "line 2: expected STORAGE DATANODE"},
		{"vread-storages 1 1\nDS-1 dn1 \n", "line 2: expected STORAGE DATANODE"},
		{"vread-storages 1 1\nDS-1 dn1 dn1\n", "line 2: expected STORAGE DATANODE"},
		{"vread-storages 1 1\nDS-1 dn1 dn2 dn3\n", "line 2: expected STORAGE DATANODE"},
		{"vread-storages 1 1\nDS-1 d/1\n", "line 2: expected STORAGE DATANODE"},
		{"vread-storages 1 1\nDS\t1 dn1\n", "line 2: expected STORAGE DATANODE"},
		{"vread-storages 1 2\nDS-1 dn1\nDS-1 dn2\n", "line 3: expected each storage once"},
	};

	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		put_file(wrong[i].text);
		check_damaged(wrong[i].expected);
		check_file(wrong[i].text);
	}
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	check_damaged("it is not a regular file");
	rmdir(path);
}

static void a_byte_0_ends_no_record(void **state)
{
	static const char text[] = "vread-storages 1 1\nDS-1 dn1\n\0DS-2 dn1\n";
	struct owned_table t = {0};
	char *error = NULL;

	(void)state;
	assert_int_equal(owners_parse(text, sizeof(text) - 1, &t, &error), -EINVAL);
	assert_string_equal(error, "it has a byte 0");
	free(error);
}

static void a_repaired_record_counts_again(void **state)
{
	struct owners *o;

	(void)state;
	put_file("vread-storages 1 1\nDS-1 dn2");
	o = kept_owners();
	owners_settle(o, OWNERS_DATANODES);
	show(o, "dn1", "DS-1");
	owners_unsettle(o, OWNERS_DATANODES);
	put_file("vread-storages 1 1\nDS-1 dn2\n");
	owners_read_again(o);
	assert_null(o->problem);
	assert_int_equal(judge(o, "dn1", "DS-1"), OWNERS_RECORDED);
	assert_int_equal(show(o, "dn2", "DS-1"), OWNERS_ITS);
	owners_free(o);
}

static void a_record_that_cannot_be_written_is_told(void **state)
{
	struct owners *o = new_owners();
	json_t *status;

	(void)state;
	assert_int_equal(owners_keep_in(o, "/nonexistent/storages"), 0);
	owners_settle(o, OWNERS_DATANODES);
	show(o, "dn1", "DS-1");
	owners_save(o);
	status = owners_status(o);
	assert_string_equal(json_string_value(json_object_get(status, "file")),
			    "/nonexistent/storages");
	assert_int_equal(json_integer_value(json_object_get(status, "storages")), 1);
	assert_non_null(strstr(json_string_value(json_object_get(status, "problem")),
			       "cannot be written: No such file or directory"));
	json_decref(status);
	assert_true(o->changed); /* it is tried again */
	owners_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_one_has_it),
		cmocka_unit_test(without_a_first_one_nobody_has_it),
		cmocka_unit_test(a_contest_ends_with_one_of_the_two),
		cmocka_unit_test(a_pin_counts_more_than_the_record),
		cmocka_unit_test(who_is_not_configured_has_nothing),
		cmocka_unit_test(who_has_pins_has_no_others),
		cmocka_unit_test(each_has_room_for_itself),
		cmocka_unit_test(peers_and_datanodes_are_under_one_rule),
		cmocka_unit_test(what_a_peer_withdraws_may_move),
		cmocka_unit_test(who_is_removed_has_withdrawn_all),
		cmocka_unit_test(what_is_new_awaits_all_peers),
		cmocka_unit_test(pins_of_peers),
		cmocka_unit_test(peers_have_room_for_themselves),
		cmocka_unit_test_teardown(the_record_outlives_us, remove_file),
		cmocka_unit_test_teardown(what_peers_have_outlives_us, remove_file),
		cmocka_unit_test_teardown(who_comes_and_goes_keeps_what_it_has, remove_file),
		cmocka_unit_test_teardown(who_has_left_gives_way, remove_file),
		cmocka_unit_test_teardown(how_it_is_configured_counts_at_once, remove_file),
		cmocka_unit_test_teardown(a_section_of_that_name_makes_it_like_others, remove_file),
		cmocka_unit_test_teardown(a_contest_is_recorded, remove_file),
		cmocka_unit_test_teardown(a_damaged_record_is_told_and_left_alone, remove_file),
		cmocka_unit_test(a_byte_0_ends_no_record),
		cmocka_unit_test_teardown(a_repaired_record_counts_again, remove_file),
		cmocka_unit_test(a_record_that_cannot_be_written_is_told),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
