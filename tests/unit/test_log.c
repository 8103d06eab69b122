/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests base/log.c: journal entries and lines on stderr, with a fake journal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/log_limit.h"
#include "own_clock.h"

static char entry[4096];    /* fields, each with a newline */
static char lines[1 << 16]; /* the first fields of all entries */
static int journal_answer;

/* Replaces the function of libsystemd. */
int sd_journal_sendv(const struct iovec *fields, int count);
int sd_journal_sendv(const struct iovec *fields, int count)
{
	entry[0] = '\0';
	if (strlen(lines) + fields[0].iov_len + 2 < sizeof(lines)) {
		strncat(lines, fields[0].iov_base, fields[0].iov_len);
		strcat(lines, "\n");
	}
	for (int i = 0; i < count; i++) {
		strncat(entry, fields[i].iov_base, fields[i].iov_len);
		strcat(entry, "\n");
	}
	return journal_answer;
}

static int log_file;

/* Makes stderr a file that JOURNAL_STREAM names. */
static int become_journal(void **state)
{
	char stream[64], path[] = "/tmp/test-log-XXXXXX";
	struct stat st;

	(void)state;
	own_clock_start();
	log_file = mkstemp(path);
	unlink(path);
	fstat(log_file, &st);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	dup2(log_file, STDERR_FILENO);
	log_set_name("vreadd");
	return 0;
}

