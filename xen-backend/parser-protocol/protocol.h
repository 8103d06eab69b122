/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * protocol.h - what vreadd asks a parser, and what it is answered; private to
 * parser/.
 *
 * A parser is started with PARSER_CHANNELS stream sockets, from descriptor
 * PARSER_FIRST_FD on.  Once it is confined it says READY on the first.  Then on each it gets a
 * question and answers it, one at a time; it ends when one of them is closed.  First come FILE,
 * once per file of the images, SETUP, and USE or DISCOVER, on the first channel; then any others on
 * any.
 *
 *   question   payload                                   answer's payload
 *   FILE       path; with it a descriptor                -
 *   SETUP      PARSER_PROTOCOL, version, instance,       -
 *              number of images, each: format ("": missing),
 *              path, mode
 *   USE        check fit?, path of the layout, layout    of each file system: state, reason,
 *                                                        number of guards, each: image, offset,
 *                                                        bytes
 *   DISCOVER   number of directories, each: path         what is missing, layout, then as USE
 *   STATE      file system                               state, reason
 *   LOCATE     file system, directory, pool, id,         finalized?, checksums' type, chunk,
 *              generation stamp                          data file, .meta file, basis
 *   CHECK      file system, basis, data and .meta file   basis
 *   LIST       file system, path of a folder, whether    number of blocks, each: id, generation
 *              blocks in it are finalized                stamp, length, status, problem
 *
 * The header's result is 0 or a negative errno; then the payload is a reason, a text,
 * to SETUP, USE and DISCOVER, and empty to others.  A file: size, length of its content if
 * that lies in metadata, content, number of extents, each: logical, physical, length.  A basis: see
 * basis.h.  Texts and numbers: wire.h.
 */
#ifndef VREAD_PARSER_PROTOCOL_H
#define VREAD_PARSER_PROTOCOL_H

#include <stdint.h>

#define PARSER_PROTOCOL 2U
#define PARSER_CHANNELS 4U
#define PARSER_FIRST_FD 3
#define PARSER_MAX_TEXT (128U << 10) /* what is missing of LAYOUT_MAX_DATA_DIRS directories */

enum parser_kind {
	PARSER_FILE = 1,
	PARSER_SETUP,
	PARSER_USE,
	PARSER_DISCOVER,
	PARSER_STATE,
	PARSER_LOCATE,
	PARSER_CHECK,
	PARSER_LIST,
	PARSER_READY, /* asked by nobody; no payload */
};

/* Of a file system. */
enum fs_state {
	FS_CLEAN,      /* cleanly unmounted */
	FS_LIVE,       /* mounted, or crashed: read with what its journal holds */
	FS_REFUSED,    /* in use in a way that cannot be followed */
	FS_UNREADABLE, /* damaged, gone, or another one in its place */
};

/* Of the bytes by which vreadd itself sees that nothing was committed since. */
#define FS_MAX_WATCHED 3U
#define FS_SUPER_BYTES 1024U /* at most, of each */

struct parser_header {
	uint32_t length; /* of the payload */
	uint32_t kind;   /* the same in an answer */
	int32_t result;  /* of an answer */
};

#endif
