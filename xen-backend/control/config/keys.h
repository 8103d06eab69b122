/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keys.h - the keys of vread.conf(5): section, name, who judges the value, and where it goes. */
#ifndef VREAD_CONFIG_KEYS_H
#define VREAD_CONFIG_KEYS_H

#include "control/config/loader.h"

#define CONFIG_MAX_KEYS 64U /* a bit of config_loader.seen for each */

struct config_key;

/* Parses value into *field; NULL, or what was expected. */
typedef const char *config_value_fn(const char *value, void *field, const struct config_key *k);

struct config_key {
	enum config_section section;
	const char *name;
	config_value_fn *parse;
	size_t offset; /* in struct config, config_datanode or peer_config */
	unsigned min, max;
	bool repeatable; /* parse() adds */
};

extern const struct config_key config_keys[];
extern const unsigned config_num_keys;

#endif
