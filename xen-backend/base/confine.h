/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * confine.h - confines a process that vreadd started: vread-parser, vread-opener and
 * vread-key-agent call it at their start.
 *
 * A confined process ends with vreadd.  It writes no core, gets no new privileges, and can make
 * only the system calls that it names, and those that every such process needs: to answer on its
 * sockets, to use memory and threads, and to end.
 */
#ifndef VREAD_BASE_CONFINE_H
#define VREAD_BASE_CONFINE_H

#include <seccomp.h>
#include <stddef.h>

/* In a build with a sanitizer its reports need more system calls and more memory. */
#ifdef __SANITIZE_ADDRESS__
#define CONFINE_SANITIZED 1
#else
#define CONFINE_SANITIZED 0
#endif

/* The last step before threads are made: user and capabilities are what they shall be.  channel: a
 * socket that vreadd made with socketpair().  Returns 0, or negative errno with *ret_what (static
 * string). */
int confine_process(int channel, const char **ret_what);
/* If root: becomes nobody, with no group.  Call it before confine_process().  Returns as above. */
int confine_become_nobody(const char **ret_what);

/* A system call that is allowed only if one of its arguments is as described. */
struct confine_form {
	int call; /* SCMP_SYS(...) */
	struct scmp_arg_cmp argument;
};

struct confine_calls {
	const int *any; /* SCMP_SYS(...), with any arguments */
	size_t num_any;
	const struct confine_form *form;
	size_t num_forms;
};

/* Allows these system calls from now on, in all existing threads.  Any other kills the process with
 * SIGSYS.  Returns as above. */
int confine_calls(const struct confine_calls *allowed, const char **ret_what);

#endif
