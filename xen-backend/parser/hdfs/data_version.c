// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parses VERSION files. data_dir.c and vread-provision call it; data_version.h describes the
 * function. HDFS writes lines "key=value", comments, and '\' before ':' and '=' in values, as
 * java.util.Properties does.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/number.h"
#include "parser/hdfs/data_version.h"

static bool unescape(const char *from, size_t length, char to[DATA_VERSION_MAX_VALUE])
{
	size_t n = 0;

	for (size_t i = 0; i < length; i++) {
		if (from[i] == '\\' && ++i == length)
			return false;
		if (!isgraph((unsigned char)from[i]) || n == DATA_VERSION_MAX_VALUE - 1)
			return false;
		to[n++] = from[i];
	}
	to[n] = '\0';
	return n > 0;
}

static size_t trim(const char **text, size_t length)
{
	while (length && isspace((unsigned char)**text)) {
		(*text)++;
		length--;
	}
	while (length && isspace((unsigned char)(*text)[length - 1]))
		length--;
	return length;
}

static bool key_is(const char *key, size_t length, const char *name)
{
	return length == strlen(name) && !memcmp(key, name, length);
}

static bool parse_line(const char *line, size_t length, struct data_version *v)
{
	const char *equals, *value, *key = line;
	size_t key_length, value_length;
	char type[DATA_VERSION_MAX_VALUE];

	length = trim(&key, length);
	if (length == 0 || key[0] == '#' || key[0] == '!')
		return true;
	equals = memchr(key, '=', length);
	if (!equals)
		return true;
	value = equals + 1;
	value_length = trim(&value, length - (size_t)(value - key));
	key_length = trim(&key, (size_t)(equals - key));
	if (key_is(key, key_length, "storageID"))
		return unescape(value, value_length, v->storage_id);
	if (key_is(key, key_length, "datanodeUuid"))
		return unescape(value, value_length, v->datanode_uuid);
	if (key_is(key, key_length, "clusterID"))
		return unescape(value, value_length, v->cluster_id);
	if (key_is(key, key_length, "namespaceID")) {
		if (!unescape(value, value_length, type) ||
		    !parse_number(type, 1, INT32_MAX, &v->namespace_id))
			v->namespace_id = 0;
		return true;
	}
	if (key_is(key, key_length, "storageType")) {
		if (!unescape(value, value_length, type))
			return false;
		v->is_datanode = !strcmp(type, "DATA_NODE");
	}
	return true;
}

static int invalid(const char **ret_reason, const char *reason)
{
	*ret_reason = reason;
	return -EINVAL;
}

int data_version_parse(const char *text, size_t length, struct data_version *ret,
		       const char **ret_reason)
{
	struct data_version v = {0};

	if (length > DATA_VERSION_MAX_BYTES)
		return invalid(ret_reason, "the VERSION file is too long");
	while (length > 0) {
		const char *newline = memchr(text, '\n', length);
		size_t line = newline ? (size_t)(newline - text) : length;

		if (!parse_line(text, line, &v))
			return invalid(ret_reason, "a value is empty, too long or not printable");
		line += newline != NULL;
		text += line;
		length -= line;
	}
	if (v.is_datanode && !v.storage_id[0])
		return invalid(ret_reason, "storageID is missing");
	if (v.is_datanode && !v.datanode_uuid[0])
		return invalid(ret_reason, "datanodeUuid is missing");
	if (v.is_datanode && !v.cluster_id[0])
		return invalid(ret_reason, "clusterID is missing");
	*ret = v;
	return 0;
}
