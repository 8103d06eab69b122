/* SPDX-License-Identifier: MIT */
/*
 * vreadif.h - the protocol of vRead, a paravirtual device through which a guest
 * reads HDFS blocks that its host finds in the disk images of datanode guests.
 * Frontends (a guest's kernel, or libvread over the local port) and backends
 * (vreadd) include it.
 *
 * This header is the whole contract between frontend and backend.  It depends
 * only on Xen's public io/ring.h.  vread-paths.md also lists the nodes, and
 * vread.schema.json lists them for programs.  If they differ, this header is
 * wrong, and the build's schema test fails.
 *
 * Device type: "vread".  All integers on the ring and in the pool are in the
 * byte order of the machine that both ends run on.  Pages have 4096 bytes.
 * Lengths and offsets are in bytes.
 *
 *
 * 1. XenStore nodes
 * =================
 *
 * Numbers are unsigned decimal without sign, leading zero or space.  The letter
 * in brackets says who writes a node: T the toolstack, B the backend, F the
 * frontend.  A guest can write everything in the frontend directory.  So the
 * backend takes policy only from the backend directory.
 *
 * ---- backend directory  (/local/domain/<B>/backend/vread/<F>/<id>) ----------
 *
 * frontend [T]              path of the frontend directory
 * frontend-id [T]           domid of the frontend
 * online [T]                0 or 1.  0: the device is being removed, so the
 *                           backend does not reconnect after Closed.
 * state [T, then B]         enum xenbus_state; the toolstack writes Initialising
 *                           when it makes the device
 * role [T]                  "client" | "datanode": what this device may do.
 *                           A client reads.  A datanode may also PUBLISH and
 *                           give KEYS.  Default: client.
 * allow-datanodes [T]       names of datanodes, as in the backend's
 *                           configuration, separated by one space, or "*".
 *                           This device may read their blocks.
 *                           Absent or empty: none; every OPEN gets EACCES.
 * allow-pools [T]           block pool ids that this device may read or PUBLISH
 *                           for, separated by one space, or "*".  Default: "*".
 *                           allow-datanodes and publish-datanodes apply as well.
 * publish-datanodes [T]     names of datanodes, as in allow-datanodes.  If this
 *                           device's role is datanode, it may PUBLISH and give
 *                           KEYS for them.
 *                           Absent or empty: none; every PUBLISH and KEYS gets
 *                           EACCES.
 * unnamed-datanodes [T]     names of datanodes that are one HDFS cluster, as in
 *                           allow-datanodes.  An OPEN without storage ids is
 *                           answered from these datanodes, if allow-datanodes
 *                           has them, too.
 *                           Absent or empty: none; every OPEN without storage ids
 *                           gets EDESTADDRREQ.
 *                           The backend follows changes of the four lists while
 *                           the device is connected; of the first two also for
 *                           open handles.
 * limit-queues [T]          1 .. 8: largest "max-queues".  Default: 8.
 * limit-pool-pages [T]      16 .. 32768: largest "max-pool-pages".  Default:
 *                           32768.  If a limit is no such number, the backend
 *                           closes the device.
 * versions [B]              protocol versions offered, separated by ",": "1"
 * max-queues [B]            1 .. 8: most queues
 * max-ring-page-order [B]   0 .. 4: largest ring-page-order
 * max-pool-pages [B]        16 .. 32768: most pages in the pool
 * feature-publish [B]       0 or 1.  1: the backend understands PUBLISH.
 *                           Default: 0; then a frontend of role datanode sends
 *                           no PUBLISH and no KEYS.
 * feature-user [B]          0 or 1.  1: the backend takes a user in an OPEN.
 *                           Default: 0; then a frontend leaves u.open.user 0.
 *
 * ---- datanode directory  (/local/domain/<B>/backend/vread/<F>/<id>/datanode) -
 *
 * The directory is there if the frontend's domain is a datanode that the backend
 * serves because of these nodes.  docs/provisioning.md is their contract.  No
 * guest may read them.
 *
 * name [T]                  name of the datanode, as in allow-datanodes
 * data-dirs [T]             data directories on the disks, separated by " "
 * disks [T]                 names of the domain's virtual disks that have them,
 *                           separated by " "
 * backing-folders [T]       folders in which backing files of the disks may be
 * image-mode [T]            "auto" | "buffered" | "direct".  Default: auto.
 * tokens [T]                "auto" | "required" | "off".  Default: auto.
 * storages [T]              ids of storages that are pinned to the datanode
 * status [B]                "accepted: " and the name, or "waiting: " or
 *                           "refused: " and why
 *
 * ---- frontend directory  (/local/domain/<F>/device/vread/<id>) --------------
 *
 * backend [T]               path of the backend directory
 * backend-id [T]            domid of the backend
 * state [T, then F]         enum xenbus_state
 * version [F]               the protocol version that the frontend chose from
 *                           "versions"
 * role [F]                  must equal the backend directory's role
 * num-queues [F]            1 .. max-queues
 * ring-page-order [F]       0 .. max-ring-page-order; each ring has
 *                           1 << ring-page-order pages
 * queue-<n>/ring-ref<m> [F] grant reference of page m of the ring of queue n
 * queue-<n>/event-channel [F]  event channel port of queue n
 * pool-pages [F]            16 .. max-pool-pages
 * pool-directory [F]        grant reference of the first directory page
 *
 * The frontend writes all its nodes except "state" in one transaction, before
 * Initialised.  The backend reads only the nodes that the values already read
 * call for.
 *
 *
 * 2. States
 * =========
 *
 * Connecting:
 *
 *   Front                                Back
 *   =================================    ====================================
 *   XenbusStateInitialising              XenbusStateInitialising
 *    o (driver not yet bound)             o publish versions, max-*, feature-*
 *                                                     |
 *                                                     V
 *                                        XenbusStateInitWait
 *    o read versions, max-*
 *    o allocate and grant rings, pool
 *      and directory; bind event
 *      channels; write them all
 *                  |
 *                  V
 *   XenbusStateInitialised
 *                                         o read the frontend's nodes, check
 *                                           every one against its range
 *                                         o map pool, rings; bind events;
 *                                           set the alive byte (below)
 *                                                     |
 *                                                     V
 *                                        XenbusStateConnected
 *    o take requests
 *                  |
 *                  V
 *   XenbusStateConnected
 *
 * Closing, begun by either side (rmmod, hot-unplug, protocol error, backend
 * shutdown):
 *
 *   Front                                Back
 *   =================================    ====================================
 *   XenbusStateConnected                 XenbusStateConnected
 *    o stop taking requests
 *                  |
 *                  V
 *   XenbusStateClosing        ------->    o finish or abandon I/O
 *                                         o unmap everything
 *                                                     |
 *                                                     V
 *                             <-------   XenbusStateClosing (begins here when
 *    o answer all waiting                the backend closes first)
 *      requests with ENOTCONN                         |
 *    o end access to the rings                        |
 *                  |                                  |
 *                  V                                  V
 *   XenbusStateClosed                    XenbusStateClosed
 *
 * The backend unmaps every page before it writes Closed, and it writes Closed
 * only once.
 *
 * Reconnecting.  While "online" is 1 a Closed backend watches the frontend:
 *
 *   Front                                Back
 *   =================================    ====================================
 *   XenbusStateClosed                    XenbusStateClosed
 *     (a) frontend driver loads again:
 *   XenbusStateInitialising   ------->    o publish anew
 *                                                     |
 *     (b) frontend driver stayed:                     V
 *   XenbusStateClosed         ------->   XenbusStateInitWait
 *    o fresh rings, same pool
 *                  |
 *                  V
 *   XenbusStateInitialised                (as in Connecting)
 *
 * In case (b) the backend goes to InitWait by itself, with one exception: if it
 * closed because the frontend's nodes or rings broke the protocol, it stays
 * Closed until the frontend goes to Initialising.  A backend may stay Closed for
 * a while, in both cases, if the frontend has connected many times of late, or
 * if a connection has failed.
 *
 * Backend death.  A backend that is killed leaves "state" at Connected.
 *
 *   At once.  The backend had mapped page 0 of queue 0's ring a second time,
 *   with an unmap notification.  So the kernel's grant device clears the alive
 *   byte and sends an event.  The frontend sees 0, answers all waiting requests
 *   with ENOTCONN and takes no more.  The byte is no word about the pool, which an
 *   adapter for RDMA may hold longer: a frontend gives pages that it got back to
 *   nobody, and answers no offer, before it could end the pool's grants.
 *
 *   Later.  A restarted backend that finds "state" at Initialised, Connected or
 *   Closing writes Closing, then Closed, waits for the frontend to reach Closed
 *   or Initialising, and goes to InitWait.  It never maps pages that a frontend
 *   offered to its predecessor.
 *
 * Frontend death.  When the domain is gone, the backend unmaps everything and
 * removes the backend directory, because toolstacks ignore device types that
 * they do not know.
 *
 *
 * 3. Pool
 * =======
 *
 * The pool has pool-pages pages.  The frontend zeroes them and grants them for
 * writing once, for the life of the device.  The backend maps them once per
 * connection.  No other data of the kernel is in these pages.  Pool page n holds
 * the bytes from n*4096 on.
 *
 * Directory pages list the grant references (as in displif.h):
 *
 *         0                1                 2               3        octet
 * +----------------+----------------+----------------+----------------+
 * |                        gref_next_page                             | 4
 * +----------------+----------------+----------------+----------------+
 * |                        gref[0]                                    | 8
 * +----------------+----------------+----------------+----------------+
 * \/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/\/
 * +----------------+----------------+----------------+----------------+
 * |                        gref[1022]                                 | 4096
 * +----------------+----------------+----------------+----------------+
 *
 * Page k of the chain lists the pool pages from k*1023 on.  gref_next_page is 0
 * in the last page.  The backend reads exactly as many directory pages as
 * pool-pages needs.  A chain that ends early or goes on is an error.  The backend
 * maps a directory page for reading only, and only while it copies the page.
 *
 *
 * 4. Ring
 * =======
 *
 * Queue n has one ring of 1 << ring-page-order pages and one event channel.  The
 * rings use Xen's standard macros, with event-index suppression in both
 * directions.
 *
 * The alive byte is the byte at VREAD_RING_ALIVE_OFFSET of page 0 of queue 0's
 * ring.  The frontend initialises it to 0.  The backend sets it to 1 before
 * Connected.  It is cleared when the backend's mapping ends, for whatever reason.
 *
 * The frontend chooses the id of a request.  The id must be smaller than the
 * number of entries of its ring, and must not be in use by a request that is not
 * answered yet.  Breaking this rule, or producing more requests than the ring
 * holds, is a protocol error: the backend answers nothing more and closes the
 * device.  Every other mistake is answered with a negative status.  Responses
 * may come in any order.
 */

