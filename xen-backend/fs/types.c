// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of the file systems there are readers for: who only checks a layout needs
 * no reader.
 */
#include <string.h>

#include "fs/fs.h"

bool fs_type_known(const char *type)
{
	static const char *const types[] = {"ext2", "ext3", "ext4", "xfs"};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i], type))
			return true;
	return false;
}

const char *fs_type_names(void)
{
	return "ext2, ext3, ext4 or xfs";
}
