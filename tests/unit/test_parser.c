// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests what a parser cannot do, and what vreadd does with a parser that answers nonsense, does not
 * answer, or dies.  This program runs again under other names as the fake parsers.
 */
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <libgen.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "eventually.h"
#include "own_clock.h"
#include "parser-protocol/channel.h"
#include "datanode/parser.h"
#include "parser/sandbox.h"

#define ANSWER_MS 1000U

/* The C library's waitid(), except that no process ends for the caller while `unkillable` is set:
 * as if the process were in a read of a disk that hangs. */
static atomic_bool unkillable;
int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	while (atomic_load(&unkillable))
		usleep(1000);
	return (int)syscall(SYS_waitid, type, id, info, options, NULL);
}

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

/* A socket of vreadd's, as a parser has it. */
static int channel_of_parent(void)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	close(ends[0]);
	return ends[1];
}

/* Runs a process that confines itself and calls fn.  Returns its wait status. */
static int status_of(void (*fn)(void))
{
	int channel = channel_of_parent(), status;
	pid_t pid = fork();
	const char *what;

	if (pid == 0) {
		if (sandbox_drop_rights(channel, &what) < 0 || sandbox_filter(&what) < 0)
			_exit(2);
		if (fn)
			fn();
		_exit(0);
	}
	close(channel);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void confined_can_end(void **state)
{
	(void)state;
	assert_int_equal(status_of(NULL), 0);
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void sort_much(void)
{
	static int numbers[100000];

	for (int i = 0; i < 100000; i++)
		numbers[i] = i * 7919 % 100003;
	qsort(numbers, 100000, sizeof(numbers[0]), by_value);
	for (int i = 1; i < 100000; i++)
		if (numbers[i - 1] > numbers[i])
			_exit(1);
}

static void confined_can_sort(void **state)
{
	(void)state;
	assert_int_equal(status_of(sort_much), 0);
}

/* What libext2fs 1.47.2 does before it reads a variable of its environment. */
static void ask_about_rights(void)
{
	(void)getuid();
	(void)geteuid();
	(void)getgid();
	(void)getegid();
	prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
}

static void confined_can_ask_about_rights(void **state)
{
	(void)state;
	assert_int_equal(status_of(ask_about_rights), 0);
}

static void try_to_be_traced(void)
{
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
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
#ifndef __SANITIZE_ADDRESS__
	assert_killed(try_to_be_traced); /* a sanitizer's report calls prctl() */
#else
	(void)try_to_be_traced;
#endif
}

/* ---- in a thread that was there before ------------------------------------------- */

static pthread_barrier_t started, confined;

static void *run_confined(void *arg)
{
	void (*fn)(void) = *(void (**)(void))arg;

	pthread_barrier_wait(&started);
	pthread_barrier_wait(&confined);
	fn();
	return NULL;
}

/* As status_of(), but fn is called on a second thread, which started before the confinement. */
static int status_in_thread(void (*fn)(void))
{
	int channel = channel_of_parent(), status;
	pid_t pid = fork();
	pthread_t thread;
	const char *what;

	if (pid == 0) {
		pthread_barrier_init(&started, NULL, 2);
		pthread_barrier_init(&confined, NULL, 2);
		if (sandbox_drop_rights(channel, &what) < 0 ||
		    pthread_create(&thread, NULL, run_confined, &fn))
			_exit(2);
		pthread_barrier_wait(&started);
		if (sandbox_filter(&what) < 0)
			_exit(2);
		pthread_barrier_wait(&confined);
		pthread_join(thread, NULL);
		_exit(0);
	}
	close(channel);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* Frees small pieces: the C library gives each large piece back at once anyway. */
static void give_memory_back(void)
{
	static void *piece[4000];

	for (int i = 0; i < 4000; i++)
		piece[i] = calloc(1, 1000);
	for (int i = 0; i < 4000; i++)
		free(piece[i]);
}

static void confined_can_give_memory_back(void **state)
{
	(void)state;
	assert_int_equal(status_of(give_memory_back), 0);
	assert_int_equal(status_in_thread(give_memory_back), 0);
}

#ifdef __x86_64__
/* Calls getpid() as a 32-bit program does. */
static void call_as_i386(void)
{
	long result = 20;

	__asm__ volatile("int $0x80" : "+a"(result) : : "memory");
}

static void calls_of_other_processors_end_the_process(void **state)
{
	int status = status_in_thread(call_as_i386);

	(void)state;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
		skip(); /* this kernel has no 32-bit calls */
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}
#endif

/* ---- fake parsers ----------------------------------------------------------------- */

#define NOT_FOUND "there is none"

static void say(struct channel *c, uint32_t kind, int32_t result, int fd)
{
	channel_send(c, kind, result, fd);
}

static void say_ready(int fd)
{
	struct channel c = {.fd = fd};

	channel_begin(&c);
	say(&c, PARSER_READY, 0, -1);
}

static bool is(const char *kind, const char *wanted)
{
	return !strcmp(kind, wanted);
}

/* A file beside a fake.  When the file exists, the fake "late" becomes ready. */
static const char *go_file(const char *program)
{
	static char path[256];

	snprintf(path, sizeof(path), "%.*s/go", (int)(strrchr(program, '/') - program), program);
	return path;
}

/* What a fake does before the first question. */
static void begin_badly(const char *kind)
{
	static char bytes[1 << 16];
	struct channel c = {.fd = PARSER_FIRST_FD};

	memset(bytes, 0xff, sizeof(bytes));
	if (is(kind, "late"))
		eventually(access(go_file(program_invocation_name), F_OK) == 0);
	if (is(kind, "unready")) {
		channel_begin(&c);
		say(&c, PARSER_SETUP, 0, -1);
		return;
	}
	say_ready(PARSER_FIRST_FD);
	for (int i = 0; is(kind, "filling") && i < (int)PARSER_CHANNELS; i++)
		while (send(PARSER_FIRST_FD + i, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			;
	channel_begin(&c);
	wire_put_text(&c.out, NOT_FOUND);
	if (is(kind, "early"))
		say(&c, PARSER_DISCOVER, -ENOENT, -1);
}

/* Answers the first question after the setup wrongly. */
static void answer_badly(struct channel *c, const char *kind, uint32_t asked)
{
	struct channel other = {.fd = PARSER_FIRST_FD + 1};

	if (is(kind, "dying"))
		raise(SIGKILL);
	if (is(kind, "ending"))
		_exit(0);
	if (is(kind, "silent"))
		pause();
	if (is(kind, "closing")) {
		close(PARSER_FIRST_FD);
		pause();
	}
	if (is(kind, "hoarding")) {
		channel_begin(&other);
		say(&other, asked, 0, PARSER_FIRST_FD);
		raise(SIGKILL);
	}
	if (is(kind, "strange"))
		say(c, asked, -ENOTCONN, -1);
	wire_put64(&c->out, UINT64_MAX);
	say(c, asked, 0, -1);
}

/* Answers of the fakes that behave well except in one point. */
static bool answer_well(struct channel *c, const char *kind, uint32_t asked, unsigned *states)
{
	int fd = is(kind, "descriptors") ? 0 : -1;

	if (asked == PARSER_STATE && is(kind, "flaky")) {
		if (++*states % 50 == 0)
			raise(SIGKILL);
		wire_put32(&c->out, FS_CLEAN);
		wire_put_text(&c->out, "");
		say(c, asked, 0, fd);
		return true;
	}
	if (asked != PARSER_DISCOVER || !(fd == 0 || is(kind, "late")))
		return false;
	wire_put_text(&c->out, NOT_FOUND);
	say(c, asked, -ENOENT, fd);
	return true;
}

/* Answers the questions of the setup with success. */
static void serve_fake(const char *kind, int number)
{
	struct channel c = {.fd = PARSER_FIRST_FD + number};
	struct parser_header header;
	struct wire_in in;
	unsigned states = 0;
	int fd;

	while (channel_receive(&c, &header, &in, &fd) == 0) {
		channel_begin(&c);
		if (header.kind >= PARSER_USE) {
			if (!answer_well(&c, kind, header.kind, &states))
				answer_badly(&c, kind, header.kind);
			continue;
		}
		say(&c, header.kind, 0, is(kind, "descriptors") ? 0 : -1);
		if (is(kind, "twice"))
			say(&c, header.kind, 0, -1);
	}
	_exit(0);
}

static const char *fake_kind;

static void *fake_channel(void *arg)
{
	serve_fake(fake_kind, (int)(intptr_t)arg);
	return NULL;
}

static int fake(const char *kind)
{
	fake_kind = kind;
	begin_badly(kind);
	for (intptr_t i = 1; i < (intptr_t)PARSER_CHANNELS; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, fake_channel, (void *)i);
	}
	serve_fake(kind, 0);
	return 0;
}

static char *folder;
static struct image *image;

/* Starts a fake of this kind.  stop_fake() ends it. */
static struct parser *start_fake(const char *kind)
{
	struct parser_settings settings = {.answer_ms = ANSWER_MS};
	char program[256], self[256] = "";
	struct parser *p;

	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(program, sizeof(program), "%s/%s", folder, kind);
	assert_int_equal(symlink(self, program), 0);
	settings.program = program;
	assert_int_equal(parser_new("dn1", &image, 1, &settings, &p), 0);
	return p;
}

static void post(void *sem)
{
	sem_post(sem);
}

static void end_parser(struct parser *p)
{
	sem_t ended;

	sem_init(&ended, 0, 0);
	parser_free(p, post, &ended);
	while (sem_wait(&ended) < 0)
		;
	sem_destroy(&ended);
}

static void remove_fake(const char *kind)
{
	char program[256];

	snprintf(program, sizeof(program), "%s/%s", folder, kind);
	unlink(program);
}

static void stop_fake(struct parser *p, const char *kind)
{
	end_parser(p);
	remove_fake(kind);
}

static int look_for(struct parser *p, char **ret_missing)
{
	const char *dirs[] = {"/dfs"};
	struct parser_states states = {0};
	struct image_layout *layout;

	return parser_discover(p, dirs, 1, &layout, &states, ret_missing);
}

static int64_t number_of(struct parser *p, const char *key)
{
	json_t *status = parser_status(p);
	int64_t number = json_integer_value(json_object_get(status, key));

	json_decref(status);
	return number;
}

static int64_t restarts_of(struct parser *p)
{
	return number_of(p, "restarts");
}

static bool status_says(struct parser *p, const char *key, const char *text)
{
	json_t *status = parser_status(p);
	const char *said = json_string_value(json_object_get(status, key));
	bool says = said && strstr(said, text);

	json_decref(status);
	return says;
}

static void assert_away(const char *kind, const char *why)
{
	struct parser *p = start_fake(kind);
	char *missing = NULL;
	json_t *status;

	assert_int_equal(look_for(p, &missing), -EBUSY);
	if (!strstr(missing, why))
		fail_msg("%s: %s", kind, missing);
	free(missing);
	status = parser_status(p);
	assert_true(json_integer_value(json_object_get(status, "restarts")) >= 1);
	assert_non_null(strstr(json_string_value(json_object_get(status, "last-end")), why));
	json_decref(status);
	stop_fake(p, kind);
}

static void nonsense_is_refused(void **state)
{
	(void)state;
	assert_away("nonsense", "its answer was malformed");
	assert_away("twice", "it could not be set up: Bad message");
	assert_away("early", "Bad message"); /* noticed with READY or later */
	assert_away("filling", "Bad message");
	assert_away("unready", "it did not report that it is ready: Bad message");
}

/* A guest's client would take such an error for another one. */
static void unknown_errors_are_refused(void **state)
{
	struct parser *p = start_fake("strange");
	struct parser_fs fs = {p, 0, NULL};
	char *reason;

	(void)state;
	assert_int_equal(parser_fs_state(&fs, &reason), FS_UNREADABLE);
	assert_non_null(strstr(reason, "its answer was malformed"));
	free(reason);
	stop_fake(p, "strange");
}

struct finder {
	struct parser *parser;
	char *missing;
	int result;
};

static void *find(void *arg)
{
	struct finder *f = arg;

	f->result = look_for(f->parser, &f->missing);
	return NULL;
}

/* The time that a parser needs to start does not count as time to answer. */
static void one_that_starts_late_is_waited_for(void **state)
{
	struct finder f = {start_fake("late"), NULL, 0};
	pthread_t thread;
	char go[64];

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, find, &f), 0);
	eventually(number_of(f.parser, "pid"));
	own_clock_advance(10 * ANSWER_MS);
	snprintf(go, sizeof(go), "%s/go", folder);
	close(open(go, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	pthread_join(thread, NULL);
	assert_int_equal(f.result, -ENOENT);
	assert_string_equal(f.missing, NOT_FOUND);
	free(f.missing);
	assert_int_equal(restarts_of(f.parser), 0);
	stop_fake(f.parser, "late");
	unlink(go);
}

static unsigned count_descriptors(void)
{
	DIR *fds = opendir("/proc/self/fd");
	unsigned count = 0;

	while (readdir(fds))
		count++;
	closedir(fds);
	return count;
}

static void descriptors_are_not_taken(void **state)
{
	unsigned before = count_descriptors();
	struct parser *p = start_fake("descriptors");
	char *missing;
	unsigned with_one;

	(void)state;
	assert_int_equal(look_for(p, &missing), -ENOENT);
	free(missing);
	with_one = count_descriptors();
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(look_for(p, &missing), -ENOENT);
		free(missing);
	}
	assert_int_equal(count_descriptors(), with_one);
	assert_int_equal(with_one, before + PARSER_CHANNELS);
	stop_fake(p, "descriptors");
	assert_int_equal(count_descriptors(), before);
}

static void one_that_dies_is_away(void **state)
{
	(void)state;
	assert_away("dying", "killed by SIGKILL");
	assert_away("ending", "it ended with status 0");
	assert_away("closing", "killed by SIGKILL");
	assert_away("hoarding", "killed by SIGKILL"); /* one of its sockets stays open */
}

struct asker {
	struct parser *parser;
	pthread_t thread;
	unsigned answered, away;
};

static void *ask_on(void *arg)
{
	struct asker *a = arg;
	struct parser_fs fs = {a->parser, 0, NULL};

	for (unsigned i = 0; i < 100; i++) {
		char *reason;

		if (parser_fs_state(&fs, &reason) == FS_CLEAN)
			a->answered++;
		else
			a->away++;
		free(reason);
		own_clock_advance(1); /* restarts come after pauses */
	}
	return NULL;
}

/* There are more askers than channels, and the parser dies again and again. */
static void everybody_is_answered(void **state)
{
	struct parser *p = start_fake("flaky");
	struct asker askers[2 * PARSER_CHANNELS] = {0};
	unsigned answered = 0, away = 0;

	(void)state;
	for (unsigned i = 0; i < 2 * PARSER_CHANNELS; i++) {
		askers[i].parser = p;
		assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_on, &askers[i]), 0);
	}
	for (unsigned i = 0; i < 2 * PARSER_CHANNELS; i++) {
		pthread_join(askers[i].thread, NULL);
		answered += askers[i].answered;
		away += askers[i].away;
	}
	assert_int_equal(answered + away, 2 * PARSER_CHANNELS * 100);
	assert_true(answered > 0);
	assert_true(restarts_of(p) >= 1);
	stop_fake(p, "flaky");
}

static void ends_at_any_moment(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct parser *p = start_fake("flaky");

		for (unsigned n = 0; n < i * 400; n++)
			restarts_of(p);
		stop_fake(p, "flaky");
	}
}

