// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds partition tables and file-system signatures with libblkid. parser/ and vread-provision
 * call it; partition.h describes the functions. The result decides only whether a reader of
 * parser/fs/ looks further. The reader checks the file system's UUID again in the data it reads.
 */
#include <blkid/blkid.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "parser/fs/ext4.h"
#include "parser/disks/partition.h"
#include "parser/disks/tables.h"
#include "parser/disks/window.h"

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

int disk_probe(struct volume *v, char type[32], char uuid[40])
{
	struct probe p;
	int r = probe_open(v, &p);

	if (r < 0)
		return r;
	blkid_probe_enable_superblocks(p.blkid, 1);
	blkid_probe_set_superblocks_flags(p.blkid, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_UUID);
	type[0] = '\0';
	if (uuid)
		uuid[0] = '\0';
	r = blkid_do_safeprobe(p.blkid);
	if (r == 0) {
		copy_value(p.blkid, "TYPE", type, 32);
		if (uuid)
			copy_value(p.blkid, "UUID", uuid, 40);
	}
	probe_close(&p);
	/* 1: nothing found; -2: several signatures, none of them trusted. */
	return r == -1 ? -EIO : 0;
}

int disk_probe_range(struct image *img, uint64_t offset, uint64_t length, char type[32],
		     char uuid[40])
{
	struct volume *v;
	int r = volume_new_range(img, offset, length, &v);

	if (r < 0)
		return r == -ENOMEM ? r : -EIO;
	r = disk_probe(v, type, uuid);
	volume_free(v);
	return r;
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
static uint64_t gpt_disk_bytes(struct image *img)
{
	struct {
		char signature[8];
		uint8_t header[24];
		uint64_t backup_lba;
	} __attribute__((packed)) gpt;
	uint64_t bytes;

	if (image_size(img) < 1024 || image_read(img, 512, &gpt, sizeof(gpt)) < 0)
		return 0;
	if (memcmp(gpt.signature, "EFI PART", sizeof(gpt.signature)))
		return 0;
	if (__builtin_add_overflow(le64toh(gpt.backup_lba), 1, &bytes) ||
	    __builtin_mul_overflow(bytes, 512, &bytes))
		return UINT64_MAX;
	return bytes;
}

static int truncated(struct image *img, const char *what, uint64_t end, char **ret_error)
{
	return error_text(ret_error, -ERANGE,
			  "image %s is truncated: it has %llu bytes, but %s ends at byte %llu",
			  image_path(img), (unsigned long long)image_size(img), what,
			  (unsigned long long)end);
}

static int add_partition(struct image *img, blkid_partition from, struct disk *d, char **ret_error)
{
	struct disk_partition *p = &d->partition[d->num_partitions];
	char what[32];

	if (blkid_partition_get_start(from) < 0 || blkid_partition_get_size(from) <= 0)
		return 0;
	p->number = (unsigned)blkid_partition_get_partno(from);
	p->offset = (uint64_t)blkid_partition_get_start(from) * 512;
	p->length = (uint64_t)blkid_partition_get_size(from) * 512;
	/* An extended partition only contains other partitions. */
	if (d->table == LAYOUT_MBR &&
	    (blkid_partition_get_type(from) == 0x5 || blkid_partition_get_type(from) == 0xf ||
	     blkid_partition_get_type(from) == 0x85))
		return 0;
	snprintf(what, sizeof(what), "partition %u", p->number);
	if (p->offset > image_size(img) || p->length > image_size(img) - p->offset)
		return truncated(img, what, p->offset + p->length, ret_error);
	d->num_partitions++;
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
static int show_tables(struct volume *disk, int window)
{
	return tables_of_mbr(disk, show_table, &(struct showing){disk, window});
}

static int open_tables(struct image *img, struct volume **ret_volume, struct probe *p)
{
	int r = volume_new_range(img, 0, image_size(img), ret_volume);

	if (r < 0)
		return r;
	r = probe_open(*ret_volume, p);
	if (r < 0) {
		volume_free(*ret_volume);
		return r;
	}
	r = show_tables(*ret_volume, p->fd);
	if (r < 0) {
		probe_close(p);
		volume_free(*ret_volume);
	}
	return r;
}

static int read_table(struct image *img, struct disk *d, char **ret_error)
{
	struct volume *whole;
	blkid_partlist list;
	struct probe p;
	const char *type;
	int r = open_tables(img, &whole, &p);

	if (r < 0)
		return error_text(ret_error, r, "image %s cannot be read", image_path(img));
	blkid_probe_enable_partitions(p.blkid, 1);
	list = blkid_probe_get_partitions(p.blkid);
	if (list && blkid_partlist_get_table(list)) {
		type = blkid_parttable_get_type(blkid_partlist_get_table(list));
		if (!strcmp(type, "gpt"))
			d->table = LAYOUT_GPT;
		else if (!strcmp(type, "dos"))
			d->table = LAYOUT_MBR;
	}
	for (int i = 0;
	     d->table != LAYOUT_NONE && r == 0 && i < blkid_partlist_numof_partitions(list) &&
	     d->num_partitions < DISK_MAX_PARTITIONS;
	     i++)
		r = add_partition(img, blkid_partlist_get_partition(list, i), d, ret_error);
	probe_close(&p);
	volume_free(whole);
	return r;
}

/* An ext file system without a partition table says how long its disk must be. */
static int check_bare_length(struct image *img, const char *type, char **ret_error)
{
	uint8_t raw[FS_SUPER_BYTES];
	struct ext4_super super;
	const char *reason;

	if (strncmp(type, "ext", 3) || image_read(img, EXT4_SUPER_OFFSET, raw, sizeof(raw)) < 0 ||
	    !ext4_super_parse(raw, UINT64_MAX, &super, &reason) ||
	    super.blocks <= image_size(img) / super.block_size)
		return 0;
	return truncated(img, "its file system", super.blocks * super.block_size, ret_error);
}

int disk_examine(struct image *img, struct disk *ret, char **ret_error)
{
	const char *container = container_format(img);
	uint64_t gpt = gpt_disk_bytes(img);
	int r;

	memset(ret, 0, sizeof(*ret));
	if (container)
		return error_text(
			ret_error, -EMEDIUMTYPE,
			"image %s looks like a %s file but is configured as %s; if its domain uses "
			"that format, name the format before the path (one of %s), or convert the "
			"image: qemu-img convert -O raw IMAGE RAW-IMAGE",
			image_path(img), container, image_format(img), image_format_names());
	if (gpt > image_size(img))
		return truncated(img, "its GPT", gpt, ret_error);
	r = disk_probe_range(img, 0, image_size(img), ret->type, NULL);
	if (r < 0)
		return error_text(ret_error, r, "image %s cannot be read", image_path(img));
	if (ret->type[0])
		return check_bare_length(img, ret->type, ret_error);
	r = read_table(img, ret, ret_error);
	if (r == 0 && ret->table == LAYOUT_NONE)
		return error_text(
			ret_error, -ENODATA,
			"image %s is not a disk: it has neither a partition table nor a file "
			"system (or it is encrypted as a whole)",
			image_path(img));
	return r;
}
