// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds disks, their partitions, and the logical volumes on them.
 */
#include "parser/disks/volumes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "parser/disks/lvm.h"
#include "parser/disks/overlap.h"
#include "parser/disks/partition.h"
#include "layout/place.h"
#include "parser/disks/tables.h"
#include "parser/fs/fs.h"

/* Volumes of one reading may not share bytes. */
enum reading { WHOLE_DISK, TABLE_512, TABLE_4096, LOGICAL };

struct finder {
	struct image *const *images;
	struct volumes *found;
	struct layout_guards table; /* guards of the table that is being examined */
	enum reading reading;
	bool has_table; /* the disk that is being examined */
	struct lvm_physical physical[LVM_MAX_PHYSICAL];
	unsigned member[LVM_MAX_PHYSICAL]; /* index in found->list of each physical volume */
	unsigned num_physical;
};

/* Appends a zeroed entry to the list. Returns NULL if out of memory. */
static struct found_volume *new_volume(struct finder *f)
{
	struct volumes *v = f->found;
	struct found_volume *grown = reallocarray(v->list, v->count + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	v->list = grown;
	memset(&grown[v->count], 0, sizeof(*grown));
	grown[v->count].reading = f->reading;
	return &grown[v->count++];
}

static bool set_signature(struct found_volume *v, const struct disk_signature *s)
{
	v->at.type = strdup(s ? s->type : "");
	v->at.uuid = strdup(s ? s->uuid : "");
	return v->at.type && v->at.uuid;
}

/* Adds a volume in the same place as the last one, which has a second signature. */
static int add_alternative(struct finder *f, const struct disk_signature *s)
{
	unsigned original = f->found->count - 1;
	struct found_volume *v = new_volume(f), *from = &f->found->list[original];

	if (!v)
		return -ENOMEM;
	v->alternative = true;
	v->unit = from->unit;
	v->at.image = from->at.image;
	v->at.table = from->at.table;
	v->at.partition = from->at.partition;
	v->at.offset = from->at.offset;
	v->at.length = from->at.length;
	if (from->at.volume && !(v->at.volume = strdup(from->at.volume)))
		return -ENOMEM;
	if (!set_signature(v, s) || !layout_copy_segments(&from->at, &v->at))
		return -ENOMEM;
	return layout_guards_add_all(&v->at.guards, &from->at.guards);
}

/* Sets what lies on the last volume; adds more volumes in the same place if several things do. */
static int probe(struct finder *f)
{
	struct found_volume *v = &f->found->list[f->found->count - 1];
	struct disk_signatures s = {0};
	struct volume *volume = NULL;
	int r = layout_volume(f->images, &v->at, &volume);

	if (r == 0)
		r = disk_probe(volume, &s);
	volume_free(volume);
	if (r == -ENOMEM)
		return r;
	if (r < 0 && !(v->problem = strdup("it cannot be read")))
		return -ENOMEM;
	if (!set_signature(v, s.count ? &s.list[0] : NULL))
		return -ENOMEM;
	r = 0;
	for (unsigned i = 1; i < s.count && r == 0; i++)
		r = add_alternative(f, &s.list[i]);
	return r;
}

/* Adds the volume that lies at `at`, in a table that counts in sectors of `unit` bytes. */
static int add_volume(struct finder *f, const struct layout_filesystem *at, unsigned unit)
{
	struct found_volume *v = new_volume(f);
	int r;

	if (!v)
		return -ENOMEM;
	v->at = *at;
	v->unit = unit;
	r = layout_guards_add_all(&v->at.guards, &f->table);
	return r < 0 ? r : probe(f);
}

static void clear_volume(struct found_volume *v)
{
	layout_filesystem_clear(&v->at);
	free(v->problem);
	free(v->group);
}

/* Removes volumes on which nothing is, from number `first` on. */
static void drop_empty(struct volumes *v, unsigned first)
{
	unsigned kept = first;

	for (unsigned i = first; i < v->count; i++)
		if (v->list[i].at.type[0])
			v->list[kept++] = v->list[i];
		else
			clear_volume(&v->list[i]);
	v->count = kept;
}

/* A file system without a partition table says how long its disk must be. */
static int check_length(struct finder *f, const struct found_volume *v, char **ret_problem)
{
	struct volume *volume;
	uint64_t bytes;
	int r = layout_volume(f->images, &v->at, &volume);

	if (r < 0)
		return r;
	bytes = fs_bytes(volume, v->at.type);
	volume_free(volume);
	return bytes <= v->at.length ? 0
				     : disk_truncated(f->images[v->at.image], "its file system",
						      bytes, ret_problem);
}

/* Reads an image as a disk without a partition table. */
static int read_whole(struct finder *f, unsigned image, char **ret_problem)
{
	struct layout_filesystem at = {.image = image, .length = image_size(f->images[image])};
	struct volumes *v = f->found;
	unsigned first = v->count;
	int r;

	f->reading = WHOLE_DISK;
	r = add_volume(f, &at, 0);
	if (r == 0 && v->list[first].problem)
		r = error_text(ret_problem, -EIO, "image %s cannot be read",
			       image_path(f->images[image]));
	for (unsigned i = first; i < v->count && r == 0; i++)
		r = check_length(f, &v->list[i], ret_problem);
	for (unsigned i = first; i < v->count && r < 0; i++)
		v->list[i].at.type[0] = '\0';
	drop_empty(v, first);
	return r;
}

static int add_partitions(struct finder *f, unsigned image, const struct disk_table *t)
{
	int r = 0;

	for (unsigned i = 0; i < t->num_partitions && r == 0; i++) {
		const struct disk_partition *p = &t->partition[i];

		r = add_volume(f,
			       &(struct layout_filesystem){.image = image,
							   .table = t->kind,
							   .partition = p->number,
							   .offset = p->offset,
							   .length = p->length},
			       t->unit);
	}
	return r;
}

/* Reads an image as a disk with a partition table that counts in sectors of `unit` bytes. The
 * guards, which are the sectors of the table, are read first. */
static int read_partitions(struct finder *f, unsigned image, unsigned unit, char **ret_problem)
{
	const char *path = image_path(f->images[image]);
	unsigned first = f->found->count;
	struct disk_table table;
	int r = tables_guard(f->images[image], image, unit, &f->table);

	if (r == -E2BIG)
		return error_text(ret_problem, r,
				  "image %s: its partition table has more than %u parts", path,
				  VOLUME_MAX_GUARDS);
	if (r < 0)
		return error_text(ret_problem, r, "image %s cannot be read", path);
	r = disk_read_table(f->images[image], unit, &table, ret_problem);
	if (r < 0 || table.kind == LAYOUT_NONE)
		return r;
	tables_guard_only(&f->table, table.kind, unit);
	f->reading = unit == TABLE_UNIT ? TABLE_512 : TABLE_4096;
	f->has_table = true;
	r = add_partitions(f, image, &table);
	/* The usual unit is the one to report about. */
	if (unit != TABLE_UNIT)
		drop_empty(f->found, first);
	return r;
}

static int read_as(struct finder *f, unsigned image, enum reading reading, char **ret_problem)
{
	int r;

	if (reading == WHOLE_DISK)
		return read_whole(f, image, ret_problem);
	r = read_partitions(f, image, reading == TABLE_512 ? TABLE_UNIT : TABLE_LARGE_UNIT,
			    ret_problem);
	layout_guards_clear(&f->table);
	return r;
}

/* Tries all readings. The first problem counts if none of them finds anything. */
static int examine(struct finder *f, unsigned image, char **ret_problem)
{
	unsigned first = f->found->count;
	char *problem = NULL;
	int r = disk_check_format(f->images[image], &problem), error = r;

	f->has_table = false;
	for (enum reading i = WHOLE_DISK; error != -EMEDIUMTYPE && i <= TABLE_4096; i++) {
		char *other = NULL;

		r = read_as(f, image, i, problem ? &other : &problem);
		free(other);
		if (r == -ENOMEM)
			break;
		error = error ?: r;
	}
	if (r == -ENOMEM || f->found->count > first || (!error && f->has_table)) {
		free(problem);
		return r == -ENOMEM ? r : 0;
	}
	*ret_problem = problem;
	return error
		       ?: error_text(
				  ret_problem, -ENODATA,
				  "image %s is not a disk: it has neither a partition table nor a "
				  "file system (or it is encrypted as a whole)",
				  image_path(f->images[image]));
}

/* If one disk cannot be used, the others still are: only -ENOMEM is returned as an error. */
static int look_into_disk(struct finder *f, unsigned image)
{
	char **problem = &f->found->problems[image];
	int r = examine(f, image, problem);

	f->found->errors[image] = r;
	return r == -ENOMEM || (r < 0 && !*problem) ? -ENOMEM : 0;
}

static int add_disks(struct finder *f)
{
	struct volumes *v = f->found;
	int r = 0;

	v->problems = calloc(v->num_images, sizeof(*v->problems));
	v->errors = calloc(v->num_images, sizeof(*v->errors));
	if (!v->problems || !v->errors)
		return -ENOMEM;
	for (unsigned i = 0; i < v->num_images && r == 0; i++)
		if (f->images[i])
			r = look_into_disk(f, i);
	return r;
}

/* ---- LVM ------------------------------------------------------------------------ */

static void find_physical(struct finder *f)
{
	const struct volumes *v = f->found;

	for (unsigned i = 0; i < v->count && f->num_physical < LVM_MAX_PHYSICAL; i++) {
		const struct layout_filesystem *at = &v->list[i].at;

		if (strcmp(at->type, VOLUMES_LVM_MEMBER))
			continue;
		f->member[f->num_physical] = i;
		f->physical[f->num_physical++] = (struct lvm_physical){.image = at->image,
								       .offset = at->offset,
								       .length = at->length};
	}
}

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
	struct found_volume *v = new_volume(f);

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
	if (v->problem)
		return set_signature(v, NULL) ? 0 : -ENOMEM;
	v->at.image = v->at.segments[0].stripes[0].image;
	for (unsigned i = 0; i < v->at.num_segments; i++)
		v->at.length += v->at.segments[i].length;
	return probe(f);
}

