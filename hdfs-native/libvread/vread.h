/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vread.h - reads HDFS blocks through the host that has the disk images of the datanodes
 * (libvread).  Programs include this header; libvread(3) has an example.
 *
 * A connection (struct vread) talks to one backend: through /dev/vread in a guest, or through a
 * UNIX socket on the backend's own host ("local port").  A file (struct vread_file) is one open
 * replica of one block.  All bytes returned match the block's own checksums.
 *
 * Structs: struct vread_options, struct vread_block and struct vread_stat may get more members at
 * their ends.  The functions that take them pass the size that the program was compiled with, so
 * programs and libvread.so.1 of different releases work together.  Set members by name, and all
 * others to 0:
 *
 *	struct vread_options options = {.timeout_ms = 500};
 *
 * A member that the program does not have is 0 for the library.  A member that the library does not
 * have must be 0, else the call fails with -E2BIG; in struct vread_stat it becomes 0.  The other
 * structs are elements of arrays and never change.
 *
 * Units: offsets and lengths are in bytes.  A member whose name ends in _ms is in milliseconds.
 *
 * Pointers: none may be NULL unless its comment says so.
 *
 * Checks: each answer with bytes has their CRC32C, made by the host that verified them.  The
 * library compares it with the bytes of other hosts (VREAD_REMOTE) when they have arrived.  If they
 * differ, the call fails with -EBADE and its bytes must not be used.  vread_read(), vread_pread()
 * and vread_preadv() compare the bytes in the caller's memory.  vread_read_to(), vread_pread_to()
 * and vread_reap() compare the bytes in the slice before they show them, so whatever changes the
 * slice after that is not found.
 *
 * Errors: functions return a negative errno; the variable errno has no meaning.  vreadif.h lists
 * the errors of the backend.  Each call on a connection or file can return -ENOTCONN: there is no
 * backend, the backend went away, or a parent process made the connection.  Each call that asks
 * the backend can return -ENOMEM, -ETIME (no answer within timeout_ms), -EINTR (`interrupted` of
 * the options ended the wait) and -EIO (the image cannot be read, or the answer made no sense).
 * The comments below name the other errors.  A call that fails leaves its out parameters
 * unchanged, except the results of vread_preadv().  A buffer to read into may then hold verified
 * bytes, after -EBADE also wrong ones.  Whenever a call fails, the caller can read the block by
 * other means.
 *
 * Threads: any function may be called on any thread at any time, with these exceptions.  A file
 * is closed once, when no call on it is running.  A connection is closed once, when no call on it
 * or its files is running.  vread_read(), vread_read_to() and vread_seek() share one position
 * for each file and wait for each other.  A call is no cancellation point, and runs with
 * cancellation disabled, also while it calls a sink or `interrupted`: pthread_cancel() takes effect
 * after the call, and the connection stays usable for the other threads.
 *
 * After fork() a child cannot use the parent's connection.  vread_close() and vread_disconnect()
 * in the child do not disturb the parent.
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

/* Settings of a connection.  0 and NULL stand for the default. */
struct vread_options {
	/* Path of a character device or of a UNIX socket.  Default: $VREAD_ENDPOINT (not in
	 * set-user-ID programs), else "/dev/vread". */
	const char *endpoint;
	/* Size of the slice: memory shared with the backend, 64 KiB .. 128 MiB, rounded up to
	 * pages of 4096 bytes.  All data passes through the slice.  Default: 4 MiB, or half as much
	 * again and again, down to 128 KiB, if other processes have the rest. */
	size_t pool_bytes;
	/* Longest wait for one answer.  Default: 2000. */
	unsigned timeout_ms;
	/* How far vread_read() reads ahead, at most half of pool_bytes; less than 4096: off.
	 * Default: 2 MiB. */
	unsigned readahead_bytes;
	/* How many threads of the backend serve this connection, 1 .. 8.  UNIX socket only: the
	 * driver chooses the number for /dev/vread.  Default: one per processor of this machine, at
	 * most 4, and 1 for a slice of at most 128 KiB. */
	unsigned queues;
	/* 1: for vread_publish() and vread_publish_keys().  In a guest the connection then goes
	 * through the node of publishers, endpoint followed by "-publish", and opens no blocks.  A
	 * UNIX socket serves both; the backend goes by the user of the process.  Default: 0. */
	unsigned publisher;
	/* Lets the caller end a wait.  A thread that has waited for 10 ms calls it, and again every
	 * 10 ms.  If it returns another value than 0, the call of that thread fails with -EINTR.
	 * The function must not call this library, and must return soon.  It is not called by
	 * vread_connect() and vread_reap(), nor while the driver of /dev/vread executes
	 * vread_open(), vread_update(), vread_publish() or vread_publish_keys().  NULL: waits end
	 * with an answer or the timeout. */
	int (*interrupted)(void *opaque);
	void *interrupted_opaque;
};

