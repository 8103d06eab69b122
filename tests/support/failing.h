/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * failing.h - makes one call of a program fail.  failing_calls.c (memory, descriptors, files) and
 * tests/xen/failing_verbs.c (RDMA) list the calls.  A test runs the program that is linked with
 * one of the lists; the linker leads the listed calls there (--wrap, see the Makefile).
 *
 * The file $FAILING_CALLS is a struct failing, which the program shares with the test
 * (tests/support/failing_calls.py).  The call that fails leaves its name and where it was made.
 */
#ifndef FAILING_H
#define FAILING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FAILING_PLACES 200

struct failing {
	/* The left-th call from now fails.  0, or less: no call fails. */
	_Atomic int64_t left;
	uint64_t caller; /* of the call that failed: offset in the program, for addr2line */
	char name[48];
	/* Calls from these places count no more.  If `once` is set, a call that fails adds its
	 * place. */
	uint32_t once, num_places;
	uint64_t places[FAILING_PLACES];
};

/* True if this call is to fail.  Any thread may ask. */
bool failing_now(const char *name, const void *caller);

#define FAILS(name) failing_now(#name, __builtin_return_address(0))

/* CALL(TYPE, NAME, PARAMETERS, ARGUMENTS, WHAT A FAILURE DOES): the failure is an expression. */
#define CALL(type, name, parameters, arguments, failure)                  \
	type __real_##name parameters;                                    \
	type __wrap_##name parameters;                                    \
	type __wrap_##name parameters                                     \
	{                                                                 \
		return FAILS(name) ? (failure) : __real_##name arguments; \
	}

#endif
