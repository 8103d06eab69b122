/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * protocol.h - the questions vreadd asks a parser, and their answers. The files of
 * parser-protocol/, parser/serve.c and datanode/ use it.
 *
 * vreadd starts a parser with PARSER_CHANNELS stream sockets, from descriptor PARSER_FIRST_FD on.
 * When the parser is confined, it sends READY on the first socket. Then each socket carries one
 * question, its answer, the next question, and so on. The parser ends when one of the sockets is
 * closed.
 *
 * vreadd first sends FILE, once for each file of the images, and SETUP, both on the first socket.
 * USE or DISCOVER follows. After that, every other question may come on any socket.
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
 *   CHECK      file system, data file, .meta file,       basis
 *              packed basis
 *   LIST       file system, path of a folder, whether    number of blocks, each: id, generation
 *              blocks in it are finalized                stamp, length, status, problem
 *   NEWEST     file system, path of a pool's             number of replicas, each: id, generation
 *              directory finalized/                      stamp
 *
 * The header's result is 0 or a negative errno. On an error of SETUP, USE or DISCOVER the payload
 * is the reason, a text. On an error of any other question the payload is empty.
 *
 *   file          inode, generation, size, length of its content (0: it lies in extents),
 *                 content, number of extents, each: logical, physical, length
 *   basis         clean?, unsettled bytes of the data file: start, end, and of the .meta file,
 *                 number of watched ranges, each: offset, length, bytes; packed basis
 *   packed basis  length, bytes in the parser's own form
 *
 * wire.h says how texts and numbers are written.
 */
#ifndef VREAD_PARSER_PROTOCOL_H
#define VREAD_PARSER_PROTOCOL_H

#include <stdint.h>

#define PARSER_PROTOCOL 5U
#define PARSER_CHANNELS 4U
#define PARSER_FIRST_FD 3
#define PARSER_MAX_TEXT (128U << 10) /* a reason, or what is missing of LAYOUT_MAX_DATA_DIRS */

enum parser_kind {
	PARSER_FILE = 1,
	PARSER_SETUP,
	PARSER_USE,
	PARSER_DISCOVER,
	PARSER_STATE,
	PARSER_LOCATE,
	PARSER_CHECK,
	PARSER_LIST,
	PARSER_NEWEST,
	PARSER_READY, /* not a question; no payload */
};

/* The state of a file system. */
enum fs_state {
	FS_CLEAN,      /* cleanly unmounted */
	FS_LIVE,       /* mounted, or crashed: read together with what its journal holds */
	FS_REFUSED,    /* in use in a way the readers cannot follow */
	FS_UNREADABLE, /* damaged, missing, or replaced by another file system */
};

/* Limits of the ranges that vreadd compares to see that nothing was committed. */
#define FS_MAX_WATCHED 4U
#define FS_SUPER_BYTES 1024U /* at most, of one range; also the size of a superblock */

struct parser_header {
	uint32_t length; /* of the payload */
	uint32_t kind;   /* enum parser_kind; an answer repeats that of its question */
	int32_t result;  /* 0 or a negative errno; 0 in a question */
};

#endif
