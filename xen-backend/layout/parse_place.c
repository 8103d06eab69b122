// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Parses partitions, and segments of logical volumes; see parse_place.h.  layout/parse.c calls it.
 * Every place must lie inside its image.
 */
#include "layout/parse_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_partition(struct strict *p, const json_t *object, struct layout_filesystem *fs)
{
	static const char what[] = "\"gpt:N\", \"mbr:N\" (N from 1 to 9999) or \"none\"";
	json_t *value = json_object_get(object, "partition");
	const char *text = json_string_value(value);
	char *end;

	if (!text)
		return strict_expected(p, "partition", value, what);
	if (!strcmp(text, "none"))
		return 0;
	if (strncmp(text, "gpt:", 4) && strncmp(text, "mbr:", 4))
		return strict_expected(p, "partition", value, what);
	if (text[4] < '1' || text[4] > '9' || strlen(text) > 8)
		return strict_expected(p, "partition", value, what);
	fs->table = text[0] == 'g' ? LAYOUT_GPT : LAYOUT_MBR;
	fs->partition = (unsigned)strtoul(text + 4, &end, 10);
	return *end ? strict_expected(p, "partition", value, what) : 0;
}

static int parse_range(struct strict *p, const json_t *object, const struct image_layout *layout,
		       struct layout_filesystem *fs)
{
	uint64_t image_size, image = 0;
	char what[80];
	int r = strict_bytes(p, object, "image", &image);

	if (r < 0)
		return r;
	if (image >= layout->num_images)
		return strict_expected(p, "image", json_object_get(object, "image"),
				       "the index of an image, from 0");
	fs->image = (unsigned)image;
	image_size = layout->image_sizes[image];
	if ((r = strict_bytes(p, object, "offset", &fs->offset)) < 0 ||
	    (r = strict_bytes(p, object, "length", &fs->length)) < 0)
		return r;
	snprintf(what, sizeof(what), "a length that ends inside the image of %llu bytes",
		 (unsigned long long)image_size);
	if (fs->offset % 512 || (fs->table == LAYOUT_NONE && fs->offset != 0))
		return strict_expected(p, "offset", json_object_get(object, "offset"),
				       "a multiple of 512, and 0 without a partition table");
	if (fs->length == 0 || fs->offset > image_size || fs->length > image_size - fs->offset)
		return strict_expected(p, "length", json_object_get(object, "length"), what);
	return 0;
}

static int parse_stripe(struct strict *p, const json_t *object, const struct image_layout *layout,
			uint64_t length, struct layout_stripe *ret)
{
	static const char *const keys[] = {"image", "offset", NULL};
	uint64_t image = 0, size;
	char what[80];
	int r;

	if (!json_is_object(object))
		return strict_expected(p, "", object, "an object");
	if ((r = strict_keys(p, object, keys)) < 0 ||
	    (r = strict_bytes(p, object, "image", &image)) < 0 ||
	    (r = strict_bytes(p, object, "offset", &ret->offset)) < 0)
		return r;
	if (image >= layout->num_images)
		return strict_expected(p, "image", json_object_get(object, "image"),
				       "the index of an image, from 0");
	ret->image = (unsigned)image;
	size = layout->image_sizes[image];
	snprintf(what, sizeof(what), "a stripe inside the image of %llu bytes",
		 (unsigned long long)size);
	if (ret->offset % 512 || ret->offset > size || length > size - ret->offset)
		return strict_expected(p, "offset", json_object_get(object, "offset"), what);
	return 0;
}

static int parse_stripes(struct strict *p, const json_t *object, const struct image_layout *layout,
			 struct layout_segment *s)
{
	size_t base = strlen(p->where);
	json_t *array = NULL;
	int r = strict_array(p, object, "stripes", VOLUME_MAX_STRIPES, &array);

