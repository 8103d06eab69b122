/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * values.h - kinds of values: each is parsed into *field, or what was expected is returned (valid
 * until the next call).
 */
#ifndef VREAD_CONFIG_VALUES_H
#define VREAD_CONFIG_VALUES_H

#include "control/config/keys.h"

config_value_fn value_limit, value_transports, value_size, value_mode, value_log_level,
	value_enabled, value_image_mode, value_tokens, value_path, value_folder, value_image,
	value_data_dirs, value_socket, value_names, value_peer_name, value_address, value_storages,
	value_patterns;

void config_paths_free(struct config_paths *paths);

#endif
