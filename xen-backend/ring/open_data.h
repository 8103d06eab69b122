/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * open_data.h - the variable part of OPEN and PUBLISH, out of hostile bytes.
 *
 * open_data_parse() is pure: it looks at nothing but the private copy it is
 * given, and everything it yields lies in *ret or in that copy.
 */
#ifndef VREAD_OPEN_DATA_H
#define VREAD_OPEN_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "vread-ring-user.h"

struct open_data {
	char pool_id[VREAD_MAX_POOL_ID + 1];
	unsigned num_storages;
	const char *storage_ids[VREAD_MAX_STORAGES]; /* into storage */
	char storage[VREAD_MAX_STORAGES][VREAD_MAX_STORAGE_ID + 1];
	const uint8_t *token; /* into the raw bytes; NULL if none */
	size_t token_length;
};

/*
 * 0 or -EINVAL.  Names are printable ASCII without '/': they become parts of
 * paths inside an image and of log lines.
 */
int open_data_parse(const uint8_t *raw, size_t length, struct open_data *ret);

#endif
