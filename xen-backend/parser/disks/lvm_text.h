/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lvm_text.h - parses the text in which LVM2 keeps its metadata: sections, numbers, strings,
 * lists. lvm.c and lvm_group.c call it.
 *
 *   vg {
 *     seqno = 3
 *     status = ["RESIZEABLE", "READ"]
 *     logical_volumes { ... }
 *   }
 *
 * The functions are pure and safe with any input: the text comes from a guest's image.
 * libdevmapper has a parser of this text, too, but that recurses as deep as the text is nested.
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
	LVM_SECTION, /* child: its entries */
	LVM_LIST,    /* child: its values, without names */
	LVM_STRING,
	LVM_NUMBER,
	LVM_OTHER, /* a number that is negative, too large or not an integer */
};

/* A string of `length` bytes, without a NUL. */
struct lvm_span {
	const char *at;
	size_t length;
};

struct lvm_node {
	enum lvm_kind kind;
	struct lvm_span name;
	struct lvm_span string; /* between the quotes, escapes not resolved */
	uint64_t number;
	struct lvm_node *child, *next;
};

struct lvm_text;

/* Parses `text`, which must outlive `*ret`. Returns 0, -ENOMEM, or -EINVAL; on error
 * `*ret_reason` is a static text. */
int lvm_text_parse(const char *text, size_t length, struct lvm_text **ret, const char **ret_reason);
void lvm_text_free(struct lvm_text *t); /* NULL is ignored */
/* Returns the root, a section. */
const struct lvm_node *lvm_text_root(const struct lvm_text *t);

/* Returns the first child of that name and kind. NULL if there is none or `parent` is NULL. */
const struct lvm_node *lvm_child(const struct lvm_node *parent, const char *name,
				 enum lvm_kind kind);
/* Sets `*ret` to the number of that name. Returns false if there is none. */
bool lvm_number(const struct lvm_node *parent, const char *name, uint64_t *ret);
bool lvm_span_is(struct lvm_span span, const char *text);
/* True if the list of that name has the string `flag`. */
bool lvm_has_flag(const struct lvm_node *parent, const char *name, const char *flag);

#endif
