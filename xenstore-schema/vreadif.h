/* SPDX-License-Identifier: MIT */
/*
 * vreadif.h - vRead, a paravirtual device through which a guest reads HDFS
 * blocks that its host finds in the disk images of datanode guests.
 *
 * This header is the whole contract between a frontend (guest kernel, or
 * libvread over the local port) and a backend (vreadd).  It depends only on
 * Xen's public io/ring.h.  Nodes are also listed in vread-paths.md and, machine
 * readable, in vread.schema.json; where they differ this header is wrong and the
 * build's schema test fails.
 *
 * Device type: "vread".  All integers on the ring and in the pool are in the
 * byte order of the machine both ends run on.  Pages are 4096 bytes.
 *
 *
 * 1. XenStore nodes
 * =================
 *
 * Numbers are unsigned decimal without sign, leading zero or space.  Who may
 * write a node is given in brackets; T is the toolstack, B the backend, F the
 * frontend.  A guest can write everything in the frontend directory, so the
 * backend takes policy only from the backend directory.
 *
 * ---- backend directory  (/local/domain/<B>/backend/vread/<F>/<id>) ----------
 *
 * frontend [T]              path of the frontend directory
 * frontend-id [T]           domid of the frontend
 * online [T]                0 or 1; 0: the device is being removed, do not
 *                           reconnect after Closed
 * state [T, then B]         enum xenbus_state
 * role [T]                  "client" | "datanode": what this device may do.
 *                           A client reads; a datanode may PUBLISH as well.
 *                           Default: client.
 * allow-datanodes [T]       names of datanodes (as in the backend's own
 *                           configuration) whose blocks this device may read
 *                           and, if its role is datanode, PUBLISH for;
 *                           separated by one space, or "*".
 *                           Absent or empty: none; every OPEN gets EACCES.
 * allow-pools [T]           block pool ids this device may read or PUBLISH
 *                           for, separated by one space, or "*".  Default: "*"
 *                           (still limited by allow-datanodes).
 * limit-queues [T]          1 .. 8: "max-queues" is no more.  Default: 8.
 * limit-pool-pages [T]      16 .. 32768: "max-pool-pages" is no more.  Default:
 *                           32768.  A backend closes a device that has a limit
 *                           which is no such number.
 * versions [B]              protocol versions offered, separated by ",".  "1".
 * max-queues [B]            1 .. 8
 * max-ring-page-order [B]   0 .. 4
 * max-pool-pages [B]        16 .. 32768
 * feature-publish [B]       0 or 1: PUBLISH is understood.  Default: 0; then a
 *                           frontend of role datanode sends none.
 *
 * ---- frontend directory  (/local/domain/<F>/device/vread/<id>) --------------
 *
 * backend [T]               path of the backend directory
 * backend-id [T]            domid of the backend
 * state [T, then F]         enum xenbus_state
 * version [F]               the one protocol version chosen from "versions"
 * role [F]                  must equal the backend directory's role
 * num-queues [F]            1 .. max-queues
 * ring-page-order [F]       0 .. max-ring-page-order; each ring has
 *                           1 << ring-page-order pages
 * queue-<n>/ring-ref<m> [F] grant reference of page m of the ring of queue n
 * queue-<n>/event-channel [F]  event channel port of queue n
 * pool-pages [F]            16 .. max-pool-pages
 * pool-directory [F]        grant reference of the first directory page
 *
 * All frontend nodes but "state" are written in one transaction, before
 * Initialised.  The backend reads only nodes the values already read imply.
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
 * The backend has unmapped every page before it writes Closed, and moves to
 * Closed only once.
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
 * In case (b) the backend goes to InitWait by itself unless it closed because
 * the frontend broke the protocol: then it stays Closed until the frontend
 * goes to Initialising.
 *
 * Backend death.  A backend that is killed leaves "state" at Connected.  Two
 * things then happen.  At once: the backend had mapped page 0 of queue 0's
 * ring a second time with an unmap notification, so the hypervisor's grant
 * device clears the alive byte and sends an event; the frontend sees 0, answers all
 * waiting requests with ENOTCONN and takes no more.  Later: a restarted backend that
 * finds "state" at Initialised, Connected or Closing writes Closing, then
 * Closed, waits for the frontend to reach Closed or Initialising, and goes to
 * InitWait.  It never maps what a frontend offered to its predecessor.
 *
 * Frontend death.  When the domain is gone the backend unmaps and removes the
 * backend directory: toolstacks ignore device types they do not know.
 *
 *
 * 3. Pool
 * =======
 *
 * pool-pages zeroed pages, granted for writing once for the life of the
 * device, and mapped by the backend once per connection.  They are dedicated:
 * no other kernel data shares them.  Pool page n holds bytes n*4096 up.
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
 * Page k of the chain lists pool pages k*1023 up.  gref_next_page is 0 in the
 * last page.  The backend walks exactly as many pages as pool-pages needs; a chain
 * that ends early or goes on is an error.  Directory pages are mapped for reading
 * only, and only while the backend copies them.
 *
 *
 * 4. Ring
 * =======
 *
 * Queue n has one ring of 1 << ring-page-order pages and one event channel.
 * Standard Xen ring macros, with event-index suppression both ways.  The byte
 * at VREAD_RING_ALIVE_OFFSET of page 0 of queue 0's ring is 0 when the
 * frontend initialises the ring, set to 1 by the backend before Connected, and
 * cleared when the backend's mapping ends for whatever reason.
 *
 * A request's id is chosen by the frontend, smaller than the number of entries
 * of its ring, and not used again before its response.  Breaking that, or
 * producing more requests than the ring holds, is a protocol error: the backend
 * answers nothing more and closes the device.  Every other mistake is answered
 * with a negative status.  Responses may come in any order.
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

/* Hard limits of protocol version 1; a backend may offer less. */
#define VREAD_MAX_QUEUES 8U
#define VREAD_MAX_RING_PAGE_ORDER 4U
#define VREAD_MIN_POOL_PAGES 16U
#define VREAD_MAX_POOL_PAGES 32768U
#define VREAD_DIRECTORY_REFS 1023U

