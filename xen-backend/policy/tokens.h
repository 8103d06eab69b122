/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tokens.h - the tokens of one datanode's blocks: whether tokens are required, the keys that judge
 * them, and counts of the verdicts.  datanode/ holds one struct tokens per datanode; read/ checks
 * each OPEN and takes new keys.
 *
 * Who says "tokens are on" (KEYS) is believed, and this is remembered, also on disk
 * (policy/token_memory.h).  Who later says "tokens are off" is not: whoever may publish for the
 * datanode could otherwise open its blocks to everybody.  Only the operator's TOKENS_OFF does that,
 * and forgets.  HDFS uses tokens in all pools of a datanode or in none, so one word about one pool
 * counts for all.
 *
 * Keys come from the datanode itself (KEYS) and are used for its own replicas only.  So a datanode
 * can use keys only to let its own replicas be read.  Keys are held by vread-key-agent only
 * (policy/key_agent.h); this process passes them on and keeps none.
 *
 * Threads: any.
 */
#ifndef VREAD_POLICY_TOKENS_H
#define VREAD_POLICY_TOKENS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TOKENS_AUTO: tokens are required from when the datanode first says that they are on. */
enum tokens_mode { TOKENS_AUTO, TOKENS_REQUIRED, TOKENS_OFF };

#define TOKENS_MAX_POOLS 16U

struct tokens;

/* Makes the tokens of a datanode, in mode TOKENS_AUTO.  folder: of token_memory.h; NULL or "":
 * nothing is remembered on disk.  If what is remembered cannot be read, this is logged, and tokens
 * are required.  NULL: out of memory or descriptors. */
struct tokens *tokens_new(const char *datanode, const char *folder);
struct tokens *tokens_get(struct tokens *t);
void tokens_put(struct tokens *t); /* NULL is ignored */
/* The mode counts for checks from now on.  TOKENS_OFF forgets that tokens were on. */
void tokens_set_mode(struct tokens *t, enum tokens_mode mode);

/* Takes the datanode's word about a pool: tokens are on, and only those signed with one of keys are
 * right; or they are off.  keys: as in a KEYS request.  The keys of before are wiped.  Returns when
 * `on` is remembered on disk, or was logged not to be.  Returns 0; -EINVAL: malformed keys, and
 * nothing has changed; -EPERM: tokens were on, and only the operator switches them off, and nothing
 * has changed; or -EMFILE: too many pools, -ENOMEM or -EIO: no key agent, and tokens are required
 * if on. */
int tokens_take(struct tokens *t, const char *pool_id, bool on, const void *keys, size_t length);

/* How the OPEN of a handle was judged.  The handle keeps it. */
struct token_grant {
	uint64_t key;           /* number of the key that signed the token; 0: none was required */
	_Atomic uint64_t epoch; /* of the tokens, when this was last found to hold */
};

/* Checks whether the block may be opened with the token (length 0: no token).  Returns 0 and
 * *ret, or -EPERM. */
int tokens_check(struct tokens *t, const char *pool_id, int64_t block_id, const void *token,
		 size_t length, struct token_grant *ret);
/* True if the grant of an open block of that pool holds now: the key is still there, with the same
 * bytes; or no token is required.  A comparison of two numbers, unless something has changed since
 * the grant was last found to hold.  Never waits for the key agent or a disk.  Several threads may
 * ask about one grant. */
bool tokens_hold(struct tokens *t, const char *pool_id, struct token_grant *g);

/*
 * Returns a new reference:
 *
 *   mode       "auto", "required" or "off": as configured
 *   required   whether a token is required now
 *   seen       whether the datanode said that tokens are on, since the operator last said `off`
 *   since      when it first did, ms since 1970; absent: never, or unknown
 *   says-off   true: the datanode said that tokens are off, and was refused; else absent
 *   problem    why the memory on disk cannot be read or written; absent: all is well
 *   pools      objects, for each pool of which the datanode spoke: pool; required; keys, their
 *              number; expiry, of the newest key, and until, the same if that key is still valid
 *              (both ms since 1970; absent: there is none)
 *   valid      OPENs with a valid token
 *   refused    {reason: OPENs}
 */
json_t *tokens_status(struct tokens *t);

#endif
