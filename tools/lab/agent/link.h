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
 * A guest that was saved and restored is another domain: what a vchan was made of is gone, and
 * nothing in it says so.  xenstore does: link_watch_fd() polls POLLIN then, and link_lost() tells.
 */
#ifndef LAB_LINK_H
#define LAB_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct link;

/* Both wait until a controller is there.  NULL: cannot be, said on stderr. */
struct link *link_open_port(const char *path);
struct link *link_open_vchan(const char *path);

int link_fd(const struct link *link);
/* What to poll link_fd() for, given whether there is something to send. */
short link_events(const struct link *link, bool sending);
void link_woken(struct link *link);
/* -1 where a link cannot be lost that way. */
int link_watch_fd(const struct link *link);
/* Takes what link_watch_fd() had to tell. */
bool link_lost(struct link *link);

/* Bytes moved; 0: none for now; -1: the controller is gone. */
ssize_t link_recv(struct link *link, void *data, size_t size);
ssize_t link_send(struct link *link, const void *data, size_t size);

/* One that was lost stays open as far as the kernel is concerned: its event channel may be
 * another's now. */
void link_close(struct link *link);

#endif
