// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads, replaces and removes the file that remembers a datanode's block tokens; see
 * token_memory.h.  policy/tokens.c calls these functions.
 */
#include "policy/token_memory.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/state_file.h"

#define MAX_BYTES 512 /* our own files are shorter */
#define FORM "{\"datanode\": \"%s\", \"tokens\": \"on\", \"since\": %lld}\n"

static int set_path(const char *folder, const char *datanode, char ret[PATH_MAX], char **ret_error)
{
	if (snprintf(ret, PATH_MAX, "%s/%s.json", folder, datanode) < PATH_MAX)
		return 0;
	return error_text(ret_error, -ENAMETOOLONG, "%s: token-files: expected a shorter path",
			  folder);
}

/* Parses the object.  False: it is not exactly of the form that we write. */
static bool parse(const char *bytes, size_t length, const char *datanode, int64_t *ret_since)
{
	json_t *o = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, NULL);
	const char *name = "", *tokens = "";
	json_int_t since = 0;
	bool valid = json_unpack_ex(o, NULL, JSON_STRICT, "{s:s, s:s, s:I}", "datanode", &name,
				    "tokens", &tokens, "since", &since) == 0 &&
		     strcmp(name, datanode) == 0 && strcmp(tokens, "on") == 0 && since >= 0;

	json_decref(o);
	if (valid)
		*ret_since = since;
	return valid;
}

int token_memory_read(const char *folder, const char *datanode, int64_t *ret_since,
		      char **ret_error)
{
	char path[PATH_MAX], *text = NULL;
	size_t length = 0;
	int r = set_path(folder, datanode, path, ret_error);
	bool valid;

	if (r < 0)
		return r;
	r = state_file_read(path, MAX_BYTES, &text, &length);
	if (r == -ENOENT)
		return 0;
	if (r < 0 && r != -EINVAL && r != -EFBIG)
		return error_text(ret_error, r, "%s: cannot read: %s", path, strerror(-r));
	valid = r == 0 && parse(text, length, datanode, ret_since);
	free(text);
	if (valid)
		return 1;
	return error_text(ret_error, -EINVAL,
			  "%s: damaged: expected a file of vreadd that says that datanode %s uses "
			  "block tokens",
			  path, datanode);
}

int token_memory_write(const char *folder, const char *datanode, int64_t since, char **ret_error)
{
	char path[PATH_MAX], text[MAX_BYTES];
	int r = set_path(folder, datanode, path, ret_error);

	if (r < 0)
		return r;
	if (snprintf(text, sizeof(text), FORM, datanode, (long long)since) >= (int)sizeof(text))
		return error_text(ret_error, -ENAMETOOLONG, "%s: the name is too long", datanode);
	mkdir(folder, 0700); /* if this fails, the next call does, too */
	r = state_file_replace(path, text);
	return r ? error_text(ret_error, r, "%s: cannot write: %s", path, strerror(-r)) : 0;
}

int token_memory_remove(const char *folder, const char *datanode, char **ret_error)
{
	char path[PATH_MAX];
	int r = set_path(folder, datanode, path, ret_error);

	if (r < 0)
		return r;
	r = state_file_remove(path);
	return r ? error_text(ret_error, r, "%s: cannot remove: %s", path, strerror(-r)) : 0;
}