/* Longest READ, in bytes. */
#define VREAD_MAX_READ (4U << 20)

/* Limits of the variable part of OPEN, PUBLISH and KEYS, in bytes unless said. */
#define VREAD_MAX_POOL_ID 255U
#define VREAD_MAX_STORAGES 64U /* number of candidate storage ids */
#define VREAD_MAX_STORAGE_ID 127U
#define VREAD_MAX_TOKEN 8192U
#define VREAD_MAX_OPEN_DATA 16384U

/* No pool's id; see VREAD_OP_OPEN. */
#define VREAD_NO_POOL "-"

/* Limits of KEYS. */
#define VREAD_MAX_KEYS 64U /* number of keys */
#define VREAD_MAX_KEY 64U  /* bytes of one */

/* Byte of page 0 of queue 0's ring; see "Backend death". */
#define VREAD_RING_ALIVE_OFFSET 16U

/*
 * Operations
 * ----------
 *
 * Requests and responses carry zero in every field and byte their operation
 * does not name; a backend answers EINVAL otherwise.  pool_page and pool_pages name the pages an
 * operation uses; the range lies inside the pool, or the answer is EINVAL.
 *
 * VREAD_OP_OPEN: find the replica of a block and hold on to it.
 *   request   u.open; pool pages hold open_data (data_length bytes)
 *   response  handle, flags, u.block
 *   The replica's generation stamp must equal u.open.genstamp and its length be at
 *   least u.open.visible_length.  READs end at visible_length; 0 means the
 *   replica's own length at the time of OPEN.
 *   An OPEN in the pool VREAD_NO_POOL asks for a sign of life: it is answered with ENODEV, and
 *   that is no error.
 *
 * VREAD_OP_READ: verified bytes of a block into the pool.
 *   request   handle, u.read; pool pages of at least u.read.length bytes
 *   response  status: bytes put at the start of the pool range.  Fewer than
 *             asked only where visible_length ends the block; 0 at or behind it.
 *             Bytes of the range behind status are unspecified; nothing outside the
 *             range is written.  No byte that has not passed its checksum is ever put there.
 *
 * VREAD_OP_CLOSE: let go of a handle.  response: status only.
 *
 * VREAD_OP_STAT: check that a handle's replica is still the same and tell its
 *   present length.  request: handle.  response: flags, u.block.
 *
 * VREAD_OP_PUBLISH (role datanode, feature-publish 1): an event of the
 *   datanode's own replicas.
 *   request   u.publish; pool pages hold open_data with exactly one storage
 *             id and no token
 *   response  status only, after the backend took it into account
 *   The storage must be of a datanode this device may publish for.  The pool
 *   need not be known yet.
 *   APPEND, TRUNCATE and DELETE withdraw the block: on the rings of all devices
 *   no response that follows this one's says success to a READ or STAT (EAGAIN
 *   instead), or to an OPEN (ENOENT), of a replica of that datanode with a generation
 *   stamp up to u.publish.genstamp.  FINALIZED lifts what was withdrawn up to its
 *   own genstamp.  Publish one event of a block after the answer to the one before:
 *   requests on different queues have no order.
 *   The backend may forget a withdrawal after ten minutes, sooner where a datanode has
 *   very many, and at its own end: what the replica's file system has committed decides
 *   then.
 *
 * VREAD_OP_KEYS (role datanode): what the block tokens of a pool are signed with.
 *   request   u.keys; pool pages hold open_data with exactly one storage id, and struct
 *             vread_key, each followed by its bytes, where OPEN has its token
 *   response  status only, after the backend took it into account
 *   They replace those of before.  From then on an OPEN of a replica in that pool of the datanode
 *   the storage is of needs a token signed with one of them (u.keys.tokens 1; without keys:
 *   none is right), or needs none (0; there are no keys then), unless the backend is
 *   configured otherwise.  They are used for no other datanode's replicas.
 *   A backend keeps them in memory only, and has none when it starts; one that does not know KEYS
 *   answers EOPNOTSUPP.
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
#define VREAD_KEY_HMAC_SHA1 1 /* Hadoop's, unless configured otherwise */
#define VREAD_KEY_HMAC_SHA256 2
#define VREAD_KEY_HMAC_SHA384 3
#define VREAD_KEY_HMAC_SHA512 4

