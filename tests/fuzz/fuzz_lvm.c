// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes lvm_text_parse(), which reads the text of LVM2's metadata.  Names and strings must lie
 * inside the text, and the depth is limited.  fuzz_disk.c fuzzes the text inside a disk.
 */
#include <string.h>

#include "fuzz.h"
#include "parser/disks/lvm_text.h"

struct walk {
	const char *text;
	size_t length;
	unsigned nodes;
};

static void check_span(const struct walk *w, struct lvm_span span)
{
	check(span.length == 0 ||
	      (span.at >= w->text && span.at + span.length <= w->text + w->length));
}

static void check_nodes(struct walk *w, const struct lvm_node *n, unsigned depth)
{
	check(depth <= 1 + LVM_TEXT_MAX_DEPTH + 1); /* in the root, sections, and a list */
	for (; n; n = n->next) {
		check(++w->nodes <= LVM_TEXT_MAX_NODES);
		check_span(w, n->name);
		if (n->kind == LVM_STRING)
			check_span(w, n->string);
		if (n->kind == LVM_SECTION || n->kind == LVM_LIST)
			check_nodes(w, n->child, depth + 1);
		if (n->kind == LVM_SECTION)
			(void)lvm_has_flag(n, "status", "VISIBLE");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = (char *)bytes_of(data, size);
	struct walk walk = {text, size, 0};
	const char *reason = NULL;
	struct lvm_text *t;

	if (lvm_text_parse(text, size, &t, &reason) == 0) {
		check_nodes(&walk, lvm_text_root(t), 0);
		lvm_text_free(t);
	} else {
		check(reason);
	}
	free(text);
	return 0;
}
