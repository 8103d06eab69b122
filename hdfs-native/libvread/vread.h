/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vread.h - read HDFS blocks through the host (libvread).
 *
 * A connection (struct vread) talks to one backend, through /dev/vread in a
 * guest or through a UNIX socket on the same host ("local port").  A file
 * (struct vread_file) is one open replica of one block.  Bytes returned have
 * passed the block's own checksums.  See libvread(3).
 *
 * Errors: functions return a negative errno of those listed in vreadif.h; none
 * touches errno or its out-parameters on failure.  The caller's way out is
 * always to read the block by other means.
 *
 * Threads: everything may be called from any thread.  vread_read and
 * vread_seek share one position per file; the rest do not.  A file is closed
 * once, when no call on it is running.
 */
#ifndef VREAD_H
#define VREAD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VREAD_API_VERSION 1

struct vread;
struct vread_file;

struct vread_options {
	const char *endpoint; /* NULL: $VREAD_ENDPOINT, else "/dev/vread"; a path to a
				    character device or to a UNIX socket */
	size_t pool_bytes; /* pool slice wanted; 0: 4 MiB.  Rounded up to pages, 64 KiB .. 128 MiB */
	unsigned timeout_ms;      /* longest wait for one answer; 0: 2000 */
	unsigned readahead_bytes; /* ahead of a sequential vread_read; 0: default */
	unsigned queues;          /* threads of the backend's that serve this connection over a UNIX
			    socket, up to 8; 0: 1.  /dev/vread has as many as its driver chose */
};

/* Which block.  Strings and token need not outlive the call. */
struct vread_block {
	const char *pool_id; /* "BP-..." */
	int64_t block_id;
	uint64_t generation_stamp;
	uint64_t visible_length;        /* bytes; 0: the replica's own length */
	const char *const *storage_ids; /* candidate replicas; may be NULL */
	size_t num_storage_ids;         /* 0 .. 64 */
	const void *token;              /* block token, as Hadoop writes it; may be NULL */
	size_t token_length;            /* 0 .. 8192 bytes */
};

#define VREAD_FINALIZED 0x1u /* not under construction */
#define VREAD_REMOTE 0x2u    /* read from another host */

struct vread_stat {
	uint64_t length;         /* bytes of the replica */
	uint64_t visible_length; /* where reads end */
	uint64_t generation_stamp;
	uint32_t flags; /* VREAD_FINALIZED, VREAD_REMOTE */
};

/* Connects.  options may be NULL.  -ENOENT, -EACCES, -ENOTCONN (no backend),
 * -ENOSPC (not so many pool_bytes free), -ENOMEM, -EINVAL. */
int vread_connect(struct vread **ret, const struct vread_options *options);
/* Closes the connection; every file of it must have been closed. NULL is ignored. */
void vread_disconnect(struct vread *v);
/* 1 while the backend answers, 0 after it went away.  A connection over
 * /dev/vread comes back by itself; files opened before do not. */
int vread_connected(struct vread *v);
/* Asks the backend for a sign of life: 0, or -ETIME, -ENOTCONN. */
int vread_ping(struct vread *v);

int vread_open(struct vread *v, const struct vread_block *block, struct vread_file **ret);
void vread_close(struct vread_file *f);
int vread_stat(struct vread_file *f, struct vread_stat *ret);
/* Asks the backend to look again: 0 if the replica is still the one opened,
 * -EAGAIN if it changed and must be opened anew.  */
int vread_update(struct vread_file *f);

/* Sequential: reads at the file's position and moves it; 0 at the end.  Reads
 * ahead while the caller computes. */
ssize_t vread_read(struct vread_file *f, void *buf, size_t length);
/* whence: SEEK_SET, SEEK_CUR, SEEK_END (the visible length).  Returns the new position; -EINVAL outside 0 .. visible length */
int64_t vread_seek(struct vread_file *f, int64_t offset, int whence);

/* Positional: returns bytes read, short only at the visible length. Any length;
 * requests go out in parallel. */
ssize_t vread_pread(struct vread_file *f, void *buf, size_t length, uint64_t offset);

