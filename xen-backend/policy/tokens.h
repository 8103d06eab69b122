/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tokens.h - the tokens of one datanode's blocks: whether tokens are required, the keys that judge
 * them, and counts of the verdicts.  datanode/ holds one struct tokens per datanode; read/ checks
 * each OPEN and takes new keys.
 *
 * Keys come from the datanode itself (KEYS) and are used for its own replicas only.  So a datanode
 * can use keys only to let its own replicas be read.  Keys are held in the memory of this process
 * only, and are wiped.
 *
 * Threads: any.
 */
#ifndef VREAD_POLICY_TOKENS_H
#define VREAD_POLICY_TOKENS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* TOKENS_AUTO: tokens are required in a pool from when the datanode says so until it says
 * otherwise. */
enum tokens_mode { TOKENS_AUTO, TOKENS_REQUIRED, TOKENS_OFF };

#define TOKENS_MAX_POOLS 16U

struct token_keys;
struct tokens;

struct tokens *tokens_new(void); /* mode TOKENS_AUTO; NULL: out of memory */
struct tokens *tokens_get(struct tokens *t);
void tokens_put(struct tokens *t); /* NULL is ignored */
/* The mode counts for checks from now on. */
void tokens_set_mode(struct tokens *t, enum tokens_mode mode);

/* Turns the tokens of a pool on or off.  If they are on, only a token signed with one of keys is
 * right.  The keys of before are wiped.  Returns 0, -ENOMEM, or -EMFILE: too many pools. */
int tokens_take(struct tokens *t, const char *pool_id, bool on, const struct token_keys *keys);

/* Checks whether the block may be opened with the token (length 0: no token).  Returns 0 or
 * -EPERM. */
int tokens_check(struct tokens *t, const char *pool_id, int64_t block_id, const void *token,
		 size_t length);

/* {"mode", "pools": [{"pool", "required", "keys", "expiry": ms of the newest key}], "valid": OPENs,
 * "refused": {reason: OPENs}}.  Returns a new reference. */
json_t *tokens_status(struct tokens *t);

#endif
