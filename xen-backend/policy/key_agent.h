/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * key_agent.h - asks vread-key-agent, which holds the keys of block tokens.  policy/tokens.c calls
 * it; control/daemon.c starts the agent.
 *
 * Without an agent, and once it has ended, no key is taken and no token is right.
 *
 * Threads: any, after key_agent_use().  Questions come one after the other: an answer takes some
 * 10 us.  If the agent does not answer within 10 s, the channel is shut down, and by that
 * control/helper.h notices that the agent is of no use.
 */
#ifndef VREAD_POLICY_KEY_AGENT_H
#define VREAD_POLICY_KEY_AGENT_H

#include <stddef.h>
#include <stdint.h>

#include "policy/key_agent_protocol.h"

/* Waits until the agent is ready, then asks it by this channel, which belongs to this file from
 * then on.  Returns 0 or negative errno. */
int key_agent_use(int channel);
/* Ends every question, also those under way. */
void key_agent_end(void);

/* Takes a slot without keys.  Returns 0 or -EMFILE: there is none left. */
int key_agent_take_slot(uint32_t *ret);
/* Wipes the keys of the slot, and gives the slot back.  Never waits: where the agent has much to
 * read, it wipes them before the next question.  KEY_AGENT_NO_KEYS is ignored. */
void key_agent_give_slot(uint32_t slot);

struct key_facts {
	unsigned count;
	int64_t newest; /* when the last of them expires, ms since 1970; none: 0 */
	/* Of each key. A key that stays keeps its number, and no other key ever has that number. */
	uint64_t number[VREAD_MAX_KEYS];
};

/* Replaces the keys of the slot by those of a KEYS request, up to KEY_AGENT_MAX_BYTES.  Copies
 * none.  Returns 0; -EINVAL: they are malformed, and the slot has the keys of before; -EIO: there
 * is no agent. */
int key_agent_keys(uint32_t slot, const void *raw, size_t length, struct key_facts *ret);
/* Judges a token of up to VREAD_MAX_TOKEN bytes by the keys of the slot, at the present time.  The
 * block may be opened only with TOKEN_VALID.  Then *ret_number is the number of the key that signed
 * the token, not 0. */
enum token_verdict key_agent_judge(uint32_t slot, const char *pool_id, int64_t block_id,
				   const void *token, size_t length, uint64_t *ret_number);

#endif
