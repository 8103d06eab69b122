/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * audit.h - who opened which block: a line in the log for each OPEN, if the operator wants that
 * (`audit = yes` in vread.conf(5)).  ring/dispatch.c calls it for devices,
 * peer/answering/answer.c for other hosts.
 *
 * A line is written before the answer is given.  No limit of lines holds for it: a guest that opens
 * many blocks writes many lines, and the worker that answers waits for the journal.
 *
 * Threads: any.
 */
#ifndef VREAD_POLICY_AUDIT_H
#define VREAD_POLICY_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

struct audit_open {
	const char *device; /* NULL: another host asked */
	const char *peer;   /* that host; NULL: a device asked */
	uint32_t user;      /* uid in the guest, or of the program, plus 1; 0: unknown */
	const char *pool_id;
	int64_t block_id;
	int status; /* 0; -EINPROGRESS: another host is asked; or the error of the answer */
};

/* From now on lines are written, or not.  Default: not. */
void audit_set(bool on);
void audit_open(const struct audit_open *o);

#endif
