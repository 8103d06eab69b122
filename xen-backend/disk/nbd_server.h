/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nbd_server.h - a qemu-nbd of our own, which shows one image, read-only, on a socket.
 *
 * It lets its image be used by others all the same, and ends by itself when the
 * last connection to it does.
 */
#ifndef VREAD_DISK_NBD_SERVER_H
#define VREAD_DISK_NBD_SERVER_H

#include <stdbool.h>

struct nbd_server;

/* Shows the file at path, in what QEMU calls that format, to that many clients; to be connected
 * to as soon as its socket is there.  0, or negative errno with *ret_error. */
int nbd_server_start(const char *path, const char *driver, bool direct, unsigned clients,
		     struct nbd_server **ret, char **ret_error);
void nbd_server_stop(struct nbd_server *s); /* NULL is ignored */
/* Ends its process, whoever is still connected: for any thread, once all are connected. */
void nbd_server_kill(struct nbd_server *s);

const char *nbd_server_socket(const struct nbd_server *s);
/* Nobody else is to connect: no trace of the socket is left. */
void nbd_server_hide(struct nbd_server *s);

/* For the thread that opens. */
bool nbd_server_is_alive(struct nbd_server *s);
/* The first line it said, "" if it said nothing.  Likewise. */
const char *nbd_server_said(struct nbd_server *s);

#endif
