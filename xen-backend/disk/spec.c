// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Splits the spec of an image; see image.h.  image.c calls it, and code that is linked without the
 * code that reads images, such as vread-opener's.
 */
#include <string.h>

#include "disk/image.h"

static const char *const names[] = {"raw", "qcow2", "vhd"}; /* of the formats in image.c */

static const char *find(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == length && !memcmp(names[i], name, length))
			return names[i];
	return NULL;
}

const char *image_spec_split(const char *spec, const char **ret_path)
{
	size_t prefix = strcspn(spec, ":/");

	*ret_path = spec[prefix] == ':' ? spec + prefix + 1 : spec;
	return spec[prefix] == ':' ? find(spec, prefix) : names[0];
}

const char *image_format_names(void)
{
	return "raw, qcow2 or vhd";
}
