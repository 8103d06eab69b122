/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keys.h - the table of the keys of vread.conf(5).
 *
 * keys.c looks keys up; sections.c checks which keys a section has set.  For each key the table has
 * its section, its name, the function that parses its value, and the place of the value.
 */
#ifndef VREAD_CONFIG_KEYS_H
#define VREAD_CONFIG_KEYS_H

#include "control/config/loader.h"

#define CONFIG_MAX_KEYS 64U /* config_loader.seen has one bit per key */

struct config_key;

/* Parses value into *field.  Returns NULL, or a text that says what was expected. */
typedef const char *config_value_fn(const char *value, void *field, const struct config_key *k);

struct config_key {
	enum config_section section;
	const char *name;
	config_value_fn *parse;
	size_t offset; /* in struct config, config_datanode, peer_config or config_ivshmem */
	unsigned min, max;
	bool repeatable; /* may be set more than once; parse() adds to the field */
};

extern const struct config_key config_keys[];
extern const unsigned config_num_keys;

#endif