/* The block to open or to publish.  Ids are printable ASCII without space or '/'. */
struct vread_block {
	const char *pool_id; /* "BP-...", 1 .. 255 characters */
	int64_t block_id;
	uint64_t generation_stamp;      /* the replica must have exactly this stamp */
	uint64_t visible_length;        /* bytes to read; 0: the replica's own length */
	const char *const *storage_ids; /* of its replicas; each 1 .. 127 characters */
	size_t num_storage_ids;         /* 0 .. 64; 0: refused, unless the operator allows it */
	const void *token;              /* block token, as Hadoop's Token.write() writes it */
	size_t token_length;            /* 0 .. 8192 bytes; 0: none, token may be NULL */
	/* VREAD_PROTECT_*: how bytes of another host must be protected on their way; 0: as the
	 * hosts have agreed.  If not 0, no other host is asked if the backend uses RDMA only.
	 * -EINVAL: the backend is too old to know.  0 to publish. */
	unsigned protect;
	unsigned reserved; /* 0; -E2BIG: it is not */
};

#define VREAD_PROTECT_ENCRYPT 1u /* encrypted (TLS) */
#define VREAD_PROTECT_MAC 2u     /* encrypted, or with a MAC: nobody can change them unnoticed */

/* Flags of struct vread_stat. */
#define VREAD_FINALIZED 0x1u /* the replica is not under construction */
#define VREAD_REMOTE 0x2u    /* the replica is read from another host */

struct vread_stat {
	uint64_t length;         /* bytes of the replica */
	uint64_t visible_length; /* bytes; where reads end */
	uint64_t generation_stamp;
	uint32_t flags;    /* VREAD_FINALIZED, VREAD_REMOTE */
	uint32_t reserved; /* 0 */
};

/*
 * Connects to a backend.  options may be NULL: all defaults; it need not outlive the call.  Close
 * *ret with vread_disconnect().
 * -EINVAL: an option is outside its range, endpoint is no vread device and no socket, or the path
 * of a socket is longer than 107 bytes.  -ENOSPC: pool_bytes is more than is free, or more than
 * the backend grants; less may succeed, 128 KiB most likely.  -ENOMEM also: the backend has as
 * many connections as it allows.  -EPROTO: the driver or backend has another version of the
 * protocol.  Also any error of stat(2), open(2), mmap(2), eventfd(2), socket(2) and connect(2),
 * such as -ENOENT, -EACCES and -EMFILE.
 *
 * vread_connect_sized(), vread_open_sized(), vread_stat_sized() and vread_publish_sized() are for
 * other languages.  size: bytes of the struct that the caller has; -EINVAL: less than in release
 * 0.1.0.
 */
int vread_connect_sized(struct vread **ret, const struct vread_options *options, size_t size);
static inline int vread_connect(struct vread **ret, const struct vread_options *options)
{
	return vread_connect_sized(ret, options, sizeof(*options));
}
/* Closes the connection and frees v.  All files of v must have been closed.  NULL is ignored. */
void vread_disconnect(struct vread *v);
/* 1: there is a backend.  0: there is none.  A connection over /dev/vread comes back by itself,
 * but not its open files.  A connection over a socket does not come back.  Does not wait. */
int vread_connected(struct vread *v);
/* Asks the backend for a sign of life: 0, -ETIME, -EINTR, -ENOTCONN or -ENOMEM. */
int vread_ping(struct vread *v);

/*
 * Opens the replica that block names, with at least block->visible_length bytes.  Nothing that
 * block points to need outlive the call.  Close *ret with vread_close().
 * -EINVAL: a member of block is outside its range.  -EDESTADDRREQ: block names no storage.
 * -ENODEV, -ENOENT, -EEXIST, -ERANGE: the replica is not there.  -EACCES, -EPERM: the replica may
 * not be read.  -EAGAIN, -EBUSY, -EILSEQ, -ENODATA: the replica cannot be read now.  -EOPNOTSUPP:
 * vRead cannot verify the replica's checksums, whenever it is asked.  -EMFILE: too many open files.
 */
