// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lists of guards; see guards.h.  Called by parser/disks, datanode/ and layout/.
 */
#include "layout/guards.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int layout_guards_add(struct layout_guards *to, const struct layout_guard *guard)
{
	struct layout_guard *grown;

	for (unsigned i = 0; i < to->count; i++)
		if (to->list[i].image == guard->image && to->list[i].offset == guard->offset)
			return 0;
	if (to->count == VOLUME_MAX_GUARDS)
		return -E2BIG;
	grown = reallocarray(to->list, to->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	to->list = grown;
	to->list[to->count++] = *guard;
	return 0;
}

int layout_guards_add_all(struct layout_guards *to, const struct layout_guards *from)
{
	int r = 0;

	for (unsigned i = 0; i < from->count && r == 0; i++)
		r = layout_guards_add(to, &from->list[i]);
	return r;
}

bool layout_guards_equal(const struct layout_guards *a, const struct layout_guards *b)
{
	if (a->count != b->count)
		return false;
	for (unsigned i = 0; i < a->count; i++) {
		const struct layout_guard *x = &a->list[i], *y = &b->list[i];

		if (x->image != y->image || x->offset != y->offset ||
		    memcmp(x->bytes, y->bytes, sizeof(x->bytes)) != 0)
			return false;
	}
	return true;
}

void layout_guards_clear(struct layout_guards *g)
{
	free(g->list);
	*g = (struct layout_guards){0};
}
