/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * vread_ioctl.h - the system calls on /dev/vread, with which a process reads HDFS blocks through
 * the host.  libvread and other programs in a guest include it; vread-core implements it.
 *
 * A device of role datanode has a second node, /dev/vread-publish.  Who may open it may PUBLISH and
 * give KEYS, and gets EACCES for OPEN.  On /dev/vread, PUBLISH and KEYS get EACCES; they get EBADF
 * if the node was not opened for writing.  All other calls are the same on both nodes.
 *
 * One open file is one client.  It has at most one slice of the device's pool, its handles and its
 * requests in flight; all of them end with the open file.  The slice is mapped with mmap(), at
 * offset 0, shared and read-only, and READs put bytes there.  The mapping can be copied from, but
 * not written, executed, grown or pinned (vmsplice, O_DIRECT), because its pages may serve
 * another process later.
 *
 * Connections: a handle ends with its connection (see `generation`): it must still be closed, and
 * all other calls on it fail with ENOTCONN.  The slice and its mapping stay.  When the device is
 * gone for good, all calls except CLOSE and REAP fail with ENODEV, what was submitted can still be
 * reaped, and the mapping stays readable.
 *
 * poll(): POLLIN completions can be reaped; POLLOUT a READ can be submitted (needs a slice);
 * POLLERR no backend is connected; POLLHUP the device is gone for good.
 *
 * Units: lengths and offsets are in bytes, timeout_ms in milliseconds.  "in" members are set by the
 * caller, "out" members by a call that succeeds.
 *
 * Errors: each ioctl fails with EFAULT if it cannot access the memory of the process, and with
 * EINVAL if an "in" member is outside its range.  OPEN, STAT, SUBMIT, PUBLISH and KEYS fail with
 * ENOTCONN while no backend is connected, or if it goes away meanwhile.  OPEN, STAT, PUBLISH and
 * KEYS can fail with ENOMEM, with ETIME, with EINTR (the process is being killed), and with the
 * errors of the backend, which vreadif.h lists.  ENOTTY: this driver does not know the request.
 * The comments below name the other errors.
 *
 * Structs of ioctls may grow at their ends; the number of an ioctl says how long the caller's is.
 * A driver that knows less takes the longer struct if what it does not know is 0, and fails with
 * E2BIG if not; it does not set what it does not know.  A driver that knows more takes missing
 * members for 0.  No struct becomes shorter (ENOTTY).  struct vread_ioc_read and struct
 * vread_ioc_completion, which lie in arrays, stay as they are.
 *
 * mmap(): EACCES: writable or executable.  EINVAL: there is no slice, the offset is not 0, or the
 * mapping is longer than the slice.
 *
 * Threads: all calls may be made on any thread at any time.
 */
#ifndef _UAPI_VREAD_IOCTL_H
#define _UAPI_VREAD_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define VREAD_IOC_ABI 1 /* version of this interface */

/* INFO: the device and its present state. */
struct vread_ioc_info {
	__u32 abi;             /* out: VREAD_IOC_ABI */
	__u32 connected;       /* out: 1 while a backend is connected, else 0 */
	__u32 generation;      /* out: counts connections; 0 before the first */
	__u32 max_in_flight;   /* out: most READs of one open file, in flight or not yet reaped */
	__u64 pool_bytes;      /* out: room for all slices; 0 before the first connection */
	__u64 pool_free_bytes; /* out: not given to any slice */
	__u64 slice_bytes;     /* out: this file's slice; 0: none yet */
	char role[16];         /* out: "client" or "datanode", NUL-terminated */
};

/*
 * SLICE: takes a slice of the pool, filled with zeros.  EBUSY: this open file already has one.
 * ENOSPC: the pool has no such run of pages free.  A part of the pool is only for slices of at most
 * 128 KiB, so ENOSPC does not mean that a small slice finds no room (VREAD_SMALL_SHARES of
 * vreadif.h).  ENOTCONN: the device was never connected, so there is no pool.  ENOMEM; EINTR.
 */
struct vread_ioc_slice {
	__u64 bytes; /* in: wanted, not 0; out: given, rounded up to pages of 4096 bytes */
};

/* OPEN: finds a block and opens it.  EACCES: also on /dev/vread-publish.  EMFILE: also if this open
 * file has 4096 open handles. */
struct vread_ioc_open {
	__u64 data;           /* in: user address of struct vread_open_data, see vreadif.h */
	__u32 data_length;    /* in: bytes of data, with its strings and token, 8 .. 16384 */
	__u32 timeout_ms;     /* in: 0: no limit; ETIME when it has passed */
	__s64 block_id;       /* in */
	__u64 genstamp;       /* in: the replica must have exactly this stamp */
	__u64 visible_length; /* in: bytes, where reads end; 0: the replica's own length */
	__u64 length;         /* out: bytes of the replica */
	__u32 handle;         /* out: valid in this open file, never 0 */
	__u32 flags;          /* out: VREAD_BLOCK_* */
};

/* CLOSE takes a handle, as __u32, and never waits.  EBADF: no such handle. */

