// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Takes values out of JSON and reports wrong ones; see strict.h.  Called by layout/parse*.c.
 */
#include "layout/strict.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int strict_expected(struct strict *p, const char *key, const json_t *value, const char *what)
{
	char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	const char *dot = p->where[0] && key[0] ? "." : "";

	if (value)
		error_text(p->ret_error, 0, "layout %s: %s%s%s is %.80s; expected %s", p->name,
			   p->where, dot, key, text ? text : "?", what);
	else
		error_text(p->ret_error, 0, "layout %s: %s%s%s is missing; expected %s", p->name,
			   p->where, dot, key, what);
	free(text);
	return -EINVAL;
}

int strict_out_of_memory(struct strict *p)
{
	return error_text(p->ret_error, -ENOMEM, "layout %s: out of memory", p->name);
}

int strict_keys(struct strict *p, const json_t *object, const char *const *keys)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value)
	{
		unsigned i = 0;

		while (keys[i] && strcmp(keys[i], key))
			i++;
		if (!keys[i])
			return strict_expected(p, key, value,
					       "no key of this name; check the spelling");
	}
	return 0;
}

int strict_array(struct strict *p, const json_t *parent, const char *key, unsigned max,
		 json_t **ret)
{
	json_t *value = json_object_get(parent, key);
	char what[48];

	if (!json_is_array(value) || json_array_size(value) > max) {
		snprintf(what, sizeof(what), "an array of at most %u elements", max);
		return strict_expected(p, key, value, what);
	}
	*ret = value;
	return 0;
}

int strict_bytes(struct strict *p, const json_t *parent, const char *key, uint64_t *ret)
{
	json_t *value = json_object_get(parent, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return strict_expected(p, key, value, "a number of bytes");
	*ret = (uint64_t)json_integer_value(value);
	return 0;
}

int strict_string_of(struct strict *p, const char *key, const json_t *value, strict_valid_fn *valid,
		     const char *what, char **ret)
{
	if (!json_is_string(value) ||
	    strlen(json_string_value(value)) != json_string_length(value) ||
	    !valid(json_string_value(value)))
		return strict_expected(p, key, value, what);
	*ret = strdup(json_string_value(value));
	if (!*ret)
		return strict_out_of_memory(p);
	return 0;
}

int strict_string(struct strict *p, const json_t *parent, const char *key, strict_valid_fn *valid,
		  const char *what, char **ret)
{
	return strict_string_of(p, key, json_object_get(parent, key), valid, what, ret);
}
