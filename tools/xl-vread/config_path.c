/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_path.c - implements config_path.h. */
#include "config_path.h"

#include <stddef.h>
#include <stdlib.h>

#include "control/config.h"

const char *config_named(void)
{
	const char *named = getenv("VREAD_CONFIG");

	return named && *named ? named : NULL;
}

const char *config_path(void)
{
	return config_named() ?: CONFIG_DEFAULT_PATH;
}
