// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checks texts that a layout may hold; see layout.h.  Called by the parser of layouts, and by
 * readers of the same values in other places: control/, read/, parser/, provision/ and the tools.
 */
#include <ctype.h>
#include <string.h>

#include "layout/layout.h"
#include "vreadif.h"

static bool graphic(const char *text, size_t max)
{
	size_t length = strlen(text);

	for (size_t i = 0; i < length; i++)
		if (!isgraph((unsigned char)text[i]))
			return false;
	return length > 0 && length <= max;
}

bool layout_storage_id_valid(const char *text)
{
	return graphic(text, VREAD_MAX_STORAGE_ID);
}

bool layout_id_valid(const char *text)
{
	size_t length = strlen(text);

	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return length <= 255;
}

bool layout_pool_valid(const char *text)
{
	return graphic(text, VREAD_MAX_POOL_ID) && !strchr(text, '/') && text[0] != '.';
}

/* "group/volume", in the characters that LVM allows. */
bool layout_lv_name_valid(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789+_.-";
	size_t group = strspn(text, letters), volume;

	if (group == 0 || text[group] != '/')
		return false;
	volume = strspn(text + group + 1, letters);
	return volume != 0 && text[group + 1 + volume] == '\0' &&
	       group + 1 + volume < LAYOUT_MAX_LV_NAME;
}

bool layout_path_valid(const char *text)
{
	size_t length = strlen(text);

	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return text[0] == '/' && length < LAYOUT_MAX_PATH && !strstr(text, "/../") &&
	       (length < 3 || strcmp(text + length - 3, "/.."));
}

bool layout_type_valid(const char *text)
{
	static const char *const types[] = {"ext2", "ext3", "ext4", "xfs"};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i], text))
			return true;
	return false;
}

const char *layout_type_names(void)
{
	return "ext2, ext3, ext4 or xfs";
}