	if (r < 0)
		return r;
	s->num_stripes = (unsigned)json_array_size(array);
	if (s->num_stripes == 0)
		return strict_expected(p, "stripes", array, "at least one");
	if (s->num_stripes > 1 && (r = strict_bytes(p, object, "stripe-size", &s->stripe_size)) < 0)
		return r;
	if (s->length == 0 || s->length % s->num_stripes ||
	    (s->num_stripes > 1 &&
	     (s->stripe_size == 0 || s->length / s->num_stripes % s->stripe_size)))
		return strict_expected(p, "length", json_object_get(object, "length"),
				       "a multiple of stripe-size times the number of stripes");
	s->stripes = calloc(s->num_stripes, sizeof(*s->stripes));
	if (!s->stripes)
		return strict_out_of_memory(p);
	for (unsigned i = 0; i < s->num_stripes && r == 0; i++) {
		snprintf(p->where + base, sizeof(p->where) - base, ".stripes[%u]", i);
		r = parse_stripe(p, json_array_get(array, i), layout, s->length / s->num_stripes,
				 &s->stripes[i]);
	}
	if (r == 0)
		p->where[base] = '\0';
	return r;
}

static int parse_segment(struct strict *p, const json_t *object, const struct image_layout *layout,
			 struct layout_segment *s)
{
	static const char *const keys[] = {"length", "stripe-size", "stripes", NULL};
	int r;

	if (!json_is_object(object))
		return strict_expected(p, "", object, "an object");
	if ((r = strict_keys(p, object, keys)) < 0 ||
	    (r = strict_bytes(p, object, "length", &s->length)) < 0)
		return r;
	return parse_stripes(p, object, layout, s);
}

static int parse_segments(struct strict *p, const json_t *object, const struct image_layout *layout,
			  struct layout_filesystem *fs)
{
	size_t base = strlen(p->where);
	json_t *array = NULL;
	int r = strict_array(p, object, "segments", VOLUME_MAX_SEGMENTS, &array);

	if (r < 0)
		return r;
	if (json_array_size(array) == 0)
		return strict_expected(p, "segments", array, "at least one");
	fs->segments = calloc(json_array_size(array), sizeof(*fs->segments));
	if (!fs->segments)
		return strict_out_of_memory(p);
	while (fs->num_segments < json_array_size(array)) {
		unsigned i = fs->num_segments++;

		snprintf(p->where + base, sizeof(p->where) - base, ".segments[%u]", i);
		r = parse_segment(p, json_array_get(array, i), layout, &fs->segments[i]);
		if (r < 0)
			return r;
		if (__builtin_add_overflow(fs->length, fs->segments[i].length, &fs->length))
			return strict_expected(
				p, "length", json_object_get(object, "length"),
				"a length that does not overflow the sum of all segments");
	}
	fs->image = fs->segments[0].stripes[0].image;
	p->where[base] = '\0';
	return 0;
}

int layout_parse_place(struct strict *p, const json_t *object, const struct image_layout *layout,
		       struct layout_filesystem *fs)
{
	static const char *const keys[] = {"image", "partition", "offset",    "length",
					   "type",  "uuid",      "data-dirs", NULL};
	static const char *const lv_keys[] = {"volume", "segments",  "type",
					      "uuid",   "data-dirs", NULL};
	int r;

	if (json_object_get(object, "volume")) {
		fs->table = LAYOUT_LVM;
		(void)((r = strict_keys(p, object, lv_keys)) < 0 ||
		       (r = strict_string(p, object, "volume", layout_lv_name_valid,
					  "a logical volume's name: GROUP/VOLUME", &fs->volume)) <
			       0 ||
		       (r = parse_segments(p, object, layout, fs)) < 0);
	} else {
		(void)((r = strict_keys(p, object, keys)) < 0 ||
		       (r = parse_partition(p, object, fs)) < 0 ||
		       (r = parse_range(p, object, layout, fs)) < 0);
	}
	return r;
}
