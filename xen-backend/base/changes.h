/* SPDX-License-Identifier: GPL-2.0-or-later */
/* changes.h - texts for the operator: what a new configuration changed, and what it should have
 * changed but could not. */
#ifndef BASE_CHANGES_H
#define BASE_CHANGES_H

#include <jansson.h>
#include <stdbool.h>

/* Two arrays of texts. */
struct changes {
	json_t *made, *failed;
};

/* Takes over text, which may be NULL: out of memory. */
static inline void changes_add(const struct changes *c, bool made, json_t *text)
{
	json_array_append_new(made ? c->made : c->failed, text);
}

#endif