int vread_open_sized(struct vread *v, const struct vread_block *block, size_t size,
		     struct vread_file **ret);
static inline int vread_open(struct vread *v, const struct vread_block *block,
			     struct vread_file **ret)
{
	return vread_open_sized(v, block, sizeof(*block), ret);
}
/* Closes the file and frees f; does not wait.  NULL is ignored.  Asynchronous reads of f that
 * were not reaped are forgotten.  Completions that were reaped must still be released. */
void vread_close(struct vread_file *f);
/* What was known after vread_open() or the last vread_update().  Does not ask the backend. */
int vread_stat_sized(struct vread_file *f, struct vread_stat *ret, size_t size);
static inline int vread_stat(struct vread_file *f, struct vread_stat *ret)
{
	return vread_stat_sized(f, ret, sizeof(*ret));
}
/* Asks the backend to look again, and renews what vread_stat() returns.  0: the replica is the
 * one that was opened.  -EAGAIN: it changed, open it again.  Other errors: as vread_open(), and
 * -EBADF. */
int vread_update(struct vread_file *f);

/*
 * Sequential: reads at the file's position, which starts at 0, and moves the position by the
 * number of bytes returned.  Fewer than length: the visible length was reached, or an error
 * followed, which the next call may return.  0: the end.  Reads that follow one another make the
 * library read ahead while the caller computes.
 * -EINVAL: buf is NULL and length is not 0.  -EAGAIN: the replica changed, open it again.
 * -EBADMSG: checksum mismatch.  -EBADE: the bytes changed on their way, see "Checks"; then the call
 * fails even if bytes before were right, and the position does not move.  Other errors: as
 * vread_open(), and -EBADF.
 */
ssize_t vread_read(struct vread_file *f, void *buf, size_t length);
/* whence: SEEK_SET, SEEK_CUR or SEEK_END (from the visible length).  Returns the new position.
 * -EINVAL: outside 0 .. visible length. */
int64_t vread_seek(struct vread_file *f, int64_t offset, int whence);

/* Positional: returns the number of bytes read.  Fewer than length only at the visible length, 0
 * at or behind it.  A long read goes out as several requests at once.  Errors: as vread_read(). */
ssize_t vread_pread(struct vread_file *f, void *buf, size_t length, uint64_t offset);

/*
 * As vread_read() and vread_pread(), but without a copy: sink is called for each piece, in
 * order, on the calling thread, with the bytes where the backend put them.  data is read-only and
 * valid until sink returns.  sink must not call this library.  If vread_pread_to() fails, or
 * vread_read_to() with -EBADE, ignore the bytes that sink has got.
 */
typedef void vread_sink(void *opaque, const void *data, size_t length);
ssize_t vread_read_to(struct vread_file *f, size_t length, vread_sink *sink, void *opaque);
ssize_t vread_pread_to(struct vread_file *f, size_t length, uint64_t offset, vread_sink *sink,
		       void *opaque);

struct vread_range {
	uint64_t offset; /* bytes from the start of the block */
	size_t length;   /* bytes, at most SSIZE_MAX */
	void *buf;       /* the caller's, of length bytes; may be NULL if length is 0 */
	ssize_t result;  /* out: what vread_pread() would return */
};
/* Vectored: reads count ranges, several at a time.  0: every range was read, perhaps short at the
 * visible length.  Else the first error.  Sets the result of each range, unless it returns
 * -EINVAL (a length or buf is wrong) before the first read. */
int vread_preadv(struct vread_file *f, struct vread_range *ranges, size_t count);

/* One asynchronous read that has ended. */
struct vread_completion {
	struct vread_file *file;
	uint64_t offset;
	void *cookie;     /* as given to vread_submit() */
	ssize_t result;   /* bytes, short only at the visible length; or negative errno */
	const void *data; /* result bytes in the slice, read-only; NULL unless result > 0 */
	uint64_t slot;    /* for the library */
};
/*
 * Starts an asynchronous read of 1 byte to 4 MiB, at most pool_bytes.  The bytes stay in the
 * slice: nothing is copied.  cookie may be NULL.
 * -EAGAIN: no room now; reap and release first.  -EINVAL: length is outside its range.
 * With the default of pool_bytes the slice may have only 128 KiB, so give a size for longer reads.
 */
