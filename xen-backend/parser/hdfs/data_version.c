// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parses VERSION files as java.util.Properties does, because HDFS reads and writes them by it:
 * "key=value", "key:value" or "key value", comments, lines that '\' continues, and escapes. Bytes
 * are Latin-1. The values become UTF-8.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "layout/layout.h"
#include "parser/hdfs/data_version.h"
#include "vreadif.h"

/* The first layout with 32 x 32 folders of blocks. Datanodes before it had 256 x 256 folders, or
 * chose a folder for each block. */
#define OLDEST_LAYOUT 57U

#define LINE_END (-1)
#define MALFORMED (-2)

struct reader {
	const char *at, *end;
};

static bool is_blank(int c)
{
	return c == ' ' || c == '\t' || c == '\f';
}

static void skip_blanks(struct reader *r)
{
	while (r->at < r->end && is_blank(*r->at))
		r->at++;
}

/* Returns the UTF-16 code unit of four hexadecimal digits. */
static int take_unicode(struct reader *r)
{
	int code = 0;

	if (r->end - r->at < 4)
		return MALFORMED;
	for (unsigned i = 0; i < 4; i++) {
		int c = *r->at++;

		if (!isxdigit(c))
			return MALFORMED;
		code = code << 4 | (isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return code;
}

/* Returns the code of the next character of the line, and whether it was escaped. */
static int take(struct reader *r, bool *ret_escaped)
{
	static const char letters[] = "tnrf", codes[] = "\t\n\r\f";
	const char *letter;
	int c;

	*ret_escaped = false;
	while (r->at < r->end && *r->at == '\\') {
		*ret_escaped = true;
		if (++r->at == r->end)
			return LINE_END;
		c = (unsigned char)*r->at++;
		if (c == 'u')
			return take_unicode(r);
		letter = strchr(letters, c);
		if (c && letter)
			return codes[letter - letters];
		if (c != '\n' && c != '\r')
			return c;
		/* The line goes on in the next one. */
		r->at += c == '\r' && r->at < r->end && *r->at == '\n';
		skip_blanks(r);
		*ret_escaped = false;
	}
	if (r->at == r->end)
		return LINE_END;
	c = (unsigned char)*r->at++;
	return c == '\n' || c == '\r' ? LINE_END : c;
}

/* A text that is cut after `size - 1` bytes. */
struct text {
	char *bytes;
	size_t length, size;
};

/* Appends a character as UTF-8. A code unit that is no character alone becomes '?'. */
static void append(struct text *t, int code)
{
	char utf8[4];
	size_t n = 0;

	if (code >= 0xd800 && code < 0xe000)
		code = '?';
	if (code == 0)
		code = 0x7f; /* ends no text, and is as invalid */
	if (code < 0x80) {
		utf8[n++] = (char)code;
	} else if (code < 0x800) {
		utf8[n++] = (char)(0xc0 | code >> 6);
		utf8[n++] = (char)(0x80 | (code & 0x3f));
	} else {
		utf8[n++] = (char)(0xe0 | code >> 12);
		utf8[n++] = (char)(0x80 | (code >> 6 & 0x3f));
		utf8[n++] = (char)(0x80 | (code & 0x3f));
	}
	if (t->length + n < t->size) {
		memcpy(t->bytes + t->length, utf8, n);
		t->length += n;
	} else {
		t->size = t->length; /* nothing is appended after the cut */
	}
}

static bool ends_key(int c, bool escaped)
{
	return c < 0 || (!escaped && (c == '=' || c == ':' || is_blank(c)));
}

/* Returns how the key ended: its separator, LINE_END or MALFORMED. */
static int take_key(struct reader *r, struct text *t)
{
	for (;;) {
		bool escaped;
		int c = take(r, &escaped);

		if (ends_key(c, escaped))
			return c;
		append(t, c);
	}
}

/* Returns LINE_END or MALFORMED. */
static int take_value(struct reader *r, int separator, struct text *t)
{
	bool escaped;
	int c;

	skip_blanks(r);
	if (is_blank(separator) && r->at < r->end && (*r->at == '=' || *r->at == ':')) {
		r->at++;
		skip_blanks(r);
	}
	while ((c = take(r, &escaped)) >= 0)
		append(t, c);
	return c;
}

static void skip_line(struct reader *r)
{
	while (r->at < r->end && *r->at != '\n' && *r->at != '\r')
		r->at++;
}

/* Shown to people and never compared: what cannot be shown becomes '?'. */
static void copy_shown(char to[DATA_VERSION_MAX_VALUE], const char *value)
{
	snprintf(to, DATA_VERSION_MAX_VALUE, "%s", value);
	for (; *to; to++)
		if ((unsigned char)*to < 0x20 || *to == 0x7f)
			*to = '?';
}

static void keep(struct data_version *v, const char *key, const char *value)
{
	if (!strcmp(key, "storageID"))
		strcpy(v->storage_id, value);
	else if (!strcmp(key, "datanodeUuid"))
		copy_shown(v->datanode_uuid, value);
	else if (!strcmp(key, "clusterID"))
		copy_shown(v->cluster_id, value);
	else if (!strcmp(key, "storageType"))
		v->is_datanode = !strcmp(value, "DATA_NODE");
	else if (!strcmp(key, "namespaceID") &&
		 !parse_number(value, 1, INT32_MAX, &v->namespace_id))
		v->namespace_id = 0;
	else if (!strcmp(key, "layoutVersion") &&
		 (value[0] != '-' || !parse_number(value + 1, 1, INT32_MAX, &v->layout)))
		v->layout = 0;
}

__attribute__((format(printf, 2, 3))) static int invalid(char reason[DATA_VERSION_MAX_REASON],
							 const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(reason, DATA_VERSION_MAX_REASON, format, ap);
	va_end(ap);
	return -EINVAL;
}

static int parse_line(struct reader *r, struct data_version *v,
		      char reason[DATA_VERSION_MAX_REASON])
{
	char key_bytes[DATA_VERSION_MAX_VALUE], value_bytes[DATA_VERSION_MAX_VALUE];
	struct text key = {key_bytes, 0, sizeof(key_bytes)};
	struct text value = {value_bytes, 0, sizeof(value_bytes)};
	int end;

	skip_blanks(r);
	if (r->at < r->end && (*r->at == '#' || *r->at == '!')) {
		skip_line(r);
		return 0;
	}
	end = take_key(r, &key);
	if (end >= 0)
		end = take_value(r, end, &value);
	key.bytes[key.length] = value.bytes[value.length] = '\0';
	if (end == MALFORMED)
		return invalid(reason, "%.64s has \\u without four hexadecimal digits", key.bytes);
	keep(v, key.bytes, value.bytes);
	return 0;
}

int data_version_parse(const char *text, size_t length, struct data_version *ret,
		       char reason[DATA_VERSION_MAX_REASON])
{
	struct reader reader = {text, text + length};
	struct data_version v = {0};

	if (length > DATA_VERSION_MAX_BYTES)
		return invalid(reason, "it has %zu bytes, and at most %u are read", length,
			       DATA_VERSION_MAX_BYTES);
	while (reader.at < reader.end)
		if (parse_line(&reader, &v, reason) < 0)
			return -EINVAL;
	if (v.is_datanode && !v.storage_id[0])
		return invalid(reason, "storageID is missing or empty");
	if (v.is_datanode && !layout_storage_id_valid(v.storage_id)) {
		char shown[DATA_VERSION_MAX_VALUE];

		copy_shown(shown, v.storage_id);
		return invalid(reason,
			       "storageID is '%s': expected DS-UUID, without blanks, of at most "
			       "%u bytes",
			       shown, VREAD_MAX_STORAGE_ID);
	}
	if (v.is_datanode && v.layout && v.layout < OLDEST_LAYOUT)
		return invalid(
			reason,
			"layoutVersion is -%u, older than -%u, the first whose block folders "
			"vRead knows: start a DataNode of Hadoop 3 on it",
			v.layout, OLDEST_LAYOUT);
	*ret = v;
	return 0;
}
