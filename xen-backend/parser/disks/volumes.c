// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds disks, their partitions, and the logical volumes on them. fit.c, parser/hdfs/discover.c
 * and vread-provision call it; volumes.h describes the functions.
 */
#include "parser/disks/volumes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "parser/disks/lvm.h"
#include "parser/disks/overlap.h"
#include "parser/disks/partition.h"
#include "layout/place.h"
#include "parser/disks/tables.h"

struct finder {
	struct image *const *images;
	struct volumes *found;
	struct layout_guards table; /* guards of the disk that is being examined */
	struct lvm_physical physical[LVM_MAX_PHYSICAL];
	unsigned member[LVM_MAX_PHYSICAL]; /* index in found->list of each physical volume */
	unsigned num_physical;
};

/* Appends a zeroed entry to the list. Returns NULL if out of memory. */
static struct found_volume *new_volume(struct volumes *v)
{
	struct found_volume *grown = reallocarray(v->list, v->count + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	v->list = grown;
	memset(&grown[v->count], 0, sizeof(*grown));
	return &grown[v->count++];
}

/* Sets the type and the UUID of what lies on the volume. */
static int probe(struct finder *f, struct found_volume *v)
{
	char type[32] = "", uuid[40] = "";
	struct volume *volume = NULL;
	int r = layout_volume(f->images, &v->at, &volume);

	if (r == 0)
		r = disk_probe(volume, type, uuid);
	volume_free(volume);
	if (r == -ENOMEM)
		return r;
	if (r < 0 && !(v->problem = strdup("it cannot be read")))
		return -ENOMEM;
	v->at.type = strdup(type);
	v->at.uuid = strdup(uuid);
	return v->at.type && v->at.uuid ? 0 : -ENOMEM;
}

/* Adds the volume that lies at `at`. */
static int add_volume(struct finder *f, const struct layout_filesystem *at)
{
	struct found_volume *v = new_volume(f->found);
	int r;

	if (!v)
		return -ENOMEM;
	v->at = *at;
	r = layout_guards_add_all(&v->at.guards, &f->table);
	if (r == 0)
		r = probe(f, v);
	if (r < 0 || strcmp(v->at.type, VOLUMES_LVM_MEMBER) || f->num_physical == LVM_MAX_PHYSICAL)
		return r;
	f->member[f->num_physical] = f->found->count - 1;
	f->physical[f->num_physical++] = (struct lvm_physical){.image = at->image,
							       .offset = at->offset,
							       .length = at->length};
	return 0;
}

static int add_disk(struct finder *f, unsigned image, const struct disk *disk)
{
	struct layout_filesystem at = {.image = image, .length = image_size(f->images[image])};
	int r = 0;

	if (disk->table == LAYOUT_NONE)
		return add_volume(f, &at);
	for (unsigned i = 0; i < disk->num_partitions && r == 0; i++) {
		const struct disk_partition *p = &disk->partition[i];

		r = add_volume(f, &(struct layout_filesystem){.image = image,
							      .table = disk->table,
							      .partition = p->number,
							      .offset = p->offset,
							      .length = p->length});
	}
	return r;
}

/* Finds the partitions of a disk. The guards, which are the sectors of its table, are read
 * first. */
static int examine(struct finder *f, unsigned image, struct disk *ret, char **ret_problem)
{
	const char *path = image_path(f->images[image]);
	int r = tables_guard(f->images[image], image, &f->table);

	if (r == -E2BIG)
		return error_text(ret_problem, r,
				  "image %s: its partition table has more than %u parts", path,
				  VOLUME_MAX_GUARDS);
	if (r < 0)
		return error_text(ret_problem, r, "image %s cannot be read", path);
	r = disk_examine(f->images[image], ret, ret_problem);
	if (r == 0)
		tables_guard_only(&f->table, ret->table);
	return r;
}

/* If one disk cannot be used, the others still are: only -ENOMEM is returned as an error. */
static int look_into_disk(struct finder *f, unsigned image)
{
	char **problem = &f->found->problems[image];
	struct disk disk;
	int r = examine(f, image, &disk, problem);

	f->found->errors[image] = r;
	if (r == 0)
		return add_disk(f, image, &disk);
	return r == -ENOMEM || !*problem ? -ENOMEM : 0;
}

static int add_disks(struct finder *f)
{
	struct volumes *v = f->found;
	int r = 0;

	v->problems = calloc(v->num_images, sizeof(*v->problems));
	v->errors = calloc(v->num_images, sizeof(*v->errors));
	if (!v->problems || !v->errors)
		return -ENOMEM;
	for (unsigned i = 0; i < v->num_images && r == 0; i++) {
		if (f->images[i])
			r = look_into_disk(f, i);
		layout_guards_clear(&f->table);
	}
	return r;
}

/* ---- LVM ------------------------------------------------------------------------ */

/* Adds the guards of a logical volume: its own, and those of the partitions its physical volumes
 * lie on. */
static int add_guards(struct finder *f, const struct lvm_volume *from, struct found_volume *v)
{
	int r = layout_guards_add_all(&v->at.guards, &from->guards);

	for (unsigned i = 0; i < f->num_physical && r == 0; i++)
		if (from->uses[i])
			r = layout_guards_add_all(&v->at.guards,
						  &f->found->list[f->member[i]].at.guards);
	if (r == -E2BIG && (v->problem = strdup("its place depends on too many sectors")))
		r = 0;
	return r;
}

static int name_members(struct finder *f)
{
	for (unsigned i = 0; i < f->num_physical; i++) {
		struct found_volume *v = &f->found->list[f->member[i]];
		const struct lvm_physical *p = &f->physical[i];

		if (p->problem && !(v->problem = strdup(p->problem)))
			return -ENOMEM;
		if (p->group[0] && !(v->group = strdup(p->group)))
			return -ENOMEM;
	}
	return 0;
}

/* Takes over the segments and the problem of `from`. */
static int add_logical(struct finder *f, struct lvm_volume *from)
{
	struct found_volume *v = new_volume(f->found);

	if (!v)
		return -ENOMEM;
	v->at.table = LAYOUT_LVM;
	v->at.segments = from->segments;
	v->at.num_segments = from->num_segments;
	v->problem = from->problem;
	from->segments = NULL;
	from->num_segments = 0;
	from->problem = NULL;
	v->at.volume = strdup(from->name);
	if (!v->at.volume)
		return -ENOMEM;
	if (!v->problem && add_guards(f, from, v) < 0)
		return -ENOMEM;
	if (v->problem) {
		v->at.type = strdup("");
		v->at.uuid = strdup("");
		return v->at.type && v->at.uuid ? 0 : -ENOMEM;
	}
	v->at.image = v->at.segments[0].stripes[0].image;
	for (unsigned i = 0; i < v->at.num_segments; i++)
		v->at.length += v->at.segments[i].length;
	return probe(f, v);
}

static int add_lvm(struct finder *f)
{
	struct lvm_found lvm = {0};
	int r = lvm_find(f->images, f->physical, f->num_physical, &lvm);

	if (r == 0)
		r = name_members(f);
	for (unsigned i = 0; i < lvm.num_volumes && r == 0; i++)
		r = add_logical(f, &lvm.volumes[i]);
	f->found->cut = lvm.cut;
	lvm_found_clear(&lvm);
	return r;
}

int volumes_find(struct image *const *images, unsigned num_images, struct volumes *ret)
{
	struct volumes found = {.num_images = num_images};
	struct finder *f = calloc(1, sizeof(*f));
	int r = -ENOMEM;

	if (f) {
		f->images = images;
		f->found = &found;
		r = add_disks(f);
	}
	if (r == 0)
		r = add_lvm(f);
	if (r == 0)
		r = volumes_refuse_overlaps(&found);
	for (unsigned i = 0; f && i < f->num_physical; i++)
		layout_guards_clear(&f->physical[i].guards);
	free(f);
	if (r < 0)
		volumes_clear(&found);
	else
		*ret = found;
	return r;
}

void volumes_clear(struct volumes *v)
{
	for (unsigned i = 0; i < v->count; i++) {
		layout_filesystem_clear(&v->list[i].at);
		free(v->list[i].problem);
		free(v->list[i].group);
	}
	for (unsigned i = 0; v->problems && i < v->num_images; i++)
		free(v->problems[i]);
	free(v->list);
	free(v->problems);
	free(v->errors);
	*v = (struct volumes){0};
}
