// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A read-only io_manager through which libext2fs reads the file system's volume.  ext4.c calls
 * ext4_io_open().
 *
 * Two protections are in this file only.  First, reads of the superblock always return the copy
 * that was checked, so that the image's owner cannot change the superblock between check and use.
 * Second, every view has a budget of bytes.  Metadata with a loop (a tree that contains itself, a
 * directory without end) uses up the budget, and the read fails with EIO.
 */
#include <errno.h>
#include <et/com_err.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "parser/fs/ext4.h"

static struct struct_io_manager manager;

/* The view that is being opened.  ext2fs_open2() passes only a name to its io_manager. */
static _Thread_local struct ext4_view *opening;

int ext4_io_read(struct ext4_view *v, uint64_t offset, void *buf, size_t length)
{
	struct fs *fs = v->view.fs;
	uint64_t from, to;
	int r;

	if (offset > fs->length || length > fs->length - offset)
		return -EIO;
	if (length > v->budget)
		return -EIO;
	v->budget -= length;
	r = v->view.live ? ext4_live_read(v, offset, buf, length)
			 : volume_read(fs->volume, offset, buf, length);
	if (r < 0)
		return r;

	from = offset > EXT4_SUPER_OFFSET ? offset : EXT4_SUPER_OFFSET;
	to = EXT4_SUPER_OFFSET + FS_SUPER_BYTES;
	if (to > offset + length)
		to = offset + length;
	if (from < to)
		memcpy((uint8_t *)buf + (from - offset), v->raw_super + (from - EXT4_SUPER_OFFSET),
		       to - from);
	return 0;
}

static errcode_t io_open(const char *name, int flags, io_channel *ret)
{
	struct struct_io_channel *c;

	if (!opening || (flags & IO_FLAG_RW))
		return EXT2_ET_BAD_DEVICE_NAME;
	c = calloc(1, sizeof(*c));
	if (!c)
		return EXT2_ET_NO_MEMORY;
	c->name = strdup(name);
	if (!c->name) {
		free(c);
		return EXT2_ET_NO_MEMORY;
	}
	c->magic = EXT2_ET_MAGIC_IO_CHANNEL;
	c->manager = &manager;
	c->block_size = 1024;
	c->refcount = 1;
	c->private_data = opening;
	*ret = c;
	return 0;
}

static errcode_t io_close(io_channel c)
{
	if (--c->refcount > 0)
		return 0;
	free(c->name);
	free(c);
	return 0;
}

static errcode_t io_set_blksize(io_channel c, int size)
{
	c->block_size = size;
	return 0;
}

/* count is a number of blocks, or the negative of a number of bytes. */
static errcode_t io_read_blk64(io_channel c, unsigned long long block, int count, void *data)
{
	uint64_t offset, length;

	if (c->block_size <= 0)
		return EXT2_ET_SHORT_READ;
	length =
		count < 0 ? (uint64_t) - (int64_t)count : (uint64_t)count * (unsigned)c->block_size;
	if (__builtin_mul_overflow(block, (uint64_t)c->block_size, &offset))
		return EXT2_ET_SHORT_READ;
	return ext4_io_read(c->private_data, offset, data, length) < 0 ? EXT2_ET_SHORT_READ : 0;
}

static errcode_t io_read_blk(io_channel c, unsigned long block, int count, void *data)
{
	return io_read_blk64(c, block, count, data);
}

static errcode_t io_write_blk64(io_channel c, unsigned long long block, int count, const void *data)
{
	(void)c, (void)block, (void)count, (void)data;
	return EXT2_ET_RO_FILSYS;
}

static errcode_t io_write_blk(io_channel c, unsigned long block, int count, const void *data)
{
	return io_write_blk64(c, block, count, data);
}

static errcode_t io_flush(io_channel c)
{
	(void)c;
	return 0;
}

static struct struct_io_manager manager = {
	.magic = EXT2_ET_MAGIC_IO_MANAGER,
	.name = "vread image",
	.open = io_open,
	.close = io_close,
	.set_blksize = io_set_blksize,
	.read_blk = io_read_blk,
	.write_blk = io_write_blk,
	.flush = io_flush,
	.read_blk64 = io_read_blk64,
	.write_blk64 = io_write_blk64,
};

/* Drops messages of libext2fs.  Otherwise a guest could write to our log. */
static void say_nothing(const char *who, errcode_t error, const char *format, va_list args)
{
	(void)who, (void)error, (void)format, (void)args;
}

static void silence(void)
{
	set_com_err_hook(say_nothing);
}

errcode_t ext4_io_open(struct ext4_view *v, bool super_only)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int flags = EXT2_FLAG_64BITS | (super_only ? EXT2_FLAG_SUPER_ONLY : 0);
	errcode_t error;

	pthread_once(&once, silence);
	opening = v;
	error = ext2fs_open2("image", NULL, flags, 0, 0, &manager, &v->filsys);
	opening = NULL;
	return error;
}
