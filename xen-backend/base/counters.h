/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counters.h - counts of requests and answers, for the status document.  ring/ keeps one struct
 * counters per device, peer/ one per peer and direction.
 *
 * Threads: workers add, the control thread reads; there is no lock.
 */
#ifndef VREAD_COUNTERS_H
#define VREAD_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

#include <jansson.h>

#define COUNTERS_MAX_ERRNO 134

struct counters {
	_Atomic uint64_t opens; /* answered with success */
	_Atomic uint64_t reads;
	_Atomic uint64_t bytes;
	/* included in the three above: answered by other hosts */
	_Atomic uint64_t remote_opens;
	_Atomic uint64_t remote_reads;
	_Atomic uint64_t remote_bytes;
	_Atomic uint64_t published;                  /* events */
	_Atomic uint64_t errors[COUNTERS_MAX_ERRNO]; /* by errno, any operation */
};

/* Counts one response that went out. */
void counters_response(struct counters *c, uint8_t operation, int32_t status);
/* Counts a response that another host answered.  Call it in addition to counters_response(). */
void counters_remote(struct counters *c, uint8_t operation, int32_t status);
/* sum += c */
void counters_add(struct counters *sum, const struct counters *c);
/* {"opens", "reads", "bytes", "remote": {"opens", "reads", "bytes"}, "published",
 * "errors": {"ENOENT": 1}}.  Returns a new reference. */
json_t *counters_json(const struct counters *c);

#endif
