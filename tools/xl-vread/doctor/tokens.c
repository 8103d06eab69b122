// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tokens.c - the check of `xl-vread doctor` of block tokens: whether they are on for each datanode,
 * and whether there are keys to judge them.  Called by doctor.c.
 */
#include <stdio.h>
#include <string.h>

#include "../vreadd/tokens_text.h"
#include "checks.h"
#include "cli/text.h"

#define OFF                                                                                 \
	"say tokens = off in its section of vread.conf and xl-vread reload, or tokens=off " \
	"in the vread line of its domain"

static void check_keys(struct doctor *d, const char *name, const json_t *tokens)
{
	char text[TOKENS_TEXT];

	switch (tokens_text(tokens, text)) {
	case TOKENS_UNTOLD:
		break;
	case TOKENS_WITHOUT_KEYS:
		doctor_fail(
			d, name,
			"does the datanode run, with a publisher and a device of role datanode? "
			"if HDFS uses block tokens no longer: " OFF,
			"block tokens %s", text);
		break;
	default:
		doctor_ok(d, name, "block tokens %s", text);
	}
}

static void check_tokens_of(struct doctor *d, const char *name, const json_t *tokens)
{
	const char *problem = json_string_value(json_object_get(tokens, "problem"));

	check_keys(d, name, tokens);
	if (json_is_true(json_object_get(tokens, "says-off")))
		doctor_warn(
			d, name,
			"if you have switched them off in Hadoop: " OFF
			"; if not, find out who else publishes for it",
			"the datanode says that block tokens are off; they were on and stay on");
	if (problem)
		doctor_fail(d, name,
			    "correct the folder token-files of vread.conf: after a restart vreadd "
			    "must know that block tokens are on",
			    "%.700s", problem);
}

void check_tokens(struct doctor *d)
{
	const json_t *datanodes = json_object_get(d->facts->status, "datanodes");
	json_t *entry;
	size_t i;

	if (!json_array_size(datanodes))
		doctor_skip(d, "block tokens", "no datanode is served");
	json_array_foreach(datanodes, i, entry)
	{
		check_tokens_of(d, text_member(entry, "datanode"),
				json_object_get(entry, "tokens"));
	}
}
