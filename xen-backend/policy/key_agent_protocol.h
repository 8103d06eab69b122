/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * key_agent_protocol.h - what vreadd and vread-key-agent say to each other.  policy/key_agent.c
 * asks, key-agent/answer.c answers.
 *
 * A block key signs tokens for every block of its pool, on every datanode.  So no key stays in
 * vreadd, which handles what guests and other hosts send.  vread-key-agent holds the keys and never
 * tells one: it only says whether a token is right.
 *
 *	vreadd                          vread-key-agent
 *	  | <------- answer ------------- |  once: ready
 *	  | -------- KEYS, JUDGE -------> |
 *	  | <------- answer ------------- |  before the next of these requests
 *	  | -------- FORGET ------------> |  at any time; no answer
 *
 * The channel is a SOCK_SEQPACKET socket pair, so a message is whole or is not there.  Neither side
 * trusts the other: vreadd may have been taken over, and so may the agent, which reads what guests
 * wrote.
 */
#ifndef VREAD_POLICY_KEY_AGENT_PROTOCOL_H
#define VREAD_POLICY_KEY_AGENT_PROTOCOL_H

#include <stdint.h>

#include "vread-ring-user.h"

#define KEY_AGENT_FD 3 /* the agent's end of the channel */

/* A slot has the keys of one pool of one datanode.  Slot 0 never has any. */
#define KEY_AGENT_SLOTS 4096U
#define KEY_AGENT_NO_KEYS 0U

enum key_agent_kind {
	KEY_AGENT_KEYS = 1, /* the keys that follow replace those of the slot */
	KEY_AGENT_FORGET,   /* wipes the keys of the slot */
	KEY_AGENT_JUDGE,    /* judges the token that follows, for that block of that pool */
};

/* Up to KEY_AGENT_MAX_BYTES follow: of KEYS each a struct vread_key and its bytes; of JUDGE a token
 * as Hadoop's Token.write() writes it. */
struct key_agent_request {
	uint32_t kind;
	uint32_t slot;
	int64_t block_id;                    /* of JUDGE, else 0 */
	char pool_id[VREAD_MAX_POOL_ID + 1]; /* of JUDGE, with a NUL; else empty */
};
#define KEY_AGENT_MAX_BYTES VREAD_MAX_TOKEN

/* The result of judging a token.  Only TOKEN_VALID lets a block be opened. */
enum token_verdict {
	TOKEN_VALID,
	TOKEN_MISSING,
	TOKEN_MALFORMED,
	TOKEN_UNKNOWN_KEY,
	TOKEN_FORGED,
	TOKEN_EXPIRED,
	TOKEN_OF_ANOTHER_BLOCK,
	TOKEN_NOT_FOR_READING,
	TOKEN_NOT_JUDGED, /* there was no answer; the agent never says so */
	TOKEN_VERDICTS
};

struct key_agent_answer {
	int32_t result; /* of JUDGE enum token_verdict; else 0 or negative errno */
	uint32_t count; /* of KEYS: how many there are, up to VREAD_MAX_KEYS; else 0 */
	int64_t newest; /* of KEYS: when the last of them expires, ms since 1970; none: 0 */
	/* Numbers of keys; the rest 0. Of KEYS: of each key. Of JUDGE with TOKEN_VALID:
	 * number[0] is that of the key that signed the token. A key that the slot had before
	 * keeps its number. Any other key gets a new one, also if its id was there before. */
	uint64_t number[VREAD_MAX_KEYS];
};

#endif
