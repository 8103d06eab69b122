/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * opener_protocol.h - what vreadd and vread-opener say to each other.  disk/opener.c asks,
 * opener/answer.c answers.
 *
 * A vreadd that is an ordinary user cannot open images, since they belong to whoever made them.
 * vread-opener can: it has CAP_DAC_READ_SEARCH and nothing else.  vreadd starts it before it gives
 * up its own capabilities.  vread-opener trusts vreadd with nothing: it opens only images that the
 * operator named in vread.conf(5) or a toolstack in xenstore, and the backing files that these
 * allow.
 *
 *	vreadd                          vread-opener
 *	  | <------- READY --------------- |  once, on the first channel
 *	  | -------- request ------------> |  one at a time on each channel
 *	  | <------- answer, descriptor -- |
 *
 * The channels are SOCK_SEQPACKET socket pairs, so a message is whole or is not there.  Each
 * channel has a thread of the opener: an image whose file system hangs does not delay the others,
 * unless there are OPENER_CHANNELS of them.
 */
#ifndef VREAD_DISK_OPENER_PROTOCOL_H
#define VREAD_DISK_OPENER_PROTOCOL_H

#include <limits.h>
#include <stdint.h>

#define OPENER_FIRST_FD 3 /* the opener's end of the first channel; the others follow */
#define OPENER_CHANNELS 16U

enum opener_kind {
	OPENER_IMAGE = 1, /* opens path, an image that vread.conf names */
	OPENER_NAMED,     /* opens path, which a file of the image `top` names */
	OPENER_STAT,      /* tells what path is; opens nothing */
};

/* Three texts follow, each with a NUL at its end: the path; the image that vread.conf names (of
 * OPENER_NAMED, else empty); the file that has the name in it (likewise). */
struct opener_request {
	uint32_t kind;
};
#define OPENER_TEXTS 3U
#define OPENER_MAX_REQUEST (sizeof(struct opener_request) + OPENER_TEXTS * PATH_MAX)

/* A text without a NUL follows: what is wrong, if result is negative.  A descriptor comes with the
 * answer if a file was opened. */
struct opener_answer {
	int32_t result; /* 0 or negative errno; READY: 0 */
	uint32_t mode;  /* of OPENER_STAT, as the next three: as in struct stat */
	uint64_t dev;
	uint64_t ino;
	uint64_t rdev;
};
#define OPENER_MAX_TEXT 16384U

#endif
