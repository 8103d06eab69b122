// SPDX-License-Identifier: GPL-2.0-or-later
/* Implements clones_text.h. */
#include "clones_text.h"

#include <stdio.h>

#include "cli/text.h"

static const char *name_of(const json_t *entry, size_t i)
{
	const char *name =
		json_string_value(json_array_get(json_object_get(entry, "datanodes"), i));

	return name ? name : "-";
}

const char *clones_text(const json_t *entry, char text[CLONES_TEXT])
{
	const char *pool = json_string_value(json_object_get(entry, "pool"));

	snprintf(text, CLONES_TEXT,
		 "datanodes %.63s and %.63s look like clones of one cluster%s%.127s: %.200s",
		 name_of(entry, 0), name_of(entry, 1), pool ? ", pool " : "", pool ? pool : "",
		 text_member(entry, "problem"));
	return text;
}
