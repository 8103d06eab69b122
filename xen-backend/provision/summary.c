// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * summary.c - output_summary(): the summary that `vread-provision --summary` prints for people.
 * main.c calls it.
 */
#include <string.h>

#include "provision/output.h"

static const char *size_text(uint64_t bytes, char buf[24])
{
	static const char unit[] = "KMGTPE";
	double value = (double)bytes / 1024;
	unsigned u = 0;

	while (value >= 1000 && u < 5) {
		value /= 1024;
		u++;
	}
	snprintf(buf, 24, "%.*f %ciB", value < 10 ? 1 : 0, value, unit[u]);
	return buf;
}

static const char *table_text(enum layout_table table)
{
	switch (table) {
	case LAYOUT_GPT:
		return "GPT";
	case LAYOUT_MBR:
		return "MBR";
	default:
		return "no partition table";
	}
}

static void print_data_dir(FILE *to, const struct layout_data_dir *d)
{
	fprintf(to, "      data directory  %s\n", d->path);
	fprintf(to, "        storage id    %s\n", d->storage_id);
	fprintf(to, "        datanode      %s\n", d->datanode_uuid);
	fprintf(to, "        cluster       %s\n", d->cluster_id);
	for (unsigned i = 0; i < d->num_pools; i++)
		fprintf(to, "        %-12s  %s\n", i ? "" : "block pools", d->pools[i]);
	if (d->num_pools == 0)
		fprintf(to, "        block pools   none yet\n");
}

static void print_volume(FILE *to, const struct inspected *v)
{
	const struct layout_filesystem *fs = &v->fs;
	char offset[24] = "", length[24];

	if (fs->table == LAYOUT_LVM)
		fprintf(to, "  %s %s", v->name, size_text(fs->length, length));
	else
		fprintf(to, "  %-8s %10s at %10s", fs->table == LAYOUT_NONE ? "disk" : v->name,
			size_text(fs->length, length), size_text(fs->offset, offset));
	fprintf(to, "  %s%s%s\n", fs->type[0] ? fs->type : "no file system", fs->uuid[0] ? " " : "",
		fs->uuid);
	for (unsigned i = 0; i < fs->num_data_dirs; i++)
		print_data_dir(to, &fs->data_dirs[i]);
	if (v->obstacle && (fs->type[0] || fs->table == LAYOUT_LVM))
		fprintf(to, "      %s\n", v->obstacle);
	else if (!v->obstacle && fs->num_data_dirs == 0)
		fprintf(to, "      no data directory of a datanode\n");
}

/* Prints the volumes of one image.  image num_images: prints the logical volumes, which belong
 * to none. */
static void print_volumes(FILE *to, const struct inspection *i, unsigned image)
{
	for (unsigned k = 0; k < i->num_volumes; k++) {
		const struct layout_filesystem *fs = &i->volumes[k].fs;

		if (fs->table == LAYOUT_LVM ? image == i->num_images : image == fs->image)
			print_volume(to, &i->volumes[k]);
	}
}

static bool has_logical_volumes(const struct inspection *i)
{
	return i->num_volumes && i->volumes[i->num_volumes - 1].fs.table == LAYOUT_LVM;
}

void output_summary(FILE *to, struct image *const *images, const struct inspection *i)
{
	unsigned found = inspection_data_dirs(i);
	char size[24];

	for (unsigned k = 0; k < i->num_images; k++) {
		fprintf(to, "%s: %s, %s, %s\n", image_path(images[k]),
			size_text(i->image_sizes[k], size), image_format(images[k]),
			table_text(i->tables[k]));
		print_volumes(to, i, k);
	}
	if (has_logical_volumes(i))
		fputs("logical volumes of LVM\n", to);
	print_volumes(to, i, i->num_images);
	fprintf(to, "%u data director%s vRead can read\n", found, found == 1 ? "y" : "ies");
}
