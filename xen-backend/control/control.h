/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * control.h - the control socket: what the daemon says about itself.
 *
 * A UNIX stream socket, mode 0600.  A client sends one line, a JSON object of
 * at most CONTROL_MAX_REQUEST bytes; the daemon answers with one line, a JSON
 * object, and closes.
 *
 *   {"command": "status"}
 *
 * answers the status document:
 *
 *   version          string
 *   pid              number
 *   uptime_seconds   number
 *   config           path of the configuration file
 *   reload           null, or of the last one, with what reload answered and
 *                    "seconds_ago"
 *   datanodes        array: what registry_status() tells of each datanode
 *                    ("datanode", "image", "state" ...); and for each one
 *                    refused an object with "datanode", "image", "layout",
 *                    "state": "refused" and "error"; all with "file", where
 *                    its section is
 *   ports            object: for each port (local, xen) an object with
 *                    "state": "off" | "on" | "unavailable", and what it has
 *                    to say (socket, connections, refused, last_error ...)
 *   devices          array, one object for each frontend:
 *     port             "xen" | "local"
 *     name             "xen:7/0", "local:12"
 *     state            "Initialising" | "InitWait" | "Initialised" |
 *                      "Connected" | "Closing" | "Closed"
 *     role             "client" | "datanode"; null unless connected
 *     num_queues, ring_pages (of one ring), pool_pages     0 unless connected
 *     counters         opens, reads, bytes, remote (opens, reads and bytes: of
 *                      those, from other hosts), published (events taken),
 *                      errors ({"ENOENT": 3}),
 *                      open_handles; absent unless connected
 *     last_error       string or null: why it was last closed or refused
 *     domid, device    xen only;  pid, uid  local only
 *     max_queues, max_pool_pages   xen only: what it is offered; 0: nothing yet
 *   totals           counters of all devices since the start
 *
 *   peers            null, or what peers_status() tells of other hosts:
 *     server           null, or an object: listen, connections, buffers, buffers_used, refused,
 *                      last_refused
 *     cipher           string: what this host asks for first over TLS, the faster one here; null
 *                      without [peers] name
 *     peers            array, an object for each [peer NAME]:
 *       name, address
 *       state            "idle" | "connecting" | "authenticated" | "up" | "closing" |
 *                        "backing off"
 *       transport        "tls"; null unless up
 *       requests, bytes, under_way, connects, failures, last_error   of the link
 *       asked            what it answered us: opens, reads, bytes, errors, open_handles
 *       storages         how many are known to be there
 *       announced, announcements_refused    storages it told of, each time it did
 *       heard            whether it has told all it has, once at least
 *       answered         what it was answered: opens, reads, bytes, errors, connections
 *
 *   {"command": "move", "storage": "DS-1", "host": "NAME"}
 *
 * says on which peer a storage is from now on, null: on none; the storage may be given as
 * DATANODE/STORAGE-ID, and must be if it is not known whose it is.  Answered with {}.
 *
 *   {"command": "trace", "seconds": 5, "after": 17}
 *
 * has requests of guests traced for so many seconds from now on, 0 to 60 (absent: as before), and answers with at most
 * 1024 records of those traced before, the oldest first:
 *
 *   records          array of those with a higher sequence than after; none without after:
 *     sequence, device, operation ("open", "read" ...), status
 *     ns               from when it was taken from the ring until its answer was on it
 *     stages           ns of those it had: find, cache, read, verify, check, copy, remote
 *   last             the newest sequence
 *
 *   {"command": "reload"}
 *
 * reads the configuration again and is answered with one of
 *   {"result": "applied", "changes": [text ...], "restart": [text ...]}
 *                    what was changed, and what is only after a restart
 *   {"result": "refused", "problems": [problem ...]}
 *                    as config_load() tells them; nothing was changed
 *
 * Anything else is answered with {"error": "text"}.
 */
#ifndef VREAD_CONTROL_H
#define VREAD_CONTROL_H

#include <jansson.h>
#include <systemd/sd-event.h>

#define CONTROL_MAX_REQUEST 4096U

struct control;

struct control_commands {
	/* Makes the status document; a new reference. */
	json_t *(*status)(void *ctx);
	/* 0, or negative errno with *ret_error (free() it).  host: NULL: on no peer. */
	int (*move)(void *ctx, const char *storage, const char *host, char **ret_error);
	/* Reads the configuration again: the answer, a new reference. */
	json_t *(*reload)(void *ctx);
};

/* Listens on path; 0, or negative errno (logged).  commands stays where it is. */
int control_start(struct control **ret, sd_event *event, const char *path,
		  const struct control_commands *commands, void *ctx);
/* Closes everything and removes the socket.  NULL is ignored. */
void control_stop(struct control *c);

#endif
