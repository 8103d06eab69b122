/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * block.h - opens HDFS blocks by name and reads them verified. ring/dispatch.c calls it for local
 * guests, peer/answering/ for peers.
 *
 * A store knows the datanodes served on this host (their images and layouts). block_open() finds
 * the replica of (pool, block id, generation stamp) on a datanode that the caller's policy allows.
 * -EDESTADDRREQ: the request names no storage, and the policy requires one.
 * block_read() returns bytes that match the replica's own checksums. After reading the bytes,
 * block_read() checks that the replica is still the same.
 *
 * The owner of a file system may write to it at any time. Reads see the last committed state.
 * -EBUSY: the file system is used in a way that cannot be followed. -EAGAIN: the replica is gone or
 * is changing.
 *
 * Threads: any function on any thread. Several threads may read a handle at once. A handle is
 * closed only when no thread reads it.
 *
 * Errors: negative errno as listed in vreadif.h.
 */
#ifndef VREAD_BLOCK_H
#define VREAD_BLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct block_store;
struct block_handle;
struct budget;
struct policy;

/* The block to open. The strings need not outlive the call. */
struct block_name {
	const char *pool_id;
	int64_t block_id;
	uint64_t genstamp;
	uint64_t visible_length;        /* bytes; 0: the replica's length */
	const char *const *storage_ids; /* of its replicas, as the NameNode named them */
	unsigned num_storages;
	const void *token;   /* the block token, as Hadoop writes it */
	size_t token_length; /* 0: no token */
	/* The client: only compared, for fairness. NULL: no particular client. */
	const void *client;
	/* Who the client belongs to, whatever its connections: "kvm:guest1". NULL: nobody in
	 * particular. */
	const char *party;
	/* The memory of the handle is taken out of it; must outlive the handle. NULL: no limit. */
	struct budget *budget;
	/*
	 * All storage_ids are known to be on other hosts. If no local image holds the block, the
	 * images are then not examined again.
	 */
	bool elsewhere;
	/* Bytes that come from another host must come encrypted; encrypted or with a MAC. */
	bool encrypt, mac;
};

struct block_info {
	uint64_t length; /* bytes of the replica */
	uint64_t genstamp;
	uint32_t flags; /* VREAD_BLOCK_* */
};

/* -EMFILE: the budget has no room for the handle. */
int block_open(struct block_store *s, const struct policy *p, const struct block_name *name,
	       struct block_handle **ret, struct block_info *ret_info);

/*
 * Reads [offset, offset + length) into dst. The range is cut at the visible length. Only verified
 * bytes are ever written to dst, which may be memory that a guest sees. Returns the number of bytes
 * read, 0 at or behind the end, or negative errno. On an error dst holds a verified prefix or its
 * old content.
 * *ret_crc32c: the CRC32C of the bytes as they were verified, 0 for no bytes. Others may have
 * written to dst meanwhile; who reads dst compares.
 */
ssize_t block_read(struct block_handle *h, uint64_t offset, void *dst, uint32_t length,
		   uint32_t *ret_crc32c);

/* Checks the replica again and returns its present length. */
int block_stat(struct block_handle *h, struct block_info *ret_info);

void block_close(struct block_handle *h);

/* A PUBLISH event: what a datanode announces about one of its own replicas. */
struct block_event {
	const char *pool_id;
	const char *storage_id;
	int64_t block_id;
	uint64_t genstamp;
	unsigned event; /* VREAD_PUBLISH_* */
};

/*
 * Applies an event (datanode/published.h). The event counts for the datanode that the storage
 * belongs to, and only if p may publish for that datanode. After block_publish() returned 0,
 * block_hold() of a withdrawn replica never returns true, and no answer given under an earlier
 * block_hold() that returned true is still on its way.
 */
int block_publish(struct block_store *s, const struct policy *p, const struct block_event *e);

/*
 * The block tokens of one pool of a datanode (policy/tokens.h): whether its blocks are opened only
 * with a token, and the keys that sign tokens.
 */
struct block_keys {
	const char *pool_id;
	const char *storage_id; /* any storage of that datanode */
	bool required;
	const void *keys; /* as in a KEYS request */
	size_t keys_length;
};

/*
 * Takes the keys for the datanode of that storage only, and only if p may publish for that
 * datanode, as block_publish() does. -EMFILE: too many pools. -EINVAL: malformed keys.
 */
int block_take_keys(struct block_store *s, const struct policy *p, const struct block_keys *k);

/*
 * An answer about h (bytes read, an open, a stat) is given between block_hold() and
 * block_release(), and only if block_hold() returned true. False: the owner has withdrawn the
 * replica meanwhile, or p no longer allows the replica. Each block_hold() needs one
 * block_release(), at once: a hold keeps owners waiting in block_publish().
 */
bool block_hold(struct block_handle *h, const struct policy *p);
/*
 * True if the datanode's tokens still grant what they granted to the OPEN of h (tokens_hold()).
 * False: the block must be opened again, and is judged anew.
 */
bool block_is_granted(struct block_handle *h);
void block_release(struct block_handle *h);

#endif
