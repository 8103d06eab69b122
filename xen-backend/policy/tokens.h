/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tokens.h - the tokens of one datanode's blocks: whether they are required, the keys they are
 * judged by, and what came of it.
 *
 * Keys come from the datanode itself (KEYS) and are used for its own replicas only: it can do no
 * more with them than let those be read, which are its own to give.  They are in this memory and
 * nowhere else, and are wiped.
 *
 * Threads: any.
 */
#ifndef VREAD_POLICY_TOKENS_H
#define VREAD_POLICY_TOKENS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* AUTO: required in a pool as soon as the datanode has said so, until it says otherwise. */
enum tokens_mode { TOKENS_AUTO, TOKENS_REQUIRED, TOKENS_OFF };

#define TOKENS_MAX_POOLS 16U

struct token_keys;
struct tokens;

struct tokens *tokens_new(void); /* AUTO; NULL: out of memory */
struct tokens *tokens_get(struct tokens *t);
void tokens_put(struct tokens *t); /* NULL is ignored */
/* For checks from now on. */
void tokens_set_mode(struct tokens *t, enum tokens_mode mode);

/* That pool's tokens are on, and signed with one of these (none is right otherwise), or off.  The
 * keys of before are forgotten.  0, -ENOMEM, or -EMFILE: too many pools. */
int tokens_take(struct tokens *t, const char *pool_id, bool on, const struct token_keys *keys);

/* Whether that block may be opened with that token (length 0: none): 0, or -EPERM. */
int tokens_check(struct tokens *t, const char *pool_id, int64_t block_id, const void *token,
		 size_t length);

/* {"mode", "pools": [{"pool", "required", "keys", "expiry": ms of the newest key}], "valid": OPENs,
 * "refused": {reason: OPENs}}; new reference. */
json_t *tokens_status(struct tokens *t);

#endif
