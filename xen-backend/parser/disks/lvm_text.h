/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lvm_text.h - the text LVM2 keeps its metadata as: sections, numbers, strings, lists.
 *
 *   vg {
 *     seqno = 3
 *     status = ["RESIZEABLE", "READ"]
 *     logical_volumes { ... }
 *   }
 *
 * Pure, and safe with anything: the text comes out of a guest's image.
 * libdevmapper has a parser of it, too, but one that goes as deep as the text
 * wants.
 */
#ifndef VREAD_LAYOUT_LVM_TEXT_H
#define VREAD_LAYOUT_LVM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LVM_TEXT_MAX_BYTES (4U << 20)
#define LVM_TEXT_MAX_NODES (128U << 10)
#define LVM_TEXT_MAX_DEPTH 8U /* LVM itself needs 5 */

enum lvm_kind {
	LVM_SECTION, /* child: what is in it */
	LVM_LIST,    /* child: its values, without names */
	LVM_STRING,
	LVM_NUMBER,
	LVM_OTHER, /* a number that is negative, too large or has a fraction */
};

/* length bytes, without a NUL. */
struct lvm_span {
	const char *at;
	size_t length;
};

struct lvm_node {
	enum lvm_kind kind;
	struct lvm_span name;
	struct lvm_span string; /* between the quotes, as it stands */
	uint64_t number;
	struct lvm_node *child, *next;
};

struct lvm_text;

/* text must outlive *ret.  0, -ENOMEM, or -EINVAL with *ret_reason (static). */
int lvm_text_parse(const char *text, size_t length, struct lvm_text **ret, const char **ret_reason);
void lvm_text_free(struct lvm_text *t); /* NULL is ignored */
/* A section. */
const struct lvm_node *lvm_text_root(const struct lvm_text *t);

/* The first child of that name and kind; NULL: there is none, or parent is NULL. */
const struct lvm_node *lvm_child(const struct lvm_node *parent, const char *name,
				 enum lvm_kind kind);
bool lvm_number(const struct lvm_node *parent, const char *name, uint64_t *ret);
bool lvm_span_is(struct lvm_span span, const char *text);
/* Whether the list of strings of that name has that one. */
bool lvm_has_flag(const struct lvm_node *parent, const char *name, const char *flag);

#endif