static const char *written(void)
{
	static char text[4096];
	ssize_t n = pread(log_file, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	if (ftruncate(log_file, 0) == 0)
		lseek(log_file, 0, SEEK_SET);
	return text;
}

static void lines_without_fields(void **state)
{
	(void)state;
	log_datanode(LOG_LEVEL_WARN, "dn1", "not there");
	assert_string_equal(written(), "<4>datanode dn1: not there\n");
	assert_string_equal(entry, "");
}

static void fields_of_what_is_named(void **state)
{
	(void)state;
	log_use_journal();
	log_datanode(LOG_LEVEL_ERROR, "dn1", "refused: %s", "a\nb");
	assert_string_equal(entry, "MESSAGE=datanode dn1: refused: a?b\nPRIORITY=3\n"
				   "SYSLOG_IDENTIFIER=vreadd\nVREAD_DATANODE=dn1\n");
	log_peer(LOG_LEVEL_WARN, "host-b", "from %s: gone", "192.0.2.1:7");
	assert_non_null(strstr(entry, "\nVREAD_PEER=host-b\n"));
	log_device(LOG_LEVEL_INFO, "xen:7/0", "removed");
	assert_non_null(strstr(entry, "PRIORITY=6\n"));
	assert_non_null(strstr(entry, "MESSAGE=xen:7/0: removed\n"));
	assert_non_null(strstr(entry, "\nVREAD_DOMID=7\nVREAD_DEVICE=xen:7/0\n"));
	log_device(LOG_LEVEL_INFO, "local:1000/12", "disconnected");
	assert_non_null(strstr(entry, "\nVREAD_DEVICE=local:1000/12\n"));
	assert_null(strstr(entry, "VREAD_DOMID"));
	log_info("datanode dn1: %s", "x");
	assert_null(strstr(entry, "VREAD_"));
	assert_string_equal(written(), "");
}

/* A record goes out whatever the level, has fields of its own, and is not limited. */
static void records(void **state)
{
	const struct log_field fields[] = {{"VREAD_USER", "7"}, {"VREAD_POOL", "BP-\n1"}};

	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	lines[0] = '\0';
	for (int i = 0; i < 1000; i++)
		log_record(LOG_EVENT_OPENED, "xen:7/0", fields, 2, "block %d", i);
	log_set_level(LOG_LEVEL_INFO);
	assert_non_null(strstr(lines, "block 0\n"));
	assert_non_null(strstr(lines, "block 999\n"));
	assert_non_null(strstr(entry, "VREAD_DEVICE=xen:7/0\nVREAD_USER=7\nVREAD_POOL=BP-?1\n"));
}

static void events_have_an_id(void **state)
{
	char seen[LOG_EVENTS][33];

	(void)state;
	for (unsigned e = 0; e < LOG_EVENTS; e++) {
		const char *id;

		log_event((enum log_event)e, LOG_LEVEL_WARN, "b", "x");
		id = strstr(entry, "\nMESSAGE_ID=");
		assert_non_null(id);
		snprintf(seen[e], sizeof(seen[e]), "%s", id + 12);
		assert_int_equal(strspn(seen[e], "0123456789abcdef"), 32);
		for (unsigned other = 0; other < e; other++)
			assert_string_not_equal(seen[e], seen[other]);
	}
	log_peer(LOG_LEVEL_WARN, "b", "x");
	assert_null(strstr(entry, "MESSAGE_ID"));
}

static void long_lines_and_errno(void **state)
{
	char text[3000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	errno = ENOENT;
	log_datanode(LOG_LEVEL_ERROR, "dn1", "%s: %m", text);
	assert_int_equal(errno, ENOENT);
	assert_true(strlen(entry) < 2300);
	log_datanode(LOG_LEVEL_ERROR, text, "%m");
	assert_true(strlen(entry) < 700);
	assert_non_null(strstr(entry, "xx: No such file or directory\n"));
	log_error("cannot: %m");
	assert_non_null(strstr(entry, "MESSAGE=cannot: No such file or directory\n"));
}

static void a_journal_that_takes_nothing(void **state)
{
	(void)state;
	journal_answer = -ENOENT;
	log_datanode(LOG_LEVEL_WARN, "dn1", "x");
	assert_string_equal(written(), "<4>datanode dn1: x\n");
	journal_answer = 0;
}

/* ---- limits ---- */

/* Writes n lines about a device.  Returns how many went out. */
static unsigned provoke(const char *device, unsigned n)
{
	unsigned out = 0;

	for (unsigned i = 0; i < n; i++) {
		entry[0] = '\0';
		log_device(LOG_LEVEL_WARN, device, "line");
		out += entry[0] != '\0';
	}
	return out;
}

static void a_source_is_limited(void **state)
{
	uint64_t before = log_limit_left_out();

	(void)state;
	assert_int_equal(provoke("xen:8/0", LOG_LIMIT_BURST + 50), LOG_LIMIT_BURST);
	assert_int_equal(provoke("xen:8/1", 1), 0); /* the same guest */
	assert_int_equal(log_limit_left_out() - before, 51);

	/* Others are not. */
	assert_int_equal(provoke("xen:80/0", 1), 1);
	entry[0] = '\0';
	log_peer(LOG_LEVEL_WARN, "xen:8", "line");
	assert_string_not_equal(entry, "");
	entry[0] = '\0';
	log_warn("the operator did this");
	assert_string_not_equal(entry, "");
}

static void lines_left_out_are_told(void **state)
{
	(void)state;
	provoke("xen:9/0", LOG_LIMIT_BURST + 7);
	own_clock_advance(999);
	assert_int_equal(provoke("xen:9/0", 1), 0);
	own_clock_advance(1);
	lines[0] = '\0';
	assert_int_equal(provoke("xen:9/0", 50), LOG_LIMIT_EACH_SECOND);
	assert_non_null(strstr(lines, "MESSAGE=xen:9/0: 8 lines of xen:9 were left out: more than "
				      "10 a second\n"));
	own_clock_advance(3600000);
	assert_int_equal(provoke("xen:9/0", LOG_LIMIT_BURST + 1), LOG_LIMIT_BURST);
}

/* Users of the local port, and whoever connects elsewhere. */
static void strangers_have_few_lines(void **state)
{
	char name[32];
	unsigned out = 0;

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "local:1000/%u", i);
		out += provoke(name, 1);
	}
	assert_int_equal(out, LOG_LIMIT_STRANGER);
	assert_int_equal(provoke("local:1001/100", 1), 1);
	own_clock_advance(59999);
	assert_int_equal(provoke("local:1000/101", 1), 0);
	own_clock_advance(1);
	lines[0] = '\0';
	assert_int_equal(provoke("local:1000/102", 2), 1);
	assert_non_null(
		strstr(lines, "81 lines of local:1000 were left out: more than 1 a minute\n"));

	for (unsigned i = 0; i < LOG_LIMIT_STRANGER; i++)
		log_source(LOG_LEVEL_WARN, "kvm:g1", "refused");
	entry[0] = '\0';
	log_source(LOG_LEVEL_WARN, "kvm:g1", "refused");
	assert_string_equal(entry, "");
	assert_int_equal(provoke("kvm:g1", 30), 30); /* the guest itself */
	log_source(LOG_LEVEL_WARN, "another", "refused");
	assert_string_equal(entry, "MESSAGE=refused\nPRIORITY=4\nSYSLOG_IDENTIFIER=vreadd\n");
}

static void debugging_has_no_limit(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_DEBUG);
	provoke("xen:10/0", LOG_LIMIT_BURST + 1);
	entry[0] = '\0';
	log_device(LOG_LEVEL_DEBUG, "xen:10/0", "line");
	assert_string_not_equal(entry, "");
	log_set_level(LOG_LEVEL_INFO);
}

/* More sources than the table has places for. */
static void many_sources(void **state)
{
	char name[32];

	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "xen:%u/0", 1000 + i);
		own_clock_advance(1);
		assert_int_equal(provoke(name, 1), 1);
	}
	assert_int_equal(provoke(name, LOG_LIMIT_BURST), LOG_LIMIT_BURST - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_without_fields),
		cmocka_unit_test(fields_of_what_is_named),
		cmocka_unit_test(records),
		cmocka_unit_test(events_have_an_id),
		cmocka_unit_test(long_lines_and_errno),
		cmocka_unit_test(a_journal_that_takes_nothing),
		cmocka_unit_test(a_source_is_limited),
		cmocka_unit_test(lines_left_out_are_told),
		cmocka_unit_test(strangers_have_few_lines),
		cmocka_unit_test(debugging_has_no_limit),
		cmocka_unit_test(many_sources),
	};

	return cmocka_run_group_tests(tests, become_journal, NULL);
}
