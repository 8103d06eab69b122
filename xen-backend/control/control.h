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
 *   datanodes        array: what block_store_status() tells of each datanode
 *                    ("datanode", "image", "state" ...); and for each one
 *                    refused an object with "datanode", "image", "layout",
 *                    "state": "refused" and "error"
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
 *     counters         opens, reads, bytes, published (events taken), errors
 *                      ({"ENOENT": 3}),
 *                      open_handles; absent unless connected
 *     last_error       string or null: why it was last closed or refused
 *     domid, device    xen only;  pid, uid  local only
 *   totals           counters of all devices since the start
 *
 * Anything else is answered with {"error": "text"}.
 */
#ifndef VREAD_CONTROL_H
#define VREAD_CONTROL_H

#include <jansson.h>
#include <systemd/sd-event.h>

#define CONTROL_MAX_REQUEST 4096U

struct control;

/* Makes the status document; a new reference. */
typedef json_t *control_status_fn(void *ctx);

/* Listens on path; 0, or negative errno (logged). */
int control_start(struct control **ret, sd_event *event, const char *path,
		  control_status_fn *status, void *ctx);
/* Closes everything and removes the socket.  NULL is ignored. */
void control_stop(struct control *c);

#endif