static void one_that_cannot_be_killed_keeps_nobody_waiting(void **state)
{
	struct parser *p = start_fake("silent");
	sem_t ended;

	(void)state;
	eventually(status_says(p, "state", "running"));
	sem_init(&ended, 0, 0);
	atomic_store(&unkillable, true);
	parser_free(p, post, &ended);
	assert_int_equal(sem_trywait(&ended), -1);
	atomic_store(&unkillable, false);
	while (sem_wait(&ended) < 0)
		;
	sem_destroy(&ended);
	remove_fake("silent");
}

/* Must run last: vreadd has waited for every process that it started. */
static void nothing_is_left(void **state)
{
	(void)state;
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
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
	end_parser(p);
}

static void *ask_state(void *arg)
{
	struct parser_fs fs = {arg, 0, NULL};
	char *reason;

	assert_int_equal(parser_fs_state(&fs, &reason), FS_UNREADABLE);
	free(reason);
	return NULL;
}

static void one_that_is_silent_is_ended(void **state)
{
	struct parser *p = start_fake("silent");
	pthread_t thread;

	(void)state;
	eventually(status_says(p, "state", "running"));
	assert_int_equal(pthread_create(&thread, NULL, ask_state, p), 0);
	/* This thread cannot see when exactly the question is asked. */
	eventually((own_clock_advance(ANSWER_MS / 10),
		    status_says(p, "last-end", "it did not answer in time")));
	pthread_join(thread, NULL);
	stop_fake(p, "silent");
}