#ifndef XEN_PUBLIC_IO_VREADIF_H
#define XEN_PUBLIC_IO_VREADIF_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <xen/interface/io/ring.h>
#else
#include <stdint.h>
#include <xen/io/ring.h>
#endif

#define VREAD_PROTOCOL_VERSION 1

#define VREAD_PAGE_SIZE 4096U

/* Limits of protocol version 1.  A backend may offer less. */
#define VREAD_MAX_QUEUES 8U
#define VREAD_MAX_RING_PAGE_ORDER 4U
#define VREAD_MIN_POOL_PAGES 16U
#define VREAD_MAX_POOL_PAGES 32768U
#define VREAD_DIRECTORY_REFS 1023U /* grant references in a directory page */

/*
 * Processes share a pool by need.  Who gives shares of a pool to processes (the guest's driver, the
 * backend's local port) keeps room for VREAD_SMALL_SHARES small shares, at most half of the pool,
 * and refuses larger shares in that room.  So a new process finds a small share although others
 * have large ones.
 */
#define VREAD_SMALL_SHARE_PAGES 32U /* a share of at most so many pages is small */
#define VREAD_SMALL_SHARES 48U

/* Longest READ, in bytes. */
#define VREAD_MAX_READ (4U << 20)

/* Limits of the variable part of OPEN, PUBLISH and KEYS, in bytes unless noted. */
#define VREAD_MAX_POOL_ID 255U
#define VREAD_MAX_STORAGES 64U /* number of candidate storage ids */
#define VREAD_MAX_STORAGE_ID 127U
#define VREAD_MAX_TOKEN 8192U
#define VREAD_MAX_OPEN_DATA 16384U

