// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds partition tables and file-system signatures with libblkid. The result decides only whether
 * a reader of parser/fs/ looks further. The reader checks the file system's UUID again in the data
 * it reads.
 */
#include <blkid/blkid.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "parser/disks/partition.h"
#include "parser/disks/tables.h"
#include "parser/disks/window.h"
#include "parser/fs/fs.h"

struct probe {
	blkid_probe blkid;
	int fd;
};

static void probe_close(struct probe *p)
{
	if (p->blkid)
		blkid_free_probe(p->blkid);
	if (p->fd >= 0)
		close(p->fd);
}

static int probe_open(struct volume *v, struct probe *p)
{
	p->blkid = blkid_new_probe();
	p->fd = window_open(v);
	if (!p->blkid || p->fd < 0 || blkid_probe_set_device(p->blkid, p->fd, 0, 0)) {
		probe_close(p);
		return -EIO;
	}
	return 0;
}

static void copy_value(blkid_probe probe, const char *name, char *to, size_t size)
{
	const char *value;

	if (blkid_probe_lookup_value(probe, name, &value, NULL))
		value = "";
	snprintf(to, size, "%s", value);
}

/* Adds what the probe found last. Returns the place of the signature. */
static uint64_t add_signature(blkid_probe probe, struct disk_signatures *to)
{
	struct disk_signature *s = &to->list[to->count];
	char at[24];

	copy_value(probe, "TYPE", s->type, sizeof(s->type));
	copy_value(probe, "UUID", s->uuid, sizeof(s->uuid));
	copy_value(probe, "SBMAGIC_OFFSET", at, sizeof(at));
	to->count++;
	return strtoull(at, NULL, 10);
}

static bool is_container(blkid_probe probe, const char *type)
{
	char usage[16];

	copy_value(probe, "USAGE", usage, sizeof(usage));
	return (!strcmp(usage, "raid") || !strcmp(usage, "crypto")) && strcmp(type, "LVM2_member");
}

/* Removes file systems that end before a container's label. In a member of a mirror, for example,
 * the file system of the mirror is visible, but is shorter than the member; the bytes of another
 * member may be newer. A label inside a file system's own bytes is a left-over. */
static void only_whole(struct volume *v, struct disk_signatures *s, uint64_t label)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < s->count; i++)
		if (!layout_type_valid(s->list[i].type) || fs_bytes(v, s->list[i].type) > label)
			s->list[kept++] = s->list[i];
	s->count = kept;
}

int disk_probe(struct volume *v, struct disk_signatures *ret)
{
	uint64_t label = 0, at;
	struct probe p;
	int r = probe_open(v, &p), found = 0;

	if (r < 0)
		return r;
	*ret = (struct disk_signatures){0};
	blkid_probe_enable_superblocks(p.blkid, 1);
	blkid_probe_set_superblocks_flags(p.blkid, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_UUID |
							   BLKID_SUBLKS_USAGE | BLKID_SUBLKS_MAGIC);
	/* 0: one more was found. */
	while (ret->count < DISK_MAX_SIGNATURES && (found = blkid_do_probe(p.blkid)) == 0) {
		at = add_signature(p.blkid, ret);
		if (is_container(p.blkid, ret->list[ret->count - 1].type) && at > label)
			label = at;
	}
	probe_close(&p);
	if (label)
		only_whole(v, ret, label);
	return ret->count == DISK_MAX_SIGNATURES || found >= 0 ? 0 : -EIO;
}

bool disk_type_is_encrypted(const char *type)
{
	return !strcmp(type, "crypto_LUKS") || !strcmp(type, "BitLocker");
}