/* ---- slow ones ---------------------------------------------------------------------- */

#define SLOW_LIMIT_MS 50U /* each step of a slow peer takes 1 ms */
#define LARGE (4U << 20)

static void *read_slowly(void *arg)
{
	int fd = *(int *)arg;
	char bytes[256]; /* small, so that the sender needs many calls */

	while (recv(fd, bytes, sizeof(bytes), 0) > 0)
		own_clock_advance(1);
	return NULL;
}

static void *write_slowly(void *arg)
{
	int fd = *(int *)arg;
	struct parser_header header = {LARGE, PARSER_LIST, 0};

	if (send(fd, &header, sizeof(header), MSG_NOSIGNAL) < 0)
		return NULL;
	while (send(fd, "", 1, MSG_NOSIGNAL) > 0)
		own_clock_advance(1);
	return NULL;
}

static void who_is_slow_is_not_waited_for(void **state)
{
	static uint8_t large[LARGE];
	struct channel c = {0};
	struct parser_header header;
	struct wire_in in;
	pthread_t thread;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	c.fd = pair[0];
	channel_limit(&c, SLOW_LIMIT_MS);
	assert_int_equal(pthread_create(&thread, NULL, read_slowly, &pair[1]), 0);
	channel_begin(&c);
	wire_put(&c.out, large, sizeof(large));
	assert_int_equal(channel_send(&c, PARSER_LIST, 0, -1), -ETIMEDOUT);
	shutdown(pair[0], SHUT_RDWR);
	pthread_join(thread, NULL);
	channel_clear(&c);
	close(pair[1]);

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	c.fd = pair[0];
	channel_limit(&c, SLOW_LIMIT_MS);
	assert_int_equal(pthread_create(&thread, NULL, write_slowly, &pair[1]), 0);
	assert_int_equal(channel_receive(&c, &header, &in, NULL), -ETIMEDOUT);
	shutdown(pair[0], SHUT_RDWR);
	pthread_join(thread, NULL);
	channel_clear(&c);
	close(pair[1]);
}

