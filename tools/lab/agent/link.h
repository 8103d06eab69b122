/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link.h - a byte stream to the controller that never blocks: a virtio-serial
 * port in dom0, a libxenvchan server in a guest.
 *
 * A link is readable or writable again after its fd polled POLLIN and
 * link_woken() was called; bytes may also be there without any event, so
 * callers try link_recv() and link_send() until they return 0 before they
 * sleep.
 *
 * A guest that was saved and restored is another domain, and its old vchan does not work any more.
 * Only xenstore shows this: link_watch_fd() polls POLLIN, and link_lost() returns true.
 */
#ifndef LAB_LINK_H
#define LAB_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct link;

/* Both wait until a controller is there, a port for a minute.  NULL: failed, with a message on
 * stderr. */
struct link *link_open_port(const char *path);
struct link *link_open_vchan(const char *path);

int link_fd(const struct link *link);
/* What to poll link_fd() for, given whether there is something to send. */
short link_events(const struct link *link, bool sending);
void link_woken(struct link *link);
/* Poll it for POLLIN, then call link_lost().  -1: this link cannot be lost that way. */
int link_watch_fd(const struct link *link);
/* Reads the event of link_watch_fd().  True: the link is lost. */
bool link_lost(struct link *link);

/* Bytes moved; 0: none for now; -1: the controller is gone. */
ssize_t link_recv(struct link *link, void *data, size_t size);
ssize_t link_send(struct link *link, const void *data, size_t size);

/* The vchan of a lost link stays open in the kernel: its event channel may belong to another
 * owner now. */
void link_close(struct link *link);

#endif