const char *disk_type_remedy(const char *type)
{
	static const struct {
		const char *type, *remedy;
	} known[] = {
		{"crypto_LUKS",
		 "is encrypted by its guest (LUKS), which alone has the key: encrypt "
		 "below the guest, or in HDFS (encryption zones)"},
		{"BitLocker", "is encrypted by its guest (BitLocker), which alone has the key"},
		{"btrfs", "is btrfs, which vRead does not read: keep the data directories on ext4 "
			  "or XFS"},
		{"zfs_member", "is part of a ZFS pool, which vRead does not read: keep the data "
			       "directories on ext4 or XFS"},
		{"linux_raid_member", "is part of a RAID of its guest, which vRead does not read: "
				      "make the RAID below the guest, and give the guest one disk"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(type, known[i].type))
			return known[i].remedy;
	return NULL;
}

/* Returns the name of the format if a raw image begins like a file of another format, else NULL. */
static const char *container_format(struct image *img)
{
	static const struct {
		const char *magic, *name;
	} format[] = {
		{"QFI\xfb", "qcow2"}, {"conectix", "VHD"},           {"vhdxfile", "VHDX"},
		{"KDMV", "VMDK"},     {"# Disk Descriptor", "VMDK"}, {"<<< ", "VDI"},
	};
	char head[24] = "";

	if (image_size(img) < sizeof(head) || image_read(img, 0, head, sizeof(head)) < 0)
		return NULL;
	for (size_t i = 0; i < sizeof(format) / sizeof(format[0]); i++)
		if (!memcmp(head, format[i].magic, strlen(format[i].magic)))
			return format[i].name;
	return NULL;
}

/* Returns the bytes that a GPT says its disk has, 0 if there is no GPT. libblkid ignores a table
 * that points past the end of the disk, and so hides the reason. */
static uint64_t gpt_disk_bytes(struct image *img, unsigned unit)
{
	struct {
		char signature[8];
		uint8_t header[24];
		uint64_t backup_lba;
	} __attribute__((packed)) gpt;
	uint64_t bytes;

	if (image_size(img) < 2 * unit || image_read(img, unit, &gpt, sizeof(gpt)) < 0)
		return 0;
	if (memcmp(gpt.signature, "EFI PART", sizeof(gpt.signature)))
		return 0;
	if (__builtin_add_overflow(le64toh(gpt.backup_lba), 1, &bytes) ||
	    __builtin_mul_overflow(bytes, unit, &bytes))
		return UINT64_MAX;
	return bytes;
}

int disk_truncated(struct image *img, const char *what, uint64_t end, char **ret_error)
{
	return error_text(ret_error, -ERANGE,
			  "image %s is truncated: it has %llu bytes, but %s ends at byte %llu",
			  image_path(img), (unsigned long long)image_size(img), what,
			  (unsigned long long)end);
}

static int add_partition(struct image *img, blkid_partition from, struct disk_table *t,
			 char **ret_error)
{
	struct disk_partition *p = &t->partition[t->num_partitions];
	char what[32];

	if (blkid_partition_get_start(from) < 0 || blkid_partition_get_size(from) <= 0)
		return 0;
	p->number = (unsigned)blkid_partition_get_partno(from);
	/* libblkid counts in 512 bytes, whatever the table counts in. */
	p->offset = (uint64_t)blkid_partition_get_start(from) * 512;
	p->length = (uint64_t)blkid_partition_get_size(from) * 512;
	/* An extended partition only contains other partitions. */
	if (t->kind == LAYOUT_MBR &&
	    (blkid_partition_get_type(from) == 0x5 || blkid_partition_get_type(from) == 0xf ||
	     blkid_partition_get_type(from) == 0x85))
		return 0;
	snprintf(what, sizeof(what), "partition %u", p->number);
	if (p->offset > image_size(img) || p->length > image_size(img) - p->offset)
		return disk_truncated(img, what, p->offset + p->length, ret_error);
	t->num_partitions++;
	return 0;
}

struct showing {
	struct volume *disk;
	int window;
};

static int show_table(void *ctx, uint64_t offset, const uint8_t sector[TABLE_SECTOR])
{
	const struct showing *s = ctx;

	(void)sector;
	return window_add(s->window, s->disk, offset, TABLE_SECTOR);
}

/* Copies the tables into the window, so that libblkid finds them there. */
static int show_tables(struct volume *disk, unsigned unit, int window)
{
	return tables_of_mbr(disk, unit, show_table, &(struct showing){disk, window});
}

static int open_tables(struct image *img, unsigned unit, struct volume **ret_volume,
		       struct probe *p)
{
	int r = volume_new_range(img, 0, image_size(img), ret_volume);

	if (r < 0)
		return r;
	r = probe_open(*ret_volume, p);
	if (r < 0) {
		volume_free(*ret_volume);
		return r;
	}
	r = show_tables(*ret_volume, unit, p->fd);
	if (r == 0 && blkid_probe_set_sectorsize(p->blkid, unit))
		r = -ENOMEM;
	if (r < 0) {
		probe_close(p);
		volume_free(*ret_volume);
	}
	return r;
}

static int read_table(struct image *img, struct disk_table *t, char **ret_error)
{
	struct volume *whole;
	blkid_partlist list;
	struct probe p;
	const char *type;
	int r = open_tables(img, t->unit, &whole, &p);

	if (r < 0)
		return error_text(ret_error, r, "image %s cannot be read", image_path(img));
	blkid_probe_enable_partitions(p.blkid, 1);
	list = blkid_probe_get_partitions(p.blkid);
	if (list && blkid_partlist_get_table(list)) {
		type = blkid_parttable_get_type(blkid_partlist_get_table(list));
		if (!strcmp(type, "gpt"))
			t->kind = LAYOUT_GPT;
		else if (!strcmp(type, "dos"))
			t->kind = LAYOUT_MBR;
	}
	for (int i = 0;
	     t->kind != LAYOUT_NONE && r == 0 && i < blkid_partlist_numof_partitions(list) &&
	     t->num_partitions < DISK_MAX_PARTITIONS;
	     i++)
		r = add_partition(img, blkid_partlist_get_partition(list, i), t, ret_error);
	probe_close(&p);
	volume_free(whole);
	return r;
}

int disk_read_table(struct image *img, unsigned unit, struct disk_table *ret, char **ret_error)
{
	uint64_t gpt = gpt_disk_bytes(img, unit);

	*ret = (struct disk_table){.unit = unit};
	if (gpt > image_size(img))
		return disk_truncated(img, "its GPT", gpt, ret_error);
	return read_table(img, ret, ret_error);
}

int disk_check_format(struct image *img, char **ret_error)
{
	const char *container = container_format(img);

	if (!container)
		return 0;
	return error_text(
		ret_error, -EMEDIUMTYPE,
		"image %s looks like a %s file but is configured as %s; if its domain uses "
		"that format, name the format before the path (one of %s), or convert the "
		"image: qemu-img convert -O raw IMAGE RAW-IMAGE",
		image_path(img), container, image_format(img), image_format_names());
}
