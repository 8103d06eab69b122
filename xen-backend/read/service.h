/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * service.h - OPEN, READ and STAT of blocks of this host. ring/dispatch.c calls it for guests,
 * peer/answering/answer.c for other hosts.
 *
 * A reader is a device of a guest or a connection of a peer. A reading is one request of a reader,
 * and follows one order:
 *
 *   reading_open()                         a request that opens a block
 *   reading_begin(), then reading_read()
 *                    or reading_stat()     a request about an open block
 *   reading_seal()                         may the answer be given?
 *   ... the answer is given ...
 *   reading_unseal()
 *   ... the client is told that the answer is there ...
 *   reading_end()
 *
 * reading_seal() is the one place where an answer is judged: it is given only if the block's
 * datanode has not withdrawn the replica, the policy allows the reader to read it now, and the
 * datanode's tokens still grant what they granted to the OPEN. Between
 * reading_seal() and reading_unseal() the datanode's next PUBLISH waits. So nothing may block
 * between the two calls. reading_end() also unseals. It may wait for a disk: it closes the handle
 * if the handle was closed meanwhile, and reads ahead may be under way. So nobody may wait for it.
 *
 * Threads: any. A reading belongs to one thread. Errors: negative errno as listed in vreadif.h.
 */
#ifndef VREAD_READ_SERVICE_H
#define VREAD_READ_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "read/handles.h"

struct block_info;
struct block_name;
struct block_store;
struct policy;

/* Must outlive its readings. */
struct reader {
	struct block_store *store;
	const struct policy *policy;
	struct handles *handles; /* open blocks; handles_new(reader_close) */
	const void *client;      /* readers of one client share fairly; see block_name */
	const char *party;       /* see block_name */
};

/* Kinds of a reader's handles (struct handle). The other kinds are the caller's own. */
enum { HANDLE_BLOCK };

/* Closes a handle of the kind HANDLE_BLOCK; passed to handles_new(). */
void reader_close(struct handle h);

struct reading {
	const struct reader *reader;
	struct handle handle; /* no object: the request is about no open handle */
	uint32_t number;      /* of the handle */
	bool opens;           /* reading_open() opened the handle */
	bool sealed;
};

/*
 * Opens the block `name` and gives it a number (g->number). `name->client`, `name->party` and
 * `name->budget` are set by this function. 0 or negative errno. In both cases reading_end() must
 * follow.
 */
int reading_open(struct reading *g, const struct reader *r, struct block_name *name,
		 struct block_info *ret_info);

/*
 * Looks up an open handle and holds it until reading_end(). If g->handle is of another kind than
 * HANDLE_BLOCK, the functions below must not be called for it, except reading_end().
 */
void reading_begin(struct reading *g, const struct reader *r, uint32_t number);
/* As block_read(). -EBADF: no such handle. */
ssize_t reading_read(struct reading *g, uint64_t offset, void *dst, uint32_t length,
		     uint32_t *ret_crc32c);
/* As block_stat(). -EBADF: no such handle. */
int reading_stat(struct reading *g, struct block_info *ret_info);

/*
 * 0: the answer may be given now; also if the request is about no block. -EAGAIN: the answer must
 * not be given. -ENOENT: as -EAGAIN, for an OPEN; the new handle is closed.
 */
int reading_seal(struct reading *g);
/* No effect if the reading is not sealed. */
void reading_unseal(struct reading *g);
/* May be called again, with no effect. */
void reading_end(struct reading *g);

#endif
