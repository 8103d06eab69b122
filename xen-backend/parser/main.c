// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vread-parser - interprets a datanode's images for vreadd, in a confined process. vreadd starts
 * it (datanode/process.c); datanode/parser.h says why, parser-protocol/protocol.h how the two
 * talk.
 *
 * All threads are made before the process gives up the system calls that make threads. They
 * answer nothing before the process is confined.
 */
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "parser-protocol/protocol.h"
#include "parser/sandbox.h"
#include "parser/serve.h"

/* `started`: all threads exist. `confined`: the system-call filter is in force for all of them. */
static pthread_barrier_t started, confined;

/* If the other end of one channel is closed, those of all channels are: the process ends. */
__attribute__((noreturn)) static void answer(int channel)
{
	pthread_barrier_wait(&confined);
	serve(PARSER_FIRST_FD + channel);
	_exit(EXIT_SUCCESS);
}

static void *run(void *arg)
{
	pthread_barrier_wait(&started);
	answer((int)(intptr_t)arg);
}

static bool was_started_by_vreadd(void)
{
	struct stat st;

	for (unsigned i = 0; i < PARSER_CHANNELS; i++)
		if (fstat(PARSER_FIRST_FD + (int)i, &st) < 0 || !S_ISSOCK(st.st_mode))
			return false;
	return true;
}

static void fail(int log, const char *what, int error)
{
	dprintf(log, "vread-parser: %s: %s\n", what, strerror(-error));
	exit(EXIT_FAILURE);
}

/* Silences standard error. Once the parser reads a guest's images, the guest may control what
 * the parser prints; only the report of a sanitizer is wanted then. Returns a descriptor for
 * messages until then (close() it). */
static int silence(void)
{
	int log = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, PARSER_FIRST_FD + (int)PARSER_CHANNELS);

#ifndef __SANITIZE_ADDRESS__
	dup2(STDOUT_FILENO, STDERR_FILENO); /* /dev/null */
#endif
	return log;
}

int main(void)
{
	const char *what;
	int log, r;

	if (!was_started_by_vreadd()) {
		fputs("vread-parser is started by vreadd(8); do not start it by hand\n", stderr);
		return EXIT_FAILURE;
	}
	log = silence();
	r = clock_start();
	if (r < 0)
		fail(log, "cannot take the time from the file that " CLOCK_VARIABLE " names", r);
	r = sandbox_drop_rights(PARSER_FIRST_FD, &what);
	if (r < 0)
		fail(log, what, r);
	json_object_seed(0); /* this reads a file, so not later, when the first object is made */
	pthread_barrier_init(&started, NULL, PARSER_CHANNELS);
	pthread_barrier_init(&confined, NULL, PARSER_CHANNELS);
	for (intptr_t i = 1; i < (intptr_t)PARSER_CHANNELS; i++) {
		pthread_t thread;

		r = -pthread_create(&thread, NULL, run, (void *)i);
		if (r < 0)
			fail(log, "cannot start a thread", r);
	}
	pthread_barrier_wait(&started);
	r = sandbox_filter(&what);
	if (r < 0)
		fail(log, what, r);
	r = serve_ready(PARSER_FIRST_FD);
	if (r < 0)
		fail(log, "cannot tell vreadd that it is ready", r);
	close(log);
	answer(0);
}
