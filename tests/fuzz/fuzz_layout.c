// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes layout_parse(), which reads the text of a layout file.  An accepted layout must be written
 * by layout_to_json(), and be the same when it is parsed again.
 */
#include <string.h>

#include <jansson.h>

#include "fuzz.h"
#include "layout/layout.h"

static char *written(const struct image_layout *layout)
{
	json_t *json = layout_to_json(layout);
	char *text = json_dumps(json, JSON_COMPACT);

	check(text);
	json_decref(json);
	return text;
}

static void check_again(const struct image_layout *layout)
{
	char *text = written(layout), *again, *error = NULL;
	struct image_layout *same;

	check(layout_parse(text, strlen(text), "again", &same, &error) == 0);
	again = written(same);
	check(!strcmp(text, again));
	free(text);
	free(again);
	layout_free(same);
}

static void check_bounds(const struct image_layout *layout)
{
	check(layout->num_images <= LAYOUT_MAX_IMAGES);
	check(layout->num_filesystems <= LAYOUT_MAX_FILESYSTEMS);
	for (unsigned i = 0; i < layout->num_filesystems; i++)
		for (unsigned k = 0; k < layout->filesystems[i].num_data_dirs; k++)
			check(layout_path_valid(layout->filesystems[i].data_dirs[k].path));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = text_of(data, size), *error = NULL;
	struct image_layout *layout = NULL;

	if (layout_parse(text, size, "input", &layout, &error) == 0) {
		check_bounds(layout);
		check_again(layout);
		layout_free(layout);
	} else {
		check(error);
	}
	free(error);
	free(text);
	return 0;
}
