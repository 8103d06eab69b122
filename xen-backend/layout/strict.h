/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * strict.h - values out of a layout's JSON, each of the kind it has to be; private to layout/parse*.c.
 *
 * Messages name the file, the place in the document, the value found and what was expected.
 * All return 0, or -EINVAL or -ENOMEM with the message.
 */
#ifndef VREAD_LAYOUT_STRICT_H
#define VREAD_LAYOUT_STRICT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct strict {
	const char *name;
	char **ret_error;
	char where[160]; /* "filesystems[0].data-dirs[1]" */
};

/* -EINVAL: value (NULL: there is none) is not what it should be. */
int strict_expected(struct strict *p, const char *key, const json_t *value, const char *what);
int strict_out_of_memory(struct strict *p);

/* Whether object has no other keys; keys ends with NULL. */
int strict_keys(struct strict *p, const json_t *object, const char *const *keys);
int strict_array(struct strict *p, const json_t *parent, const char *key, unsigned max,
		 json_t **ret);
int strict_bytes(struct strict *p, const json_t *parent, const char *key, uint64_t *ret);

typedef bool strict_valid_fn(const char *text);
/* A copy of a member that is a text, and one of an array that is called key. */
int strict_string(struct strict *p, const json_t *parent, const char *key, strict_valid_fn *valid,
		  const char *what, char **ret);
int strict_string_of(struct strict *p, const char *key, const json_t *value, strict_valid_fn *valid,
		     const char *what, char **ret);

#endif