/* A pool id that no pool has; see VREAD_OP_OPEN. */
#define VREAD_NO_POOL "-"

/* Limits of KEYS. */
#define VREAD_MAX_KEYS 64U /* number of keys */
#define VREAD_MAX_KEY 64U  /* bytes of one key */

/* Offset of the alive byte in page 0 of queue 0's ring; see "Backend death" and section 4. */
#define VREAD_RING_ALIVE_OFFSET 16U

/*
 * Operations
 * ----------
 *
 * Every field and byte of a request or response that its operation does not name
 * is zero.  A backend answers EINVAL to a request that breaks this rule.
 * pool_page and pool_pages name the pages of the pool that an operation uses.  A
 * range that is not inside the pool is answered with EINVAL.
 *
 * A handle names an open block of one connection, on all its rings, until CLOSE
 * or the end of the connection.  A handle is never 0.
 *
 * VREAD_OP_OPEN: finds the replica of a block and opens it.
 *   request   u.open; pool pages hold open_data (data_length bytes)
 *   response  handle, flags, u.block
 *   The replica's generation stamp must equal u.open.genstamp, and its length
 *   must be at least u.open.visible_length.  READs end at visible_length.  0
 *   stands for the replica's own length at the time of OPEN.
 *   u.open.user is for the backend's log only: the guest's kernel says it, and no
 *   right depends on it.
 *   With VREAD_OPEN_ENCRYPT bytes of another host come encrypted (TLS); with
 *   VREAD_OPEN_MAC they come encrypted or with a MAC.  If the backend has no way
 *   to do so, no other host is asked.  A backend that does not know a flag
 *   answers EINVAL.
 *   An OPEN in the pool VREAD_NO_POOL asks for a sign of life.  The answer is
 *   ENODEV, which is no error then.
 *
 * VREAD_OP_READ: puts verified bytes of a block into the pool.
 *   request   handle, u.read; pool pages of at least u.read.length bytes
 *   response  status: the number of bytes at the start of the pool range.  Fewer
 *             than u.read.length only at visible_length, 0 at or behind it.
 *             u.read, if status is larger than 0
 *   The bytes of the range behind status are unspecified.  Nothing outside the
 *   range is written.  Only bytes that match their checksum are ever written.
 *   u.read.crc32c is the CRC32C of exactly `status` bytes, made by the host that
 *   verified them and of what it verified, never of the pool.  A reader that
 *   copies the bytes out of the pool and compares finds all that changed them on
 *   their way: memory, a network adapter, another host.  If they differ, the
 *   reader must not use the bytes.
 *
 * VREAD_OP_CLOSE: closes a handle.  request: handle.  response: status only.
 *
 * VREAD_OP_STAT: checks that a handle's replica is still the same, and returns
 *   its present length.  request: handle.  response: flags, u.block.
 *
 * VREAD_OP_PUBLISH (role datanode, feature-publish 1): an event of one of the
 *   datanode's own replicas.
 *   request   u.publish; pool pages hold open_data with exactly one storage
 *             id and no token
 *   response  status only, after the backend took the event into account
 *   The storage must belong to a datanode that this device may publish for.  The
 *   backend need not know the pool yet.
 *   APPEND, TRUNCATE and DELETE withdraw the replicas of the block on that
 *   datanode with a generation stamp up to u.publish.genstamp.  After the
 *   response to such a PUBLISH, no READ, STAT or OPEN of a withdrawn replica is
 *   answered with success on any ring of any device.  READ and STAT get EAGAIN,
 *   OPEN gets ENOENT.
 *   FINALIZED ends the withdrawal up to its own genstamp.
 *   Publish the next event of a block after the response to the event before:
 *   requests on different queues have no order.
 *   The backend may forget a withdrawal after ten minutes, earlier if a datanode
 *   has very many, and when the backend itself ends.  Then the committed state of
 *   the replica's file system decides.
 *
 * VREAD_OP_KEYS (role datanode): the keys that sign the block tokens of a pool.
 *   request   u.keys; pool pages hold open_data with exactly one storage id, and
 *             with keys in place of the token: each a struct vread_key and its
 *             bytes
 *   response  status only, after the backend took the keys into account
 *   The keys replace all older keys for the replicas in that pool of the datanode
 *   that the storage belongs to.  They count for no other datanode.  From then
 *   on, if u.keys.tokens is 1, an OPEN of such a replica needs a token signed with
 *   one of the keys; without keys, no token is right.  If u.keys.tokens is 0, an
 *   OPEN needs no token, and there must be no keys.  The backend's configuration
 *   may overrule both.
 *   A datanode that uses tokens sends u.keys.tokens 1 on each connection, with
 *   the keys that it has, or with none.  The backend remembers the 1 for all pools
 *   of the datanode, also beyond its own end: HDFS uses tokens in all pools or in
 *   none.  A later u.keys.tokens 0 is answered EPERM and changes nothing.  Only
 *   the backend's configuration switches tokens off.
 *   A backend keeps keys in memory only, and has none when it starts.  A backend
 *   that does not know KEYS answers EOPNOTSUPP.
 *   The sender wipes the pages of its pool that held keys, after the response.
 */