/* ---- signals ------------------------------------------------------------------------ */

#define MANY_SIGNALS 100U

struct signaller {
	pthread_t thread, target;
	int socket; /* shut down after MANY_SIGNALS, if the limit did not hold */
	atomic_bool over;
};

static atomic_uint signals_taken;

static void take_signal(int number)
{
	(void)number;
	signals_taken++;
}

/* Sends the next signal when the last one was handled, so that the waiting thread ran between. */
static void *send_signals(void *arg)
{
	struct signaller *s = arg;

	for (unsigned sent = 1; !s->over && sent <= MANY_SIGNALS; sent++) {
		pthread_kill(s->target, SIGURG);
		while (!s->over && signals_taken < sent)
			sched_yield();
		own_clock_advance(1);
	}
	if (!s->over)
		shutdown(s->socket, SHUT_RDWR);
	return NULL;
}

/* Returns the result of a wait on a channel while signals come more often than the limit. */
static int under_signals(int (*wait)(struct channel *c))
{
	struct signaller s = {.target = pthread_self()};
	struct channel c = {0};
	int pair[2], r;

	signals_taken = 0;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	c.fd = pair[0];
	s.socket = pair[1];
	channel_limit(&c, SLOW_LIMIT_MS);
	assert_int_equal(pthread_create(&s.thread, NULL, send_signals, &s), 0);
	r = wait(&c);
	s.over = true;
	pthread_join(s.thread, NULL);
	channel_clear(&c);
	close(pair[1]);
	return r;
}

