/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * block.h - HDFS blocks by name, read verified.
 *
 * A store knows the datanodes served on this host (their images and layouts).
 * block_open() finds the replica of (pool, block id, generation stamp) on one
 * the caller's policy allows; block_read() returns bytes that have passed the
 * replica's own checksums and whose replica was still the same afterwards.
 * A file system may be written to by its owner all the time: what is read is its
 * last committed state.  -EBUSY: it is used in a way that cannot be followed;
 * -EAGAIN: the replica is gone or changing.
 *
 * Threads: any function on any thread; a handle may be read by several
 * threads at once, and is closed only when no one reads it.
 * Errors: negative errno as listed in vreadif.h.
 */
#ifndef VREAD_BLOCK_H
#define VREAD_BLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct block_store;
struct block_handle;
struct policy;
struct token_keys;

/* What to open; strings need not outlive the call. */
struct block_name {
	const char *pool_id;
	int64_t block_id;
	uint64_t genstamp;
	uint64_t visible_length;        /* bytes; 0: the replica's length */
	const char *const *storage_ids; /* candidates; none: any */
	unsigned num_storages;
	const void *token;   /* the block token, as Hadoop writes it */
	size_t token_length; /* 0: none */
	const void *client;  /* for whom: only compared, for fairness; NULL: nobody in particular */
	bool elsewhere; /* all candidates are known to be on other hosts: nothing is amiss without them */
};

struct block_info {
	uint64_t length; /* bytes of the replica */
	uint64_t genstamp;
	uint32_t flags; /* VREAD_BLOCK_* */
};

int block_open(struct block_store *s, const struct policy *p, const struct block_name *name,
	       struct block_handle **ret, struct block_info *ret_info);

/*
 * Reads [offset, offset + length) cut at the visible length into dst.  Only
 * verified bytes are ever written to dst, which may be memory a guest sees.
 * Returns bytes read, 0 at or behind the end, negative errno (then dst holds
 * a verified prefix or its old content).
 */
ssize_t block_read(struct block_handle *h, uint64_t offset, void *dst, uint32_t length);

/* Re-validates the replica and tells its present length. */
int block_stat(struct block_handle *h, struct block_info *ret_info);

void block_close(struct block_handle *h);

/* What a datanode says of a replica of its own. */
struct block_event {
	const char *pool_id;
	const char *storage_id;
	int64_t block_id;
	uint64_t genstamp;
	unsigned event; /* VREAD_PUBLISH_* */
};

/*
 * Takes an event into account, if p may publish for the datanode that storage belongs to:
 * see published.h.  After it returned 0 no block_hold() of a withdrawn replica
 * says true, and no answer given under one that did is still on its way.
 */
int block_publish(struct block_store *s, const struct policy *p, const struct block_event *e);

/* Of a datanode's pool: whether its blocks are only opened with a token, and the keys tokens are signed
 * with (policy/tokens.h). */
struct block_keys {
	const char *pool_id;
	const char *storage_id; /* any of that datanode's */
	bool required;
	const struct token_keys *keys;
};

/* As block_publish(): of that datanode only, if p may publish for it.  -EMFILE: too many pools. */
int block_take_keys(struct block_store *s, const struct policy *p, const struct block_keys *k);

/*
 * What was read, opened or looked at through h is answered between these two, and only if block_hold()
 * is true.  Else the owner has withdrawn the replica meanwhile, or p allows it no more.
 * Each hold needs one release, at once: a hold keeps owners waiting.
 */
bool block_hold(struct block_handle *h, const struct policy *p);
void block_release(struct block_handle *h);

#endif
