// SPDX-License-Identifier: GPL-2.0-or-later
/* The summary of `vread-provision --summary`, for people; see output.h. */
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
	char offset[24], length[24];

	fprintf(to, "  %-8s %10s at %10s  %s%s%s\n", v->fs.table == LAYOUT_NONE ? "disk" : v->name,
		size_text(fs->length, length), size_text(fs->offset, offset),
		fs->type[0] ? fs->type : "no file system", fs->uuid[0] ? " " : "", fs->uuid);
	for (unsigned i = 0; i < fs->num_data_dirs; i++)
		print_data_dir(to, &fs->data_dirs[i]);
	if (v->obstacle && fs->type[0])
		fprintf(to, "      %s\n", v->obstacle);
	else if (!v->obstacle && fs->num_data_dirs == 0)
		fprintf(to, "      no data directory of a datanode\n");
}

void output_summary(FILE *to, const char *image, const struct inspection *i)
{
	unsigned found = inspection_data_dirs(i);
	char size[24];

	fprintf(to, "%s: %s, raw, %s\n", image, size_text(i->image_size, size),
		table_text(i->table));
	for (unsigned k = 0; k < i->num_volumes; k++)
		print_volume(to, &i->volumes[k]);
	fprintf(to, "%u data director%s vRead can read\n", found, found == 1 ? "y" : "ies");
}
