/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * strict.h - takes values out of a layout's JSON and checks their types; private to
 * layout/parse*.c.
 *
 * Messages name the file, the place in the document, the value found and what was expected.  All
 * functions return 0, or -EINVAL or -ENOMEM with the message.
 */
#ifndef VREAD_LAYOUT_STRICT_H
#define VREAD_LAYOUT_STRICT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct strict {
	const char *name; /* of the layout, for messages */
	char **ret_error;
	char where[160]; /* place of the current object: "filesystems[0].data-dirs[1]" */
};

/* Says that key has this value (NULL: none) and that `what` was expected.  Returns -EINVAL. */
int strict_expected(struct strict *p, const char *key, const json_t *value, const char *what);
int strict_out_of_memory(struct strict *p);

/* Checks that object has no keys other than those in keys, a list that ends with NULL. */
int strict_keys(struct strict *p, const json_t *object, const char *const *keys);
int strict_array(struct strict *p, const json_t *parent, const char *key, unsigned max,
		 json_t **ret);
int strict_bytes(struct strict *p, const json_t *parent, const char *key, uint64_t *ret);

typedef bool strict_valid_fn(const char *text);
/* Copies a text that valid() accepts.  strict_string() takes the member key of parent;
 * strict_string_of() takes value, and calls it key in messages. */
int strict_string(struct strict *p, const json_t *parent, const char *key, strict_valid_fn *valid,
		  const char *what, char **ret);
int strict_string_of(struct strict *p, const char *key, const json_t *value, strict_valid_fn *valid,
		     const char *what, char **ret);

#endif
