// SPDX-License-Identifier: GPL-2.0-or-later
/* Implements failing.h: attaches to the shared file when the program starts, and picks the call. */
#include "failing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct failing *shared;
extern const char __executable_start;

/* By system calls: the C library's functions may be calls that fail. */
__attribute__((constructor)) static void attach(void)
{
	const char *path = getenv("FAILING_CALLS");
	long fd = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
	long at = -1;

	if (fd >= 0)
		at = syscall(SYS_mmap, NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED,
			     fd, 0L);
	if (at == -1) {
		fprintf(stderr, "FAILING_CALLS: no such file\n");
		abort();
	}
	syscall(SYS_close, fd);
	shared = (void *)at;
}

static bool counts(uint64_t caller)
{
	for (uint32_t i = 0; i < shared->num_places; i++)
		if (shared->places[i] == caller)
			return false;
	return true;
}

bool failing_now(const char *name, const void *caller)
{
	uint64_t place = (uint64_t)((const char *)caller - &__executable_start);

	if (!shared || atomic_load(&shared->left) <= 0 || !counts(place) ||
	    atomic_fetch_sub(&shared->left, 1) != 1)
		return false;
	if (shared->once && shared->num_places < FAILING_PLACES)
		shared->places[shared->num_places++] = place;
	shared->caller = place;
	strncpy(shared->name, name, sizeof(shared->name) - 1);
	return true;
}
