/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * control.h - the control socket, which answers status requests and takes commands.
 *
 * control/daemon.c starts and stops the socket.  The clients are commands of xl-vread(8).
 *
 * A UNIX stream socket, mode 0600.  A client sends one line, a JSON object of
 * at most CONTROL_MAX_REQUEST bytes; the daemon answers with one line, a JSON
 * object, and closes.
 *
 *   {"command": "status"}
 *
 * is answered with the status document, within CONTROL_STATUS_MS whatever a disk or a parser does:
 *
 *   version          string
 *   pid              number
 *   user             string: the name of the user that vreadd is
 *   group            number of that user's group
 *   opener           true if vread-opener opens images; false: vreadd does
 *   uptime_seconds   number
 *   config           path of the configuration file
 *   reload           null, or the answer to the last reload, with
 *                    "seconds_ago"
 *   datanodes        array: the object of registry_status() for each datanode
 *                    ("datanode", "images", "state" ...), and "file", the file
 *                    that holds the datanode's section
 *   storage_record   object: whose the storages are, as owners_status()
 *   clones           array, an object for each two datanodes that look like clones of one cluster,
 *                    as clones_status()
 *   ports            object: for each port (local, xen, kvm) an object with
 *                    "state": "off" | "on" | "unavailable", and the port's own
 *                    members (socket, connections, refused, too_often, which
 *                    are those refused because a user connects or breaks the
 *                    protocol too often, unread, which are the answers that no
 *                    program has taken, last_error ...)
 *   devices          array, one object for each frontend:
 *     port             "xen" | "kvm" | "local"
 *     name             "xen:7/0", "kvm:guest1", "local:1000/12"
 *     state            "Initialising" | "InitWait" | "Initialised" |
 *                      "Connected" | "Closing" | "Closed"
 *     role             "client" | "datanode"; null unless connected
 *     num_queues, ring_pages (of one ring), pool_pages     0 unless connected
 *     counters         opens, reads, bytes, remote (the opens, reads and bytes
 *                      among them that other hosts answered), published
 *                      (events taken), errors ({"ENOENT": 3}),
 *                      open_handles, handle_bytes (memory of these),
 *                      handle_bytes_most (the limit), handle_bytes_refused
 *                      (times that the limit refused a block); absent unless
 *                      connected
 *     last_error       string or null: why the device was last closed or refused
 *     domid, device    xen only;  pid, uid  local only
 *     connects_delayed   xen and kvm only: times that the frontend had to wait, because it
 *                      connects too often
 *     max_queues, max_pool_pages   xen and kvm only: the limits offered to the
 *                      frontend; 0: not offered yet
 *   totals           counters of all devices since the start
 *   log              object: left_out, the lines that guests, peers and images provoked beyond
 *                    their limit (base/log_limit.h), and lost, those that nobody took at once,
 *                    since the start
 *
 *   peers            null, or the object of peers_status():
 *     server           null, or an object: listen, connections, buffers, buffers_used, refused,
 *                      last_refused, strangers
 *       strangers        connections of hosts that are not authenticated: waiting, and ended
 *                        ({"hung_up": 3, "displaced": 0, "late": 0, "failed": 1})
 *     cipher           string: the TLS cipher that this host offers first, the fastest one
 *                      here; null without [peers] name
 *     peers            array, an object for each [peer NAME]:
 *       name, address
 *       state            "idle" | "connecting" | "authenticated" | "up" | "closing" |
 *                        "backing off"
 *       transport        "tls", "rdma", "plain" (bytes may come unencrypted, with a MAC) or "bare"
 *                        (unencrypted, without a MAC); null unless up
 *       requests, bytes, under_way, connects, failures, last_error   of the link
 *       asked            the peer's answers to this host: opens, reads, bytes, errors, open_handles
 *       storages         number of storages known to be on the peer
 *       announced, announcements_refused    storages that the peer announced, counted each time
 *       conflicts        objects, the first 16 of the storages that the peer announces and does not
 *                        have: storage, because, problem and remedy, as in refused-storages of a
 *                        datanode; absent: none
 *       heard            true if the peer has announced all its storages at least once
 *       answered         this host's answers to the peer: opens, reads, bytes, errors, connections,
 *                        open_handles, handle_bytes (memory of these), workers and buffers (that it
 *                        holds now); these three also for connections that have ended
 *
 *   {"command": "move", "storage": "DS-1", "host": "NAME"}
 *
 * sets the peer that has the storage from now on; null: none.  The storage may be given as
 * DATANODE/STORAGE-ID.  It must be given so if this host does not know the storage's datanode.
 * Answered with {}.
 *
 *   {"command": "give", "storage": "DS-1", "datanode": "NAME"}
 *
 * records that the storage belongs to that datanode of this host.  Answered with {}.
 *
 *   {"command": "leave", "datanode": "NAME"}
 *
 * says that the datanode's domain has left this host for good, so that other hosts may have its
 * storages.  Answered with {}.
 *
 *   {"command": "trace", "seconds": 5, "after": 17}
 *
 * traces requests of guests for that many seconds from now on, 0 to 60; without "seconds" nothing
 * changes.  The answer holds at most 1024 records of requests that were traced before, the oldest
 * first:
 *
 *   records          array of the records with a sequence higher than "after"; empty without
 *                    "after":
 *     sequence, device, operation ("open", "read" ...), status
 *     ns               from taking the request from the ring to putting its answer on the ring
 *     stages           ns of each stage the request went through: find, cache, read, verify, check,
 *                      copy, remote
 *   last             the newest sequence
 *
 *   {"command": "reload"}
 *
 * reads the configuration again and is answered with one of
 *   {"result": "applied", "changes": [text ...], "failed": [text ...], "restart": [text ...]}
 *                    what was changed, what could not be changed, and what changes only after a
 *                    restart
 *   {"result": "refused", "problems": [problem ...]}
 *                    problems as of config_load(); nothing was changed
 *
 * Anything else is answered with {"error": "text"}.
 */
#ifndef VREAD_CONTROL_H
#define VREAD_CONTROL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#define CONTROL_MAX_REQUEST 4096U
#define CONTROL_STATUS_MS 700U /* how long a status waits for what it shows of the moment */

struct control;

struct control_commands {
	/* Asks for what the status shows of the moment.  Returns the number of this question.  Does
	 * not wait. */
	uint64_t (*ask)(void *ctx);
	/* True if everything is known that the question was about. */
	bool (*is_known)(void *ctx, uint64_t question);
	/* The status document, with the answers to that question so far; a new reference. */
	json_t *(*status)(void *ctx, uint64_t question);
	/* Sets the peer that has the storage.  host NULL: no peer has it.  0, or negative errno
	 * with *ret_error (free() it). */
	int (*move)(void *ctx, const char *storage, const char *host, char **ret_error);
	/* Records that the storage belongs to the datanode.  0, or negative errno with *ret_error
	 * (free() it). */
	int (*give)(void *ctx, const char *storage, const char *datanode, char **ret_error);
	/* The datanode's domain has left this host for good. */
	void (*leave)(void *ctx, const char *datanode);
	/* Reads the configuration again.  The answer; a new reference. */
	json_t *(*reload)(void *ctx);
};

/* Listens on path.  0, or negative errno (logged).  commands must stay valid until
 * control_stop(). */
int control_start(struct control **ret, sd_event *event, const char *path,
		  const struct control_commands *commands, void *ctx);
/* Answers the clients whose status is known by now.  Call it after an answer to a question. */
void control_heard(struct control *c);
/* Closes everything and removes the socket.  NULL is ignored. */
void control_stop(struct control *c);

#endif
