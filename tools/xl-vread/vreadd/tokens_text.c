/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tokens_text.c - implements tokens_text.h: reads the member "tokens" of a datanode's status. */
#include "tokens_text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/text.h"

static enum tokens_state say(enum tokens_state state, const char *words, char text[TOKENS_TEXT])
{
	snprintf(text, TOKENS_TEXT, "%s", words);
	return state;
}

static void until_text(int64_t ms, char text[TOKENS_TEXT])
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) ||
	    !strftime(text, TOKENS_TEXT, "on, keys until %F %T", &tm))
		snprintf(text, TOKENS_TEXT, "on, with keys");
}

/* The keys of a pool are renewed long before the newest expires.  So of several pools the one with
 * the earliest end says whether the publisher still works. */
static enum tokens_state keys_text(const json_t *pools, char text[TOKENS_TEXT])
{
	int64_t earliest = INT64_MAX;
	json_t *pool;
	size_t i;

	json_array_foreach(pools, i, pool)
	{
		int64_t until = text_number(pool, "until");

		if (!until) {
			snprintf(text, TOKENS_TEXT,
				 "on, without keys of %.255s: no block of it is "
				 "opened",
				 text_member(pool, "pool"));
			return TOKENS_WITHOUT_KEYS;
		}
		if (until < earliest)
			earliest = until;
	}
	if (!json_array_size(pools))
		return say(TOKENS_WITHOUT_KEYS, "on, without keys: no block is opened", text);
	until_text(earliest, text);
	return TOKENS_ON;
}

enum tokens_state tokens_text(const json_t *tokens, char text[TOKENS_TEXT])
{
	const json_t *required = json_object_get(tokens, "required");

	if (!json_is_boolean(required))
		return say(TOKENS_UNTOLD, "", text);
	if (json_is_true(required))
		return keys_text(json_object_get(tokens, "pools"), text);
	if (strcmp(text_member(tokens, "mode"), "off") == 0)
		return say(TOKENS_OFF_OPERATOR, "off by the operator (tokens = off)", text);
	return say(TOKENS_NEVER_SEEN, "off: the datanode never sent keys", text);
}
