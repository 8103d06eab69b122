// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lab-busy [PERCENT]: keeps one processor busy for that part of the time, by default 85 %, until it
 * is killed.  Busy guests of benches run it.  The machine's clock decides, so a program that has to
 * wait for its processor is busy for less.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PERIOD_NS 100000000LL

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	long percent = argc > 1 ? strtol(argv[1], NULL, 10) : 85;
	struct timespec rest;

	if (percent < 1 || percent > 99) {
		fprintf(stderr, "lab-busy: expected a number from 1 to 99\n");
		return 2;
	}
	rest = (struct timespec){.tv_nsec = PERIOD_NS * (100 - percent) / 100};
	for (;;) {
		int64_t end = now() + PERIOD_NS * percent / 100;

		while (now() < end)
			for (volatile int i = 0; i < 1000; i++)
				;
		nanosleep(&rest, NULL);
	}
}
