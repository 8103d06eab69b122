// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Partition tables and file-system signatures by libblkid; see partition.h.
 *
 * libblkid reads a descriptor of its own, through the page cache.  On a block
 * device, which its owner writes beneath that cache, the cache is dropped first.
 * It decides nothing but whether to look on with the readers, which check the
 * file system's UUID again on what they read.
 */
#include <blkid/blkid.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/error.h"
#include "image/ext4.h"
#include "image/partition.h"

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

static int probe_open(struct image_source *s, uint64_t offset, uint64_t length, struct probe *p)
{
	p->blkid = blkid_new_probe();
	p->fd = open(image_source_path(s), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (p->fd >= 0 && image_source_is_direct(s))
		posix_fadvise(p->fd, (off_t)offset, (off_t)length, POSIX_FADV_DONTNEED);
	if (!p->blkid || p->fd < 0 ||
	    blkid_probe_set_device(p->blkid, p->fd, (blkid_loff_t)offset, (blkid_loff_t)length)) {
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

int disk_probe(struct image_source *s, uint64_t offset, uint64_t length, char type[32],
	       char uuid[40])
{
	struct probe p;
	int r = probe_open(s, offset, length, &p);

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
	/* 1: nothing found; -2: several things at once, none to be trusted. */
	return r == -1 ? -EIO : 0;
}

bool disk_type_is_encrypted(const char *type)
{
	return !strcmp(type, "crypto_LUKS") || !strcmp(type, "BitLocker");
}

/* Formats that wrap a disk. */
static const char *container_format(struct image_source *s)
{
	static const struct {
		const char *magic, *name;
	} format[] = {
		{"QFI\xfb", "qcow2"}, {"conectix", "VHD"},           {"vhdxfile", "VHDX"},
		{"KDMV", "VMDK"},     {"# Disk Descriptor", "VMDK"}, {"<<< ", "VDI"},
	};
	char head[24] = "";

	if (image_source_size(s) < sizeof(head) || image_source_read(s, 0, head, sizeof(head)) < 0)
		return NULL;
	for (size_t i = 0; i < sizeof(format) / sizeof(format[0]); i++)
		if (!memcmp(head, format[i].magic, strlen(format[i].magic)))
			return format[i].name;
	return NULL;
}

/* Bytes a GPT says its disk has, 0 without a GPT.  libblkid ignores a table that points
 * past the end, which hides why. */
static uint64_t gpt_disk_bytes(struct image_source *s)
{
	struct {
		char signature[8];
		uint8_t header[24];
		uint64_t backup_lba;
	} __attribute__((packed)) gpt;
	uint64_t bytes;

	if (image_source_size(s) < 1024 || image_source_read(s, 512, &gpt, sizeof(gpt)) < 0)
		return 0;
	if (memcmp(gpt.signature, "EFI PART", sizeof(gpt.signature)))
		return 0;
	if (__builtin_add_overflow(le64toh(gpt.backup_lba), 1, &bytes) ||
	    __builtin_mul_overflow(bytes, 512, &bytes))
		return UINT64_MAX;
	return bytes;
}

static int truncated(struct image_source *s, const char *what, uint64_t end, char **ret_error)
{
	return error_text(ret_error, -ERANGE,
			  "image %s is truncated: it has %llu bytes, but %s ends at byte %llu",
			  image_source_path(s), (unsigned long long)image_source_size(s), what,
			  (unsigned long long)end);
}

static int add_partition(struct image_source *s, blkid_partition from, struct disk *d,
			 char **ret_error)
{
	struct disk_partition *p = &d->partition[d->num_partitions];
	char what[32];

	if (blkid_partition_get_start(from) < 0 || blkid_partition_get_size(from) <= 0)
		return 0;
	p->number = (unsigned)blkid_partition_get_partno(from);
	p->offset = (uint64_t)blkid_partition_get_start(from) * 512;
	p->length = (uint64_t)blkid_partition_get_size(from) * 512;
	/* An extended partition is a box of others. */
	if (d->table == LAYOUT_MBR &&
	    (blkid_partition_get_type(from) == 0x5 || blkid_partition_get_type(from) == 0xf ||
	     blkid_partition_get_type(from) == 0x85))
		return 0;
	snprintf(what, sizeof(what), "partition %u", p->number);
	if (p->offset > image_source_size(s) || p->length > image_source_size(s) - p->offset)
		return truncated(s, what, p->offset + p->length, ret_error);
	d->num_partitions++;
	return 0;
}

static int read_table(struct image_source *s, struct disk *d, char **ret_error)
{
	blkid_partlist list;
	struct probe p;
	const char *type;
	int r = probe_open(s, 0, image_source_size(s), &p);

	if (r < 0)
		return error_text(ret_error, r, "image %s cannot be read", image_source_path(s));
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
		r = add_partition(s, blkid_partlist_get_partition(list, i), d, ret_error);
	probe_close(&p);
	return r;
}

/* A file system on the bare disk tells how long the disk has to be. */
static int check_bare_length(struct image_source *s, const char *type, char **ret_error)
{
	uint8_t raw[FS_SUPER_BYTES];
	struct ext4_super super;
	const char *reason;

	if (strncmp(type, "ext", 3) ||
	    image_source_read(s, EXT4_SUPER_OFFSET, raw, sizeof(raw)) < 0 ||
	    !ext4_super_parse(raw, UINT64_MAX, &super, &reason) ||
	    super.blocks <= image_source_size(s) / super.block_size)
		return 0;
	return truncated(s, "its file system", super.blocks * super.block_size, ret_error);
}

int disk_examine(struct image_source *s, struct disk *ret, char **ret_error)
{
	const char *container = container_format(s);
	uint64_t gpt = gpt_disk_bytes(s);
	int r;

	memset(ret, 0, sizeof(*ret));
	if (container)
		return error_text(ret_error, -EMEDIUMTYPE,
				  "image %s is in %s format; this version reads raw images only. "
				  "Convert it: qemu-img convert -O raw IMAGE RAW-IMAGE",
				  image_source_path(s), container);
	if (gpt > image_source_size(s))
		return truncated(s, "its GPT", gpt, ret_error);
	r = disk_probe(s, 0, image_source_size(s), ret->type, NULL);
	if (r < 0)
		return error_text(ret_error, r, "image %s cannot be read", image_source_path(s));
	if (ret->type[0])
		return check_bare_length(s, ret->type, ret_error);
	r = read_table(s, ret, ret_error);
	if (r == 0 && ret->table == LAYOUT_NONE)
		return error_text(
			ret_error, -ENODATA,
			"image %s is not a disk: it has neither a partition table nor a file "
			"system (or it is encrypted as a whole)",
			image_source_path(s));
	return r;
}
