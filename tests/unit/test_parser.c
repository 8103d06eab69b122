// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a parser may not do, and what vreadd makes of one that answers nonsense, not at
 * all, or dies.  Fake parsers are this very program, under other names.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "parser/channel.h"
#include "parser/parser.h"
#include "parser/sandbox.h"

#define ANSWER_MS 1000U

/* ---- the sandbox ------------------------------------------------------------ */

static void try_open(void)
{
	(void)!open("/dev/null", O_RDONLY);
}

static void try_socket(void)
{
	(void)!socket(AF_UNIX, SOCK_STREAM, 0);
}

static void try_ptrace(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static void try_exec(void)
{
	execl("/bin/true", "true", NULL);
}

static void try_fork(void)
{
	fork();
}

static void try_kill(void)
{
	kill(getppid(), 0);
}

/* What is left of a process that confines itself and calls fn: its status. */
static int status_of(void (*fn)(void))
{
	pid_t pid = fork();
	const char *what;
	int status;

	if (pid == 0) {
		if (sandbox_drop_rights(&what) < 0 || sandbox_filter(&what) < 0)
			_exit(2);
		if (fn)
			fn();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void confined_can_end(void **state)
{
	(void)state;
	assert_int_equal(status_of(NULL), 0);
}

static void assert_killed(void (*fn)(void))
{
	int status = status_of(fn);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

static void confined_cannot_do_more(void **state)
{
	(void)state;
#ifndef __SANITIZE_ADDRESS__
	assert_killed(try_open); /* a sanitizer's report opens files */
#else
	(void)try_open;
#endif
	assert_killed(try_socket);
	assert_killed(try_ptrace);
	assert_killed(try_exec);
	assert_killed(try_fork);
	assert_killed(try_kill);
}

/* ---- fake parsers ----------------------------------------------------------------- */

/* Says yes to all that is told, and fails at the first question. */
static int fake(const char *kind)
{
	struct channel c = {.fd = PARSER_FIRST_FD};
	struct parser_header header;
	struct wire_in in;
	int fd;

	while (channel_receive(&c, &header, &in, &fd) == 0) {
		channel_begin(&c);
		if (header.kind >= PARSER_USE && !strcmp(kind, "dying"))
			raise(SIGKILL);
		if (header.kind >= PARSER_USE && !strcmp(kind, "silent"))
			pause();
		if (header.kind >= PARSER_USE)
			wire_put64(&c.out, UINT64_MAX);
		channel_send(&c, header.kind, 0, -1);
	}
	return 0;
}

static char *folder;
static struct image *image;

static void assert_away(const char *kind, const char *why)
{
	struct parser_settings settings = {.answer_ms = ANSWER_MS};
	const char *dirs[] = {"/dfs"};
	struct parser_states states = {0};
	struct image_layout *layout;
	char program[256], self[256] = "", *missing = NULL;
	struct parser *p;
	json_t *status;

	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(program, sizeof(program), "%s/%s", folder, kind);
	assert_int_equal(symlink(self, program), 0);
	settings.program = program;
	assert_int_equal(parser_new("dn1", &image, 1, &settings, &p), 0);
	assert_int_equal(parser_discover(p, dirs, 1, &layout, &states, &missing), -EBUSY);
	assert_non_null(strstr(missing, why));
	free(missing);
	status = parser_status(p);
	assert_true(json_integer_value(json_object_get(status, "restarts")) >= 1);
	assert_non_null(strstr(json_string_value(json_object_get(status, "last-end")), why));
	json_decref(status);
	parser_free(p);
	unlink(program);
}

static void nonsense_is_refused(void **state)
{
	(void)state;
	assert_away("nonsense", "it answered nonsense");
}

static void one_that_dies_is_away(void **state)
{
	(void)state;
	assert_away("dying", "killed by SIGKILL");
}

static void one_that_cannot_be_run_is_away(void **state)
{
	struct parser_settings settings = {.program = "/nonexistent"};
	struct parser *p;
	struct parser_fs fs;
	char *reason;

	(void)state;
	assert_int_equal(parser_new("dn1", &image, 1, &settings, &p), 0);
	fs = (struct parser_fs){p, 0, NULL};
	assert_int_equal(parser_fs_state(&fs, &reason), FS_UNREADABLE);
	assert_non_null(strstr(reason, "/nonexistent: No such file"));
	free(reason);
	parser_free(p);
}

static void one_that_is_silent_is_ended(void **state)
{
	struct parser_settings settings = {.answer_ms = ANSWER_MS};
	char program[256], self[256] = "", *reason;
	struct parser_fs fs = {0};

	(void)state;
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(program, sizeof(program), "%s/silent", folder);
	assert_int_equal(symlink(self, program), 0);
	settings.program = program;
	assert_int_equal(parser_new("dn1", &image, 1, &settings, &fs.parser), 0);
	assert_int_equal(parser_fs_state(&fs, &reason), FS_UNREADABLE);
	free(reason);
	do {
		json_t *status = parser_status(fs.parser);
		const char *end = json_string_value(json_object_get(status, "last-end"));
		bool told = end && strstr(end, "it did not answer in time");

		json_decref(status);
		if (told)
			break;
		usleep(1000);
	} while (true);
	parser_free(fs.parser);
	unlink(program);
}

/* ---- answers ---------------------------------------------------------------------- */

static int set_up(void **state)
{
	static char template[] = "/tmp/vread-parser-XXXXXX";
	char path[64], *error = NULL;
	int fd;

	(void)state;
	folder = mkdtemp(template);
	snprintf(path, sizeof(path), "%s/image", folder);
	fd = open(path, O_CREAT | O_RDWR, 0600);
	if (fd < 0 || ftruncate(fd, 1 << 20) < 0)
		return -1;
	close(fd);
	return image_open(path, SOURCE_AUTO, &image, &error);
}

static int tear_down(void **state)
{
	char path[64];

	(void)state;
	image_close(image);
	snprintf(path, sizeof(path), "%s/image", folder);
	unlink(path);
	return rmdir(folder);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(confined_can_end),
		cmocka_unit_test(confined_cannot_do_more),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(one_that_dies_is_away),
		cmocka_unit_test(one_that_cannot_be_run_is_away),
		cmocka_unit_test(one_that_is_silent_is_ended),
	};
	const char *name = basename(argv[0]);

	(void)argc;
	if (strcmp(name, "test_parser") != 0)
		return fake(name);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
