/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tokens_text.h - says in a sentence what vreadd's status tells of a datanode's block tokens.
 * Called by status_text.c and by doctor/tokens.c.
 */
#ifndef VREAD_TOKENS_TEXT_H
#define VREAD_TOKENS_TEXT_H

#include <jansson.h>

#define TOKENS_TEXT 400 /* bytes of a buffer */

enum tokens_state {
	TOKENS_UNTOLD,       /* vreadd is older, or tells nothing */
	TOKENS_OFF_OPERATOR, /* the operator said so */
	TOKENS_NEVER_SEEN,   /* off: the datanode never sent keys */
	TOKENS_ON,           /* with valid keys for all pools of which the datanode spoke */
	TOKENS_WITHOUT_KEYS, /* on, and of a pool or of all there is no valid key */
};

/* tokens: the member of that name of a datanode's status.  *text: "on, keys until ..."; "" for
 * TOKENS_UNTOLD.  Times are local. */
enum tokens_state tokens_text(const json_t *tokens, char text[TOKENS_TEXT]);

#endif