#define VREAD_OP_OPEN 1
#define VREAD_OP_READ 2
#define VREAD_OP_CLOSE 3
#define VREAD_OP_STAT 4
#define VREAD_OP_PUBLISH 5
#define VREAD_OP_KEYS 6

/* u.publish.event */
#define VREAD_PUBLISH_FINALIZED 1 /* block and .meta are durable */
#define VREAD_PUBLISH_APPEND 2    /* about to be appended to */
#define VREAD_PUBLISH_TRUNCATE 3  /* about to be truncated */
#define VREAD_PUBLISH_DELETE 4    /* about to be deleted */

/* algorithm of struct vread_key */
#define VREAD_KEY_HMAC_SHA1 1 /* Hadoop's default */
#define VREAD_KEY_HMAC_SHA256 2
#define VREAD_KEY_HMAC_SHA384 3
#define VREAD_KEY_HMAC_SHA512 4

/* flags of struct vread_open_data, of an OPEN */
#define VREAD_OPEN_ENCRYPT 0x1U /* no byte of the block leaves a host in clear text */
#define VREAD_OPEN_MAC 0x2U     /* nobody may change bytes between hosts unnoticed */

/* flags of an OPEN or STAT response */
#define VREAD_BLOCK_FINALIZED 0x1U /* the replica is not under construction */
#define VREAD_BLOCK_REMOTE 0x2U    /* the replica is read from another host */