static int send_large(struct channel *c)
{
	static uint8_t large[LARGE];

	channel_begin(c);
	wire_put(&c->out, large, sizeof(large));
	return channel_send(c, PARSER_LIST, 0, -1);
}

static int receive_nothing(struct channel *c)
{
	struct parser_header header;
	struct wire_in in;

	return channel_receive(c, &header, &in, NULL);
}

/* queue_join() sends such signals to a thread that waits for a parser. */
static void signals_do_not_put_a_limit_off(void **state)
{
	struct sigaction action = {.sa_handler = take_signal}, old;

	(void)state;
	sigaction(SIGURG, &action, &old);
	assert_int_equal(under_signals(receive_nothing), -ETIMEDOUT);
	assert_int_equal(under_signals(send_large), -ETIMEDOUT);
	sigaction(SIGURG, &old, NULL);
}

/* ---- all of it ---------------------------------------------------------------------- */

static int set_up(void **state)
{
	static char template[] = "/tmp/vread-parser-XXXXXX";
	char path[64], *error = NULL;
	int fd;

	(void)state;
	own_clock_start();
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
		cmocka_unit_test(confined_can_sort),
		cmocka_unit_test(confined_can_ask_about_rights),
		cmocka_unit_test(confined_cannot_do_more),
		cmocka_unit_test(confined_can_give_memory_back),
#ifdef __x86_64__
		cmocka_unit_test(calls_of_other_processors_end_the_process),
#endif
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(one_that_dies_is_away),
		cmocka_unit_test(one_that_cannot_be_run_is_away),
		cmocka_unit_test(one_that_is_silent_is_ended),
		cmocka_unit_test(unknown_errors_are_refused),
		cmocka_unit_test(one_that_starts_late_is_waited_for),
		cmocka_unit_test(descriptors_are_not_taken),
		cmocka_unit_test(everybody_is_answered),
		cmocka_unit_test(ends_at_any_moment),
		cmocka_unit_test(who_is_slow_is_not_waited_for),
		cmocka_unit_test(signals_do_not_put_a_limit_off),
		cmocka_unit_test(one_that_cannot_be_killed_keeps_nobody_waiting),
		cmocka_unit_test(nothing_is_left),
	};
	const char *name = basename(argv[0]);

	(void)argc;
	if (strcmp(name, "test_parser") != 0)
		return fake(name);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