static int add_lvm(struct finder *f)
{
	struct lvm_found lvm = {0};
	int r;

	f->reading = LOGICAL;
	find_physical(f);
	r = lvm_find(f->images, f->physical, f->num_physical, &lvm);
	if (r == 0)
		r = name_members(f);
	for (unsigned i = 0; i < lvm.num_volumes && r == 0; i++)
		r = add_logical(f, &lvm.volumes[i]);
	f->found->cut = lvm.cut;
	lvm_found_clear(&lvm);
	return r;
}

/* ---- overlaps -------------------------------------------------------------------- */

/* Sets the problem of a volume, and of its alternatives. */
static int refuse(struct volumes *found, unsigned number, const struct found_volume *other)
{
	char place[LAYOUT_MAX_PLACE];

	do {
		struct found_volume *v = &found->list[number];
		int length = 0;

		if (!v->problem)
			length = v == other ? asprintf(&v->problem, "it has the same bytes twice")
					    : asprintf(&v->problem, "it shares bytes with %s",
						       layout_place(&other->at, place));
		if (length < 0) {
			v->problem = NULL;
			return -ENOMEM;
		}
		number++;
	} while (number < found->count && found->list[number].alternative);
	return 0;
}

static int refuse_both(void *ctx, unsigned a, unsigned b)
{
	struct volumes *found = ctx;
	int r = refuse(found, a, &found->list[b]);

	return r < 0 ? r : refuse(found, b, &found->list[a]);
}

/* True if the volume in this place is read as a file system. Physical volumes and extended
 * partitions contain other volumes; nobody reads files from them. */
static bool can_be_read(const struct volumes *v, unsigned number)
{
	bool readable = false;

	for (unsigned i = number; !v->list[number].problem && i < v->count; i++) {
		if (i > number && !v->list[i].alternative)
			break;
		readable |= layout_type_valid(v->list[i].at.type);
	}
	return readable;
}

static int refuse_overlaps(struct volumes *v)
{
	struct overlap_volume *list = calloc(v->count + 1, sizeof(*list));
	int r;

	if (!list)
		return -ENOMEM;
	for (unsigned i = 0; i < v->count; i++)
		if (!v->list[i].alternative && can_be_read(v, i))
			list[i] = (struct overlap_volume){&v->list[i].at, v->list[i].reading};
	r = overlaps_find(list, v->count, refuse_both, v);
	free(list);
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
		r = refuse_overlaps(&found);
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
	for (unsigned i = 0; i < v->count; i++)
		clear_volume(&v->list[i]);
	for (unsigned i = 0; v->problems && i < v->num_images; i++)
		free(v->problems[i]);
	free(v->list);
	free(v->problems);
	free(v->errors);
	*v = (struct volumes){0};
}
