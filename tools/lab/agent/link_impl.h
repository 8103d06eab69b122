/* SPDX-License-Identifier: GPL-2.0-or-later */
/* link_impl.h - what the two kinds of link share; only link*.c include it. */
#ifndef LAB_LINK_IMPL_H
#define LAB_LINK_IMPL_H

#include "link.h"

struct libxenvchan;
struct xs_handle;

struct link {
	int fd;
	struct libxenvchan *vchan; /* NULL: a port */
	struct xs_handle *xs;      /* watches what the vchan wrote there; NULL: a port */
	char node[128];
	bool lost;
};

ssize_t port_recv(struct link *link, void *data, size_t size);
ssize_t port_send(struct link *link, const void *data, size_t size);

#endif
