/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keyed.h - decides which keys of datanodes (keys/keys.h) count beside vread.conf(5), and makes
 * configurations of them.  datanodes.c calls it whenever the keys or the file have changed, and
 * config_warn.c for `xl-vread config check`, with a file that vreadd has not read yet.
 *
 * A name belongs to vread.conf before it belongs to keys, and to the keys that had it first.  So
 * whoever provisions another datanode of that name takes nothing from the first.
 */
#ifndef VREAD_KEYED_H
#define VREAD_KEYED_H

#include "control/config.h"
#include "keys/keys.h"

#define KEYED_MAX_STATUS 1024

/* The datanodes of the keys that count, each as a configuration with one datanode. */
struct keyed {
	struct config **config;
	size_t count;
};

/* Judges the keys.  status[i]: what became of keys->keys[i], as the node `status` says it.  0, or
 * -ENOMEM: nothing is judged. */
int keyed_judge(const struct config *file, const struct keys_list *keys, struct keyed *ret,
		char (*status)[KEYED_MAX_STATUS]);
void keyed_free(struct keyed *k);
/* True if these keys had their name when they were judged last: their status says so. */
bool keyed_accepted(const struct keys *k);

#endif
