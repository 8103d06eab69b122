/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer.h - holds the keys and answers vreadd's requests (policy/key_agent_protocol.h).  main.c
 * calls it.
 *
 * Threads: one.
 */
#ifndef VREAD_KEY_AGENT_ANSWER_H
#define VREAD_KEY_AGENT_ANSWER_H

/* Loads all that a judgement needs, so that later nothing is opened, and makes room for keys that
 * is not swapped out, if the limit of locked memory allows.  Returns 0 or negative errno. */
int answer_prepare(void);
/* Tells vreadd that the agent is ready.  Returns 0 or negative errno. */
int answer_ready(int channel);
/* Answers until the other end of the channel is closed, then wipes all keys.  A message that is no
 * request gets no answer, and ends it, too: vreadd sends none. */
void answer_requests(int channel);

#endif
