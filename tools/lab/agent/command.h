/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * command.h - the commands that an agent (agent.c) runs: each in a session of its
 * own, with pipes or a terminal, killed with its whole session when its time is up.
 *
 * Output and ends go as frames into the queue given to command_init(); input
 * comes by command_input().
 */
#ifndef LAB_COMMAND_H
#define LAB_COMMAND_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "queue.h"

#define COMMANDS_MAX 128
#define COMMAND_FDS 3 /* stdin, stdout, stderr */

void command_init(struct queue *frames);
void frame_put(struct queue *frames, uint8_t type, uint32_t id, const void *data, uint32_t size);

/*
 * All take a frame's id and body as received.  A malformed RUN is answered by EXIT.
 * Input beyond the window kills the command.  Other malformed frames, and frames of
 * commands that have ended, are ignored.
 */
void command_run(uint32_t id, const char *body, size_t size);
void command_input(uint32_t id, const char *body, size_t size);
void command_signal(uint32_t id, const char *body, size_t size);
void command_resize(uint32_t id, const char *body, size_t size);

/*
 * Fills `fds` (COMMANDS_MAX * COMMAND_FDS of them) with what to poll for and
 * returns their number; command_ready() takes them back after poll().
 * Commands are not read while more than `frames_limit` bytes wait for the link.
 */
size_t command_poll(struct pollfd *fds, size_t frames_limit);
void command_ready(const struct pollfd *fds, size_t count);

/* Reaps commands that have ended, kills those whose time is up. */
void command_reap(void);
/* Milliseconds until command_reap() has something to do by the clock; -1: none. */
int command_next_deadline(void);
/* Kills and forgets everything; for when the controller is gone. */
void command_kill_all(void);

#endif
