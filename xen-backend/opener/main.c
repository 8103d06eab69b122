// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vread-opener - opens the images of datanodes for a vreadd that is an ordinary user.  vreadd
 * starts it (control/privileges.c); disk/opener_protocol.h says why, and how the two talk.
 *
 * All threads are made before the process gives up the system calls that make threads.  They read
 * no request before the process is confined.  The connection to xenstored, for keys (named.h), is
 * made before, too.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xenstore.h>

#include "disk/opener_protocol.h"
#include "opener/answer.h"
#include "opener/named.h"
#include "opener/rights.h"

/* `started`: all threads exist.  `confined`: the system-call filter is in force for all of them. */
static pthread_barrier_t started, confined;

/* If the other end of one channel is closed, those of all channels are: the process ends. */
__attribute__((noreturn)) static void answer(int channel)
{
	pthread_barrier_wait(&confined);
	answer_requests(OPENER_FIRST_FD + channel);
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

	for (unsigned i = 0; i < OPENER_CHANNELS; i++)
		if (fstat(OPENER_FIRST_FD + (int)i, &st) < 0 || !S_ISSOCK(st.st_mode))
			return false;
	return true;
}

static int fail(const char *what, int error)
{
	fprintf(stderr, "vread-opener: %s: %s\n", what, strerror(-error));
	return EXIT_FAILURE;
}

static int start_threads(void)
{
	int r = 0;

	pthread_barrier_init(&started, NULL, OPENER_CHANNELS);
	pthread_barrier_init(&confined, NULL, OPENER_CHANNELS);
	for (intptr_t i = 1; i < (intptr_t)OPENER_CHANNELS && r == 0; i++) {
		pthread_t thread;

		r = -pthread_create(&thread, NULL, run, (void *)i);
	}
	if (r == 0)
		pthread_barrier_wait(&started);
	return r;
}

/* Connects to xenstored.  libxenstore does not tell the descriptor of its connection, so this file
 * looks which one is free before: the first one that is opened takes it.  NULL: there is no
 * xenstored here. */
static struct xs_handle *connect_store(int *ret_fd)
{
	struct xs_handle *xs;
	struct stat st;

	*ret_fd = dup(OPENER_FIRST_FD);
	close(*ret_fd);
	xs = xs_open(0);
	if (xs && fstat(*ret_fd, &st) == 0 && (S_ISSOCK(st.st_mode) || S_ISCHR(st.st_mode)))
		return xs;
	if (xs)
		xs_close(xs);
	*ret_fd = -1;
	return NULL;
}

/* argv[1]: the path of vread.conf. */
int main(int argc, char **argv)
{
	struct xs_handle *xs;
	const char *what;
	int store, r;

	if (argc != 2 || !was_started_by_vreadd()) {
		fputs("vread-opener is started by vreadd(8); do not start it by hand\n", stderr);
		return EXIT_FAILURE;
	}
	mallopt(M_ARENA_MAX, 1); /* glibc opens files to find out how many arenas it may make */
	xs = connect_store(&store);
	named_begin(argv[1], xs);
	r = rights_drop(OPENER_FIRST_FD, &what);
	if (r < 0)
		return fail(what, r);
	r = start_threads();
	if (r < 0)
		return fail("cannot start a thread", r);
	r = rights_restrict(store, &what);
	if (r < 0)
		return fail(what, r);
	r = answer_ready(OPENER_FIRST_FD);
	if (r < 0)
		return fail("cannot tell vreadd that it is ready", r);
	answer(0);
}
