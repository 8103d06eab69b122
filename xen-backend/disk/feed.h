/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * feed.h - an image read by another process through the one that can.
 *
 * An image that takes a qemu-nbd to read cannot be read by a process that may not
 * connect to anything.  It gets a socket instead, at whose other end image_feed()
 * answers with bytes of that image and nothing else.
 */
#ifndef VREAD_DISK_FEED_H
#define VREAD_DISK_FEED_H

#include "disk/image.h"

/* Whether its bytes cannot be had from its files by any process. */
bool image_needs_feed(const struct image *img);

/* Answers what is asked at socket until the other end is gone, or asks for what is not there. */
void image_feed(struct image *img, int socket);

/* The other end: an image of size bytes, whose file path is
 * open already (source_give()).  Takes over socket.  As image_open(). */
int image_open_fed(const char *path, enum source_mode mode, uint64_t size, int socket,
		   struct image **ret, char **ret_error);

#endif
