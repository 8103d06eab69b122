/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frame.h - the protocol between the lab's controller (tools/lab/channel.py)
 * and an agent in dom0 or in a guest.
 *
 * Frames in both directions: a header, then `length` bytes.  Integers are
 * little endian.  `id` names a command; the controller chooses it and does
 * not use it again on the same channel.
 *
 *   controller to agent
 *   RUN    struct frame_run, then argv as NUL-terminated strings
 *   STDIN  bytes for the command's standard input; at most FRAME_WINDOW
 *          bytes may be unacknowledged.  No bytes at all: end of input.
 *   KILL   uint32 signal, to every process of the command's session
 *   RESIZE uint16 rows, columns of a command's terminal
 *
 *   agent to controller
 *   HELLO  uint32 FRAME_VERSION; the first frame after a connect, id 0
 *   STDOUT, STDERR  bytes the command wrote
 *   ACK    uint32 bytes of STDIN that were passed on, or dropped: nobody reads them
 *   EXIT   struct frame_exit; the last frame of that id
 */
#ifndef LAB_FRAME_H
#define LAB_FRAME_H

#include <stdint.h>

#define FRAME_VERSION 1U
#define FRAME_MAX (64U << 10)
#define FRAME_WINDOW (256U << 10)

enum frame_type {
	FRAME_RUN = 'R',
	FRAME_STDIN = 'I',
	FRAME_KILL = 'K',
	FRAME_RESIZE = 'W',
	FRAME_HELLO = 'H',
	FRAME_STDOUT = 'O',
	FRAME_STDERR = 'E',
	FRAME_ACK = 'A',
	FRAME_EXIT = 'X',
};

struct frame_header {
	uint32_t length; /* of what follows, at most FRAME_MAX */
	uint32_t id;
	uint8_t type;
	uint8_t reserved[3];
};

#define FRAME_RUN_PTY 1U /* on a terminal of its own; STDERR is not used */

struct frame_run {
	uint32_t timeout_ms; /* 0: none.  Then its session gets SIGKILL. */
	uint32_t flags;
	uint16_t rows, columns;
};

#define FRAME_EXIT_TIMED_OUT 1U
#define FRAME_EXIT_STUCK 2U /* SIGKILL did not end it; it is still there */

struct frame_exit {
	uint32_t status; /* exit status, or 128 + signal */
	uint32_t flags;
	uint32_t pid;
};

#endif
