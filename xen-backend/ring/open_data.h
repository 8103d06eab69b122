/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * open_data.h - parses the variable part of OPEN, PUBLISH and KEYS, which are hostile bytes.
 * dispatch.c calls it.
 *
 * open_data_parse() is pure: it reads nothing but the private copy it is given. All results lie in
 * *ret or in that copy.
 */
#ifndef VREAD_OPEN_DATA_H
#define VREAD_OPEN_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "vread-ring-user.h"

struct open_data {
	char pool_id[VREAD_MAX_POOL_ID + 1];
	unsigned num_storages;
	const char *storage_ids[VREAD_MAX_STORAGES]; /* point into storage */
	char storage[VREAD_MAX_STORAGES][VREAD_MAX_STORAGE_ID + 1];
	const uint8_t *token; /* points into the raw bytes; NULL: none */
	size_t token_length;
	unsigned flags; /* VREAD_OPEN_*; no others */
};

/*
 * 0 or -EINVAL.  Names are printable ASCII without '/': they become parts of
 * paths inside an image and of log lines.
 */
int open_data_parse(const uint8_t *raw, size_t length, struct open_data *ret);

#endif