/* flags of an OPEN or STAT response */
#define VREAD_BLOCK_FINALIZED 0x1U /* not under construction */
#define VREAD_BLOCK_REMOTE 0x2U    /* read from another host */

/*
 * Errors
 * ------
 *
 * status is a non-negative result or a negative number out of Xen's public
 * errno.h (which are Linux's):
 *
 *   EACCES      this device may not read, or PUBLISH or give KEYS for, that datanode or pool
 *   EBADF       no such handle
 *   EBADMSG     data does not match its checksum; the bytes were withheld
 *   EBUSY       the datanode's file system is in use in a way that cannot be read
 *               along with: it has errors, no journal, or its journal elsewhere
 *   EILSEQ      the block's .meta is missing, truncated or malformed
 *   EINVAL      malformed request; repeating it is useless
 *   EIO         the image could not be read, or its file system is damaged
 *   EMFILE      too many open handles; close some
 *   ENODATA     hole, unwritten or compressed extent where data should be
 *   ENODEV      no image served here holds that pool or those storages
 *   ENOENT      the pool is served here but has no such block (yet)
 *   ENOMEM      out of memory in the backend; retry later
 *   ENOTCONN    (frontend only) no backend, or it went away meanwhile; the
 *               handle is gone
 *   EOPNOTSUPP  unknown operation, or one this role or backend lacks
 *   ERANGE      the replica is shorter than visible_length
 *   ESRCH       (reserved for the frontend: no such device)
 *   ETIME       (frontend only) no answer within the caller's time
 *   EPERM       a block token was required and is missing, expired or wrong
 *   EAGAIN      the replica changed since it was opened, is being written just now,
 *               or was withdrawn; open it again
 *   EEXIST      the block is here with another generation stamp
 *   EXDEV       the block cannot be read here, but perhaps on another host: OPEN
 *               named no storages, and must say which ones have a replica
 *
 * In every case the caller's way out is the same: read the block by other
 * means.  EAGAIN, EEXIST, ENOTCONN and EXDEV say that a new OPEN may succeed.
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
	uint64_t visible_length; /* bytes */
	uint32_t data_length;    /* bytes of open_data */
	uint32_t reserved[5];
};

struct vread_read_request {
	uint64_t offset; /* bytes from the start of the block */
	uint32_t length; /* 1 .. VREAD_MAX_READ bytes */
	uint32_t reserved[9];
};

struct vread_publish_request {
	int64_t block_id;
	uint64_t genstamp;
	uint64_t length; /* bytes of the replica after the event */
	uint32_t data_length;
	uint32_t event;
	uint32_t reserved[4];
};

struct vread_keys_request {
	uint32_t data_length;
	uint32_t tokens; /* 0: not used in that pool, 1: required */
	uint32_t reserved[10];
};

struct vread_request {
	uint16_t id;
	uint8_t operation;
	uint8_t reserved;
	uint32_t pool_page;
	uint32_t pool_pages;
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

struct vread_response {
	uint16_t id;
	uint8_t operation;
	uint8_t reserved;
	int32_t status;
	uint32_t handle;
	uint32_t flags;
	union {
		struct vread_block_response block;
		uint8_t raw[16];
	} u;
};

/*
 * open_data: the variable part of OPEN, PUBLISH and KEYS, at the start of the pool
 * range.  Header, then pool id, then the storage ids, then the token, without
 * gaps; strings are not terminated and hold no NUL.
 *
 *   header                                          8 bytes
 *   pool id                                         pool_id_length bytes
 *   num_storages times: uint8_t length, storage id  1 + length bytes each
 *   block token, or keys                             token_length bytes
 *
 * The lengths add up to data_length exactly.  No storage ids: any storage of
 * that pool the device may read.  A token is as Hadoop's Token.write() writes it:
 * identifier, password, kind and service.
 */
struct vread_open_data {
	uint16_t pool_id_length;
	uint16_t num_storages;
	uint16_t token_length;
	uint16_t reserved;
};

/* One of KEYS; its bytes follow, and behind them without a gap the next. */
struct vread_key {
	int32_t id;
	uint8_t algorithm; /* VREAD_KEY_* */
	uint8_t length;    /* 1 .. VREAD_MAX_KEY bytes */
	uint16_t reserved;
	int64_t expiry; /* ms since 1970; no longer used after that */
};

struct vread_pool_directory {
	uint32_t gref_next_page;
	uint32_t gref[VREAD_DIRECTORY_REFS];
};

DEFINE_RING_TYPES(vread, struct vread_request, struct vread_response);

#endif /* XEN_PUBLIC_IO_VREADIF_H */
