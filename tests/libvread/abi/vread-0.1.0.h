/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of vread.h of release 0.1.0: its structs and the functions that take them.  Frozen:
 * programs that were compiled with it run with each libvread.so.1.  Never change this file.
 */
#ifndef VREAD_0_1_0_H
#define VREAD_0_1_0_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct vread;
struct vread_file;

struct vread_options {
	const char *endpoint;
	size_t pool_bytes;
	unsigned timeout_ms;
	unsigned readahead_bytes;
	unsigned queues;
};

struct vread_block {
	const char *pool_id;
	int64_t block_id;
	uint64_t generation_stamp;
	uint64_t visible_length;
	const char *const *storage_ids;
	size_t num_storage_ids;
	const void *token;
	size_t token_length;
};

struct vread_stat {
	uint64_t length;
	uint64_t visible_length;
	uint64_t generation_stamp;
	uint32_t flags;
};

int vread_connect(struct vread **ret, const struct vread_options *options);
void vread_disconnect(struct vread *v);
int vread_open(struct vread *v, const struct vread_block *block, struct vread_file **ret);
void vread_close(struct vread_file *f);
int vread_stat(struct vread_file *f, struct vread_stat *ret);

ssize_t vread_pread(struct vread_file *f, void *buf, size_t length, uint64_t offset);

struct vread_range {
	uint64_t offset;
	size_t length;
	void *buf;
	ssize_t result;
};
int vread_preadv(struct vread_file *f, struct vread_range *ranges, size_t count);

struct vread_completion {
	struct vread_file *file;
	uint64_t offset;
	void *cookie;
	ssize_t result;
	const void *data;
	uint64_t slot;
};
int vread_submit(struct vread_file *f, uint64_t offset, size_t length, void *cookie);
int vread_reap(struct vread *v, struct vread_completion *completions, size_t count,
	       unsigned timeout_ms);
void vread_release(struct vread *v, const struct vread_completion *completion);

#define VREAD_EVENT_FINALIZED 1
int vread_publish(struct vread *v, const struct vread_block *block, unsigned event,
		  uint64_t length);

#define VREAD_HMAC_SHA1 1
struct vread_signing_key {
	int32_t id;
	unsigned algorithm;
	int64_t expiry;
	const void *bytes;
	size_t length;
};
int vread_publish_keys(struct vread *v, const char *pool_id, const char *storage_id, int tokens,
		       const struct vread_signing_key *keys, size_t count);

#endif