/*
 * Errors
 * ------
 *
 * status is a result that is not negative, or a negative number from Xen's public
 * errno.h, which has Linux's numbers:
 *
 *   EACCES      this device may not read that datanode or pool, or may not PUBLISH
 *               or give KEYS for it
 *   EBADF       no such handle
 *   EBADMSG     the data does not match its checksum, and was withheld
 *   EBUSY       the datanode's file system cannot be read while it is in use (it
 *               has errors, no journal, its journal elsewhere, or features that the
 *               backend does not know), or could not be searched in time
 *   EILSEQ      the block's .meta is missing, truncated or malformed
 *   EINVAL      malformed request; do not repeat it
 *   EIO         the image could not be read, or its file system is damaged
 *   EMFILE      too many open handles, or they take too much memory of the backend,
 *               close some; KEYS: too many pools
 *   ENODATA     the block's files are there, but their content is not committed yet,
 *               or it is encrypted, compressed or on another device
 *   ENODEV      no image served here holds that pool or those storages
 *   ENOENT      the pool is served here but has no such block (yet), or no more
 *   ENOMEM      out of memory in the backend; retry later
 *   ENOTCONN    (frontend only) no backend, or the backend went away meanwhile and
 *               the handle is gone
 *   EOPNOTSUPP  unknown operation, or an operation that this role or backend lacks;
 *               OPEN: the block has no checksums, or each of them is of fewer than 16
 *               bytes or more than 1 MiB, so that the backend cannot verify the block
 *   ERANGE      the replica is shorter than visible_length
 *   ESRCH       (reserved for the frontend: no such device)
 *   ETIME       (frontend only) no answer within the caller's time limit
 *   EPERM       a block token is required and is missing, expired or wrong; KEYS:
 *               tokens were on, and a datanode cannot switch them off
 *   EBADE       (frontend only) the bytes of a READ do not match the CRC32C of its
 *               response: they changed on their way
 *   EAGAIN      the replica changed since it was opened, is being written now, or
 *               was withdrawn; or the datanode's block tokens changed so that the
 *               OPEN must be judged again; open it again
 *   EEXIST      the block is here with another generation stamp
 *   EDESTADDRREQ  the OPEN has no storage ids, and unnamed-datanodes names no
 *               datanode
 *
 * After any error the caller can read the block by other means.  After EAGAIN,
 * EEXIST, ENODATA and ENOTCONN a new OPEN may succeed.
 */

