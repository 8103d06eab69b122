/* SPDX-License-Identifier: GPL-2.0-or-later */
/* block_spec.c - parses one block as block_spec.h describes it.  Called by block_list.c.  The
 * syntax is strict, so that a mistyped block does not name another block. */
#include "block_spec.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* Reads a decimal number without sign or leading zero, up to a character of `stops` or the end. */
static bool take_number(const char **p, const char *stops, uint64_t max, uint64_t *ret)
{
	const char *s = *p;
	uint64_t n = 0;

	if (!isdigit((unsigned char)*s) || (*s == '0' && isdigit((unsigned char)s[1])))
		return false;
	for (; isdigit((unsigned char)*s); s++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*s - '0'), &n))
			return false;
	if (n > max || (*s && !strchr(stops, *s)))
		return false;
	*p = s;
	*ret = n;
	return true;
}

/* Reads printable text without blanks, up to a character of `stops` or the end. */
static bool take_word(const char **p, const char *stops, size_t max, char *ret)
{
	size_t n = strcspn(*p, stops);

	if (!n || n > max)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isgraph((unsigned char)(*p)[i]))
			return false;
	memcpy(ret, *p, n);
	ret[n] = '\0';
	*p += n;
	return true;
}

static bool take_block_id(const char **p, int64_t *ret)
{
	bool negative = **p == '-';
	uint64_t n;

	*p += negative;
	if (!take_number(p, "_", (uint64_t)INT64_MAX + negative, &n) || (negative && !n))
		return false;
	*ret = negative ? (int64_t)(0 - n) : (int64_t)n;
	return true;
}

const char *block_spec_parse(const char *text, struct block_spec *ret)
{
	struct block_spec spec = {0};
	const char *p = text;

	if (strlen(text) >= sizeof(spec.text))
		return "too long";
	strcpy(spec.text, text);
	if (!take_word(&p, "/", VREAD_MAX_POOL_ID, spec.pool) || *p++ != '/')
		return "expected a block pool id, then '/'";
	if (strncmp(p, "blk_", 4))
		return "expected 'blk_' after the '/'";
	p += 4;
	if (!take_block_id(&p, &spec.block_id) || *p++ != '_')
		return "expected a block id (64 bits, decimal), then '_'";
	if (!take_number(&p, "@:", UINT64_MAX, &spec.genstamp))
		return "expected a generation stamp (64 bits, decimal)";
	if (*p == '@' && (p++, !take_word(&p, ":", VREAD_MAX_STORAGE_ID, spec.storage)))
		return "expected a storage id of at most 127 characters after '@'";
	if (*p == ':' && (p++, !take_number(&p, "", INT64_MAX, &spec.length) || !spec.length))
		return "expected a length in bytes, at least 1, after ':'";
	if (*p)
		return "unexpected text at the end";
	*ret = spec;
	return NULL;
}
