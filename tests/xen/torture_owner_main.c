// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * torture-owner - the owner of a torture test (tests/image/torture_owner.h), in a guest of its own.
 * shared/test_torture.py runs it.
 *
 *   torture-owner MOUNT-POINT SEED REST
 *
 * Until standard input ends, writes its ledger to standard output: one line "SLOT ID VERSION" for
 * each change, "SLOT 0 0" if the slot is now empty. Then prints as JSON how many changes it made.
 * After each burst of changes it sleeps for REST milliseconds. On machines that share one
 * processor, blocks would otherwise be deleted before a reader gets to them.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../image/torture_owner.h"

#define BURST 16U /* changes */

static struct torture_ledger ledger;
static useconds_t rest;
static atomic_bool stop;

static void tell(unsigned slot, uint64_t is)
{
	static unsigned changes;

	printf("%u %" PRIu64 " %" PRIu64 "\n", slot, is >> 32, is & UINT32_MAX);
	fflush(stdout);
	if (++changes % BURST == 0)
		usleep(rest);
}

static void *wait_for_end(void *arg)
{
	ssize_t n;
	char c;

	(void)arg;
	do
		n = read(STDIN_FILENO, &c, 1);
	while (n > 0 || (n < 0 && errno == EINTR));
	atomic_store(&stop, true);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t waiter;

	if (argc != 4) {
		fputs("usage: torture-owner MOUNT-POINT SEED REST\n", stderr);
		return 2;
	}
	ledger.changed = tell;
	rest = (useconds_t)atoi(argv[3]) * 1000;
	if (pthread_create(&waiter, NULL, wait_for_end, NULL))
		return 2;
	torture_own(&ledger, argv[1], (uint64_t)atoll(argv[2]), &stop);
	pthread_join(waiter, NULL);
	printf("{\"operations\": %" PRIu64 ", \"deleted\": %" PRIu64 "}\n",
	       atomic_load(&ledger.operations), atomic_load(&ledger.deleted));
	return 0;
}
