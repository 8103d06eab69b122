/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * /dev/vread - read HDFS blocks through the host.
 *
 * One open file is one client: it owns up to one slice of the device's pool,
 * its handles and its requests in flight; all vanish with it.  The slice is
 * mapped read-only with mmap(fd, offset 0); READs put bytes there.  All calls
 * are thread-safe.  Every call may fail with ENOTCONN while no backend is
 * connected; handles do not outlive a connection (see `generation`), the slice
 * and its mapping do.  When the device is gone for good, calls fail with ENODEV;
 * what was submitted can still be reaped, and the mapping stays readable.
 *
 * The mapping can be copied from, but not written, executed, grown or pinned
 * (vmsplice, O_DIRECT): its pages may serve another process later.
 *
 * poll(): POLLIN completions can be reaped; POLLOUT a request can be
 * submitted; POLLERR no backend is connected.  POLLHUP the device is gone for good.
 *
 * Errors of requests (results, and errno of OPEN, STAT, PUBLISH and KEYS) are those of
 * vreadif.h.
 */
#ifndef _UAPI_VREAD_IOCTL_H
#define _UAPI_VREAD_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define VREAD_IOC_ABI 1

/* INFO: what this device is and how it is. */
struct vread_ioc_info {
	__u32 abi;             /* out: VREAD_IOC_ABI */
	__u32 connected;       /* out: 1 while requests can be made */
	__u32 generation;      /* out: counts connections; 0 before the first */
	__u32 max_in_flight;   /* out: READs one open file may have in flight or unreaped */
	__u64 pool_bytes;      /* out: what there is for slices of all open files */
	__u64 pool_free_bytes; /* out: not given to any slice */
	__u64 slice_bytes;     /* out: this file's slice, 0 if none yet */
	char role[16];         /* out: "client" or "datanode", NUL-terminated */
};

/*
 * SLICE: take a slice of the pool.  Once per open file (EBUSY afterwards).
 * bytes is rounded up to pages; ENOSPC if the pool has no such run free, EINVAL if 0.
 */
struct vread_ioc_slice {
	__u64 bytes; /* in: wanted; out: given */
};

/*
 * OPEN: find a block.  data is struct vread_open_data with its strings,
 * exactly as vreadif.h describes it.
 */
struct vread_ioc_open {
	__u64 data;           /* in: user address */
	__u32 data_length;    /* in: bytes, at most 16384 */
	__u32 timeout_ms;     /* in: 0: wait for ever; ETIME when it passes */
	__s64 block_id;       /* in */
	__u64 genstamp;       /* in */
	__u64 visible_length; /* in: bytes; 0: the replica's own */
	__u64 length;         /* out: bytes of the replica */
	__u32 handle;         /* out: valid in this open file */
	__u32 flags;          /* out: VREAD_BLOCK_* */
};

/* STAT: is the handle's replica still the same, and how long is it now. */
struct vread_ioc_stat {
	__u32 handle;     /* in */
	__u32 timeout_ms; /* in */
	__u64 length;     /* out */
	__u64 genstamp;   /* out */
	__u32 flags;      /* out */
	__u32 reserved;
};

/* SUBMIT: READs to start.  Returns how many were taken, or an error if the
 * first was not (EAGAIN: ring full or max_in_flight reached; poll for POLLOUT).
 */
struct vread_ioc_read {
	__u64 user_data;    /* in: returned with the completion */
	__u64 offset;       /* in: bytes from the start of the block */
	__u32 handle;       /* in */
	__u32 length;       /* in: 1 .. 4 MiB */
	__u32 slice_offset; /* in: bytes, page aligned; range inside the slice and
			       used by no other READ in flight, else EINVAL, EBUSY */
	__u32 reserved;     /* in: 0 */
};

struct vread_ioc_submit {
	__u64 reads; /* in: user address of struct vread_ioc_read[count] */
	__u32 count; /* in: 1 .. 256 */
	__u32 reserved;
};

/* REAP: completions, in any order.  Waits until at least min_complete are there, no more
 * can come or the time has passed; returns how many were stored.  If none: ETIME, or
 * ENOTCONN, or with min_complete 0 just 0. */
struct vread_ioc_completion {
	__u64 user_data;
	__s32 result; /* bytes, or negative errno */
	__u32 reserved;
};

struct vread_ioc_reap {
	__u64 completions;  /* in: user address of struct vread_ioc_completion[count] */
	__u32 count;        /* in: 1 .. 256 */
	__u32 min_complete; /* in: 0 (do not wait) .. count */
	__u32 timeout_ms;   /* in: 0: no limit */
	__u32 reserved;
};

/*
 * PUBLISH: an event of a datanode's own replica.  data as for OPEN, with exactly one
 * storage id and no token.  EOPNOTSUPP unless the device's role is datanode and the
 * backend takes events.  After ETIME or EINTR it may still be taken into account.
 */
struct vread_ioc_publish {
	__u64 data;        /* in: user address */
	__u32 data_length; /* in: bytes, at most 16384 */
	__u32 timeout_ms;  /* in: 0: wait for ever; ETIME when it passes */
	__s64 block_id;    /* in */
	__u64 genstamp;    /* in */
	__u64 length;      /* in: bytes of the replica after the event */
	__u32 event;       /* in: VREAD_PUBLISH_* of vreadif.h */
	__u32 reserved;    /* in: 0 */
};

/*
 * KEYS: what block tokens are signed with; see VREAD_OP_KEYS of vreadif.h.  data as for PUBLISH,
 * with the keys where OPEN has its token.  EOPNOTSUPP and after ETIME or EINTR: as for PUBLISH.
 */
struct vread_ioc_keys {
	__u64 data;        /* in: user address */
	__u32 data_length; /* in: bytes, at most 16384 */
	__u32 timeout_ms;  /* in: 0: wait for ever; ETIME when it passes */
	__u32 tokens;      /* in: 0: not used, 1: required */
	__u32 reserved;    /* in: 0 */
};

#define VREAD_IOC_MAGIC 0xBD
#define VREAD_IOC_INFO _IOR(VREAD_IOC_MAGIC, 0, struct vread_ioc_info)
#define VREAD_IOC_SLICE _IOWR(VREAD_IOC_MAGIC, 1, struct vread_ioc_slice)
#define VREAD_IOC_OPEN _IOWR(VREAD_IOC_MAGIC, 2, struct vread_ioc_open)
#define VREAD_IOC_CLOSE _IOW(VREAD_IOC_MAGIC, 3, __u32) /* handle; never waits */
#define VREAD_IOC_STAT _IOWR(VREAD_IOC_MAGIC, 4, struct vread_ioc_stat)
#define VREAD_IOC_SUBMIT _IOW(VREAD_IOC_MAGIC, 5, struct vread_ioc_submit)
#define VREAD_IOC_REAP _IOWR(VREAD_IOC_MAGIC, 6, struct vread_ioc_reap)
#define VREAD_IOC_PUBLISH _IOW(VREAD_IOC_MAGIC, 7, struct vread_ioc_publish)
#define VREAD_IOC_KEYS _IOW(VREAD_IOC_MAGIC, 8, struct vread_ioc_keys)

#endif /* _UAPI_VREAD_IOCTL_H */
