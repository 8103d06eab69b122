// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads lists of data directories; see data_dirs.h.  Hadoop's StorageLocation has the grammar of an
 * element: "[TYPE]URI", both parts as a user may have written them.
 */
#include "control/config/data_dirs.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "layout/layout.h"

#define BLANKS " \t\r\n"
#define SCHEME "file:"

static bool begins_element(const char *text)
{
	return *text == '/' || *text == '[' || !strncasecmp(text, SCHEME, strlen(SCHEME));
}

/* Returns the length of the element at text, with blanks at its end. */
static size_t element_length(const char *text)
{
	size_t length = 0;

	while (text[length] && text[length] != ',') {
		size_t blanks = strspn(text + length, BLANKS);

		/* "[SSD] /data" is one element. */
		if (blanks && begins_element(text + length + blanks) && text[length - 1] != ']')
			break;
		length += blanks ? blanks : 1;
	}
	return length;
}

static int hex_digit(char c)
{
	if (!isxdigit((unsigned char)c))
		return -1;
	return isdigit((unsigned char)c) ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* Replaces %XX in place.  A query, a fragment and a zero byte are no part of a path. */
static int decode(char *path)
{
	char *to = path;

	for (const char *from = path; *from; from++) {
		int high, low;

		if (*from == '?' || *from == '#')
			return -EINVAL;
		if (*from != '%') {
			*to++ = *from;
			continue;
		}
		high = hex_digit(from[1]);
		low = high < 0 ? -1 : hex_digit(from[2]);
		if (low < 0 || high + low == 0)
			return -EINVAL;
		*to++ = (char)(high << 4 | low);
		from += 2;
	}
	*to = '\0';
	return 0;
}

/* Moves the path of a file: URI to the start of text. */
static int take_uri(char *text)
{
	static const char local[] = "localhost";
	const char *path = text + strlen(SCHEME);

	if (path[0] == '/' && path[1] == '/') {
		path += 2;
		if (!strncasecmp(path, local, strlen(local)))
			path += strlen(local);
	}
	memmove(text, path, strlen(path) + 1);
	return decode(text);
}

/* Removes the type of the storage.  Returns 1 if it is one without a disk. */
static int take_type(char *text)
{
	char *end;
	int r = 0;

	if (text[0] != '[')
		return 0;
	end = strchr(text, ']');
	if (!end)
		return -EINVAL;
	*end++ = '\0';
	if (!strcasecmp(text + 1, "RAM_DISK") || !strcasecmp(text + 1, "PROVIDED"))
		r = 1;
	end += strspn(end, BLANKS);
	memmove(text, end, strlen(end) + 1);
	return r;
}

static void cut_slashes(char *path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		path[--length] = '\0';
}

/* Returns 1 if the element is to be skipped. */
static int take_element(char *text)
{
	int r = take_type(text);

	if (r == 0 && !strncasecmp(text, SCHEME, strlen(SCHEME)))
		r = take_uri(text);
	if (r != 0)
		return r;
	cut_slashes(text);
	return layout_path_valid(text) ? 0 : -EINVAL;
}

int data_dirs_take(const char **list, char **ret_path)
{
	while (*(*list += strspn(*list, BLANKS ","))) {
		size_t length = element_length(*list);
		char *text = strndup(*list, length);
		int r;

		if (!text)
			return -ENOMEM;
		while (length && strchr(BLANKS, text[length - 1]))
			text[--length] = '\0';
		r = take_element(text);
		if (r == 0) {
			*list += element_length(*list);
			*ret_path = text;
			return 1;
		}
		free(text);
		if (r < 0)
			return r;
		*list += element_length(*list);
	}
	return 0;
}