/* STAT: checks that the handle's replica is still the same.  EBADF: no such handle. */
struct vread_ioc_stat {
	__u32 handle;     /* in */
	__u32 timeout_ms; /* in: 0: no limit; ETIME when it has passed */
	__u64 length;     /* out: bytes of the replica now */
	__u64 genstamp;   /* out */
	__u32 flags;      /* out: VREAD_BLOCK_* */
	__u32 reserved;   /* in: 0 */
};

/*
 * SUBMIT: starts READs, in order, and returns how many were started.  If the first could not be
 * started, fails with its error.  EAGAIN: the rings are full, or max_in_flight is reached; poll for
 * POLLOUT.  EBADF: no such handle.  EBUSY: another READ in flight uses a page of the range.
 */
struct vread_ioc_read {
	__u64 user_data;    /* in: returned with the completion */
	__u64 offset;       /* in: bytes from the start of the block */
	__u32 handle;       /* in */
	__u32 length;       /* in: bytes, 1 .. 4 MiB */
	__u32 slice_offset; /* in: where the bytes go; a multiple of 4096, range inside the slice */
	__u32 reserved;     /* in: 0 */
};

struct vread_ioc_submit {
	__u64 reads;    /* in: user address of struct vread_ioc_read[count] */
	__u32 count;    /* in: 1 .. 256 */
	__u32 reserved; /* in: 0 */
};

/*
 * REAP: stores completions, in any order, and returns their number.  Waits until min_complete (at
 * most max_in_flight) are there, no more can come, or the time has passed.  If there are none:
 * returns 0 if min_complete is 0, else fails with ETIME, EINTR, or ENOTCONN (nothing is in flight
 * and no backend is connected; ENODEV if the device is gone).
 *
 * The bytes of a READ begin at its slice_offset.  They stay there until another READ is submitted
 * whose range overlaps, which is possible as soon as the first READ is done.
 */
struct vread_ioc_completion {
	__u64 user_data; /* out: of the READ */
	__s32 result;    /* out: bytes, or negative errno of vreadif.h */
	__u32 crc32c;    /* out: of these bytes, see VREAD_OP_READ of vreadif.h; else 0 */
};

struct vread_ioc_reap {
	__u64 completions;  /* in: user address of struct vread_ioc_completion[count] */
	__u32 count;        /* in: 1 .. 256 */
	__u32 min_complete; /* in: 0 (do not wait) .. count */
	__u32 timeout_ms;   /* in: 0: no limit */
	__u32 reserved;     /* in: 0 */
};

/*
 * PUBLISH: announces an event of one of a datanode's own replicas; see VREAD_OP_PUBLISH of
 * vreadif.h.  EACCES: the file was not opened by /dev/vread-publish.  EOPNOTSUPP: the device's role
 * is no longer datanode, or the backend takes no events.  After ETIME or EINTR the backend may
 * still take the event into account.
 */
struct vread_ioc_publish {
	__u64 data;        /* in: as for OPEN, with exactly one storage id and no token */
	__u32 data_length; /* in: bytes, 8 .. 16384 */
	__u32 timeout_ms;  /* in: 0: no limit; ETIME when it has passed */
	__s64 block_id;    /* in */
	__u64 genstamp;    /* in */
	__u64 length;      /* in: bytes of the replica after the event */
	__u32 event;       /* in: VREAD_PUBLISH_* of vreadif.h */
	__u32 reserved;    /* in: 0 */
};

/*
 * KEYS: replaces the keys that sign the block tokens of a pool; see VREAD_OP_KEYS of vreadif.h.
 * The driver wipes its own copy of the keys after the backend's answer.
 * EACCES, EOPNOTSUPP, and after ETIME or EINTR: as for PUBLISH.
 */
struct vread_ioc_keys {
	__u64 data;        /* in: as for PUBLISH, with the keys in place of the token */
	__u32 data_length; /* in: bytes, 8 .. 16384 */
	__u32 timeout_ms;  /* in: 0: no limit; ETIME when it has passed */
	__u32 tokens;      /* in: 0: tokens are not used, 1: tokens are required */
	__u32 reserved;    /* in: 0 */
};

#define VREAD_IOC_MAGIC 0xBD
#define VREAD_IOC_INFO _IOR(VREAD_IOC_MAGIC, 0, struct vread_ioc_info)
#define VREAD_IOC_SLICE _IOWR(VREAD_IOC_MAGIC, 1, struct vread_ioc_slice)
#define VREAD_IOC_OPEN _IOWR(VREAD_IOC_MAGIC, 2, struct vread_ioc_open)
#define VREAD_IOC_CLOSE _IOW(VREAD_IOC_MAGIC, 3, __u32)
#define VREAD_IOC_STAT _IOWR(VREAD_IOC_MAGIC, 4, struct vread_ioc_stat)
#define VREAD_IOC_SUBMIT _IOW(VREAD_IOC_MAGIC, 5, struct vread_ioc_submit)
#define VREAD_IOC_REAP _IOWR(VREAD_IOC_MAGIC, 6, struct vread_ioc_reap)
#define VREAD_IOC_PUBLISH _IOW(VREAD_IOC_MAGIC, 7, struct vread_ioc_publish)
#define VREAD_IOC_KEYS _IOW(VREAD_IOC_MAGIC, 8, struct vread_ioc_keys)

#endif /* _UAPI_VREAD_IOCTL_H */