/*
 * The same two, but the bytes are handed to sink where the backend put them
 * instead of being copied: piece by piece, in order, in the calling thread.
 * data is valid during the call only; a sink must not call this library.  When
 * vread_pread_to fails, what was handed over before is worth nothing.
 */
typedef void vread_sink(void *opaque, const void *data, size_t length);
ssize_t vread_read_to(struct vread_file *f, size_t length, vread_sink *sink, void *opaque);
ssize_t vread_pread_to(struct vread_file *f, size_t length, uint64_t offset, vread_sink *sink,
		       void *opaque);

struct vread_range {
	uint64_t offset; /* bytes from the start of the block */
	size_t length;
	void *buf;
	ssize_t result; /* out: as vread_pread's */
};
/* Vectored: all ranges, several in flight. 0 if every range was read (even
 * short at the end), else the first error; each range has its result. */
int vread_preadv(struct vread_file *f, struct vread_range *ranges, size_t count);

/*
 * Asynchronous, no copy.  vread_submit() starts a READ of 1 .. 4 MiB (at most
 * the slice); vread_reap() yields completions of the whole connection; data points into
 * the slice, read-only, and stays valid until vread_release().
 * vread_submit: 0, or -EAGAIN when no room or slot is free: reap and release first.
 * vread_reap: how many completions were stored (waits for one up to timeout_ms, 0:
 * only look); 0 if none came in time.
 */
struct vread_completion {
	struct vread_file *file;
	uint64_t offset;
	void *cookie;     /* as given to vread_submit */
	ssize_t result;   /* bytes or negative errno */
	const void *data; /* NULL unless result > 0 */
	uint64_t slot;    /* for the library */
};
int vread_submit(struct vread_file *f, uint64_t offset, size_t length, void *cookie);
int vread_reap(struct vread *v, struct vread_completion *completions, size_t count,
	       unsigned timeout_ms);
void vread_release(struct vread *v, const struct vread_completion *completion);
/* Readable when vread_reap() has something to yield; owned by the library. */
int vread_event_fd(struct vread *v);

/*
 * For datanodes: what happens to their own replicas.  The last three are published before
 * it happens: once vread_publish() has returned 0, nobody reads that block with a
 * generation stamp up to block's through this backend until it is FINALIZED again.
 */
#define VREAD_EVENT_FINALIZED 1 /* block and .meta are durable (fsync), and complete */
#define VREAD_EVENT_APPEND 2
#define VREAD_EVENT_TRUNCATE 3
#define VREAD_EVENT_DELETE 4
/* block: pool id, block id, generation stamp and exactly one storage id; no token.
 * length: bytes of the replica after the event.  0, or -EOPNOTSUPP: this device or backend
 * takes no events, -EACCES: not of this storage, -ENODEV: the storage is not served there,
 * -ETIME: whether it was taken is not known. */
int vread_publish(struct vread *v, const struct vread_block *block, unsigned event,
		  uint64_t length);

/*
 * For datanodes whose block tokens are on: what those of a pool are signed with.  From then on
 * vread_open() of that datanode's replicas in the pool needs a token signed with one of the keys (tokens
 * 1; none is right without keys), or none (0, without keys), unless the backend is configured
 * otherwise.  They replace those of before.
 */
#define VREAD_HMAC_SHA1 1 /* Hadoop's, unless configured otherwise */
#define VREAD_HMAC_SHA256 2
#define VREAD_HMAC_SHA384 3
#define VREAD_HMAC_SHA512 4
struct vread_signing_key {
	int32_t id;
	unsigned algorithm; /* VREAD_HMAC_* */
	int64_t expiry;     /* ms since 1970 */
	const void *bytes;
	size_t length; /* 1 .. 64 bytes */
};
/* storage_id: any of the datanode's; count: at most 64.  Errors as vread_publish(), and -EMFILE: the
 * backend knows too many pools. */
int vread_publish_keys(struct vread *v, const char *pool_id, const char *storage_id, int tokens,
		       const struct vread_signing_key *keys, size_t count);

/* A short English text for a negative errno as this library returns it; static storage. */
const char *vread_strerror(int error);

#ifdef __cplusplus
}
#endif

#endif /* VREAD_H */