/*
 * Requests
 *
 *         0                1                 2               3        octet
 * +----------------+----------------+----------------+----------------+
 * |               id                |    operation   |   reserved     | 4
 * +----------------+----------------+----------------+----------------+
 * |                          pool_page                                | 8
 * +----------------+----------------+----------------+----------------+
 * |                          pool_pages                               | 12
 * +----------------+----------------+----------------+----------------+
 * |                            handle                                 | 16
 * +----------------+----------------+----------------+----------------+
 * |                              u                                    | 64
 * +----------------+----------------+----------------+----------------+
 */
struct vread_open_request {
	int64_t block_id; /* negative: erasure-coded internal block */
	uint64_t genstamp;
	uint64_t visible_length; /* bytes; 0: the replica's own length */
	uint32_t data_length;    /* bytes of open_data, 8 .. VREAD_MAX_OPEN_DATA */
	uint32_t user;           /* the uid in the guest that asks, plus 1; 0: unknown */
	uint32_t reserved[4];    /* 0 */
};

struct vread_read_request {
	uint64_t offset;      /* bytes from the start of the block */
	uint32_t length;      /* 1 .. VREAD_MAX_READ bytes */
	uint32_t reserved[9]; /* 0 */
};

struct vread_publish_request {
	int64_t block_id;
	uint64_t genstamp;
	uint64_t length;      /* bytes of the replica after the event */
	uint32_t data_length; /* bytes of open_data, 8 .. VREAD_MAX_OPEN_DATA */
	uint32_t event;       /* VREAD_PUBLISH_* */
	uint32_t reserved[4]; /* 0 */
};

struct vread_keys_request {
	uint32_t data_length;  /* bytes of open_data, 8 .. VREAD_MAX_OPEN_DATA */
	uint32_t tokens;       /* 0: not used in that pool, 1: required */
	uint32_t reserved[10]; /* 0 */
};

