/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * values.h - parsers of the values of vread.conf(5), one for each kind of value.
 *
 * The table in keys.c refers to them; config_key_see() calls them.
 *
 * Each function parses the value into *field and returns NULL.  On failure it returns a text that
 * says what was expected (valid until the next call).
 */
#ifndef VREAD_CONFIG_VALUES_H
#define VREAD_CONFIG_VALUES_H

#include "control/config/keys.h"

config_value_fn value_limit, value_user, value_transports, value_size, value_cache, value_memory,
	value_mode, value_role, value_log_level, value_yes, value_enabled, value_image_mode,
	value_tokens, value_path, value_folder, value_file, value_image, value_backing_folders,
	value_data_dirs, value_storage_ids, value_socket, value_names, value_uids, value_peer_name,
	value_address, value_storages, value_patterns, value_protection;

/* Frees the paths in *paths, not paths; *paths is empty then. */
void config_paths_free(struct config_paths *paths);

#endif
