/* SPDX-License-Identifier: GPL-2.0-or-later */
/* by_keys.c - implements by_keys.h.  Called by the commands of xl-vread(8). */
#include "by_keys.h"

#include <string.h>

#include "xs_tree.h"

int by_keys_read(struct xs_handle *xs, const struct config *c, struct keys_list *ret)
{
	*ret = (struct keys_list){0};
	return c && !c->xen.datanode_keys ? 0 : keys_read(xs, xs_own_domid(xs), ret);
}

void by_keys_try(const struct config *c, struct keys_list *ret)
{
	struct xs_handle *xs = xs_open(0);

	*ret = (struct keys_list){0};
	if (xs)
		by_keys_read(xs, c, ret);
	xs_close(xs);
}

static bool is_refused(const struct keys *k)
{
	const char *status = k->value[KEYS_STATUS];

	return status ? strncmp(status, "refused", strlen("refused")) == 0 : *k->problem;
}

const struct keys *by_keys_find(const struct keys_list *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->keys[i].value[KEYS_NAME] && !is_refused(&l->keys[i]) &&
		    strcmp(l->keys[i].value[KEYS_NAME], name) == 0)
			return &l->keys[i];
	return NULL;
}

const char *by_keys_status(const struct keys *k)
{
	if (k->value[KEYS_STATUS])
		return k->value[KEYS_STATUS];
	return *k->problem ? k->problem : "vreadd has not seen them yet";
}