struct vread_request {
	uint16_t id;         /* see section 4 */
	uint8_t operation;   /* VREAD_OP_* */
	uint8_t reserved;    /* 0 */
	uint32_t pool_page;  /* first page of the range */
	uint32_t pool_pages; /* pages in the range; 0: the operation uses no pages */
	uint32_t handle;
	union {
		struct vread_open_request open;
		struct vread_read_request read;
		struct vread_publish_request publish;
		struct vread_keys_request keys;
		uint8_t raw[48];
	} u;
};

/*
 * Responses
 *
 *         0                1                 2               3        octet
 * +----------------+----------------+----------------+----------------+
 * |               id                |    operation   |   reserved     | 4
 * +----------------+----------------+----------------+----------------+
 * |                            status                                 | 8
 * +----------------+----------------+----------------+----------------+
 * |                            handle                                 | 12
 * +----------------+----------------+----------------+----------------+
 * |                            flags                                  | 16
 * +----------------+----------------+----------------+----------------+
 * |                              u                                    | 32
 * +----------------+----------------+----------------+----------------+
 */
struct vread_block_response {
	uint64_t length; /* bytes of the replica */
	uint64_t genstamp;
};

/* Only with a status larger than 0. */
struct vread_read_response {
	/* of the bytes: polynomial 0x1EDC6F41, reflected, inverted before and after (RFC 3720) */
	uint32_t crc32c;
	uint32_t reserved[3]; /* 0 */
};

struct vread_response {
	uint16_t id;       /* of the request */
	uint8_t operation; /* of the request */
	uint8_t reserved;  /* 0 */
	int32_t status;    /* result, or negative errno; see "Errors" */
	uint32_t handle;   /* OPEN */
	uint32_t flags;    /* OPEN and STAT: VREAD_BLOCK_* */
	union {
		struct vread_block_response block; /* OPEN and STAT */
		struct vread_read_response read;   /* READ */
		uint8_t raw[16];
	} u;
};

/*
 * open_data: the variable part of OPEN, PUBLISH and KEYS, at the start of the pool
 * range.  Its parts follow one another without gaps:
 *
 *   header                                          8 bytes
 *   pool id                                         pool_id_length bytes
 *   num_storages times: uint8_t length, storage id  1 + length bytes each
 *   block token, or keys                            token_length bytes
 *
 * The lengths must add up to data_length exactly.  Ids are not terminated.  They
 * consist of printable ASCII without space and "/", and are not "." or "..".  A
 * storage id has 1 to VREAD_MAX_STORAGE_ID bytes.
 * The storage ids of an OPEN are those of the block's replicas, as the NameNode
 * knows them.  No other storage is searched.  Without storage ids an OPEN is
 * refused, unless the operator names datanodes in unnamed-datanodes.
 * A token is as Hadoop's Token.write() writes it: identifier, password, kind and
 * service.
 */
struct vread_open_data {
	uint16_t pool_id_length; /* 1 .. VREAD_MAX_POOL_ID bytes */
	uint16_t num_storages;   /* 0 .. VREAD_MAX_STORAGES */
	uint16_t token_length;   /* 0 .. VREAD_MAX_TOKEN bytes */
	uint16_t flags;          /* OPEN: VREAD_OPEN_*; else 0 */
};

/* One key of KEYS.  Its bytes follow, and then the next key, without gaps.  All ids differ. */
struct vread_key {
	int32_t id;
	uint8_t algorithm; /* VREAD_KEY_* */
	uint8_t length;    /* 1 .. VREAD_MAX_KEY bytes */
	uint16_t reserved; /* 0 */
	int64_t expiry;    /* ms since 1970; the key is not used after that */
};

/* A directory page; see section 3. */

struct vread_pool_directory {
	uint32_t gref_next_page;
	uint32_t gref[VREAD_DIRECTORY_REFS];
};

DEFINE_RING_TYPES(vread, struct vread_request, struct vread_response);

#endif /* XEN_PUBLIC_IO_VREADIF_H */