int vread_submit(struct vread_file *f, uint64_t offset, size_t length, void *cookie);
/*
 * Stores up to count completions of all files of the connection, in any order, and returns their
 * number.  If there are none, waits up to timeout_ms for one (0: does not wait) and returns 0 if
 * none came.  -ENOTCONN: no backend, and nothing left to reap.
 */
int vread_reap(struct vread *v, struct vread_completion *completions, size_t count,
	       unsigned timeout_ms);
/* Gives the memory of a completion back; data is valid until then, also if the backend has gone.
 * Each completion, also one with an error, needs one call.  A second call for a completion does
 * nothing. */
void vread_release(struct vread *v, const struct vread_completion *completion);
/*
 * Returns a descriptor to poll, always the same: readable when vread_reap() may have something to
 * return, and sometimes without cause.  The descriptor belongs to the library; do not read or close
 * it.
 *
 * It is also readable when the backend has gone, until vread_reap() has returned -ENOTCONN.  Then
 * it is quiet.  Over /dev/vread it becomes readable again when a backend is there: vread_reap()
 * then returns 0, and blocks must be opened again.  It stays quiet over a socket, and if the device
 * was removed from the guest: close the connection.
 *
 *   readable -> vread_reap() -ENOTCONN -> not readable -> (backend is back) -> readable
 *       -> vread_reap() 0 -> vread_open()
 *
 * Errors: as epoll_create1(2) and eventfd(2).
 */
int vread_event_fd(struct vread *v);

/*
 * For datanodes: announces what happens to one of their own replicas.  Publish APPEND, TRUNCATE
 * and DELETE before the change.  Once vread_publish() has returned 0 for one of them, nobody reads
 * the block with a generation stamp up to block->generation_stamp through this backend, until
 * FINALIZED is published.  libvread(3) says for how long the backend remembers.
 */
#define VREAD_EVENT_FINALIZED 1 /* the block is complete, and block and .meta are durable (fsync) */
#define VREAD_EVENT_APPEND 2
#define VREAD_EVENT_TRUNCATE 3
#define VREAD_EVENT_DELETE 4
/*
 * block: pool id, block id, generation stamp and exactly one storage id; no token.
 * length: bytes of the replica after the event.
 * -EOPNOTSUPP: this device or backend takes no events.  -EACCES: the device may not publish for
 * that datanode or pool, or the connection is not that of a publisher (struct vread_options; on a
 * UNIX socket: the backend takes no events of this user).  -ENODEV: the storage is not served
 * there.  -EINVAL: block or event is wrong.  After -ETIME the backend may or may not have taken the
 * event, or may still take it.
 */
int vread_publish_sized(struct vread *v, const struct vread_block *block, size_t size,
			unsigned event, uint64_t length);
static inline int vread_publish(struct vread *v, const struct vread_block *block, unsigned event,
				uint64_t length)
{
	return vread_publish_sized(v, block, sizeof(*block), event, length);
}

/* For datanodes: the keys that sign the block tokens of a pool. */
#define VREAD_HMAC_SHA1 1 /* Hadoop's default */
#define VREAD_HMAC_SHA256 2
#define VREAD_HMAC_SHA384 3
#define VREAD_HMAC_SHA512 4
struct vread_signing_key {
	int32_t id;         /* each key of a call has another id */
	unsigned algorithm; /* VREAD_HMAC_* */
	int64_t expiry;     /* ms since 1970; the key is not used after that */
	const void *bytes;
	size_t length; /* 1 .. 64 bytes */
};
/*
 * Replaces the keys of a pool of one datanode.  storage_id: any storage of the datanode.
 * tokens 1: from now on vread_open() of that datanode's replicas in the pool needs a token signed
 * with one of the keys; without keys no token is right.  tokens 0, with count 0: no token is
 * needed.  The backend's configuration may overrule both.  The library wipes its copies of keys.
 * keys may be NULL if count is 0; count: at most 64.
 * Errors: as vread_publish(), -EMFILE: the backend has keys of too many pools, and -EPERM: tokens
 * is 0 and was 1 before.  Only the backend's operator switches tokens off.
 */
int vread_publish_keys(struct vread *v, const char *pool_id, const char *storage_id, int tokens,
		       const struct vread_signing_key *keys, size_t count);

/* Returns a short English text for an error of this library, negative or positive; static
 * storage. */
const char *vread_strerror(int error);

#ifdef __cplusplus
}
#endif

#endif /* VREAD_H */
