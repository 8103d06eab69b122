// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See torture_owner.h. The owner renames, then writes data, then checksums, as HDFS does.
 *
 * What a version does not keep of the one before is cut off before the rename. So whatever the
 * kernel has committed when it commits, no file has a stamp and bytes that this stamp replaces.
 * HDFS cuts after the rename, but its readers know from the NameNode where the new version ends.
 */
#include "torture_owner.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read/crc_table.h"

#define CHUNK 512U
#define MAX_BLOCK (512U << 10)

struct owner {
	struct torture_ledger *ledger;
	const char *mount_point;
	struct crc_table crc;
	uint64_t random;
	uint32_t next_id;
	bool rbw[TORTURE_SLOTS];
	uint8_t data[MAX_BLOCK], sums[MAX_BLOCK / CHUNK * 4];
};

static void die(const char *what)
{
	fprintf(stderr, "torture: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void note(struct owner *o, unsigned slot, uint64_t is)
{
	atomic_store(&o->ledger->slots[slot], is);
	if (o->ledger->changed)
		o->ledger->changed(slot, is);
}

static void folder_of(const struct owner *o, uint32_t id, bool rbw, char *ret, size_t size)
{
	if (rbw)
		snprintf(ret, size, "%s/data/current/" TORTURE_POOL "/current/rbw", o->mount_point);
	else
		snprintf(ret, size,
			 "%s/data/current/" TORTURE_POOL "/current/finalized/subdir%u/subdir%u",
			 o->mount_point, id >> 16 & 31, id >> 8 & 31);
}

static bool make_folder(const char *path)
{
	char parent[512];

	snprintf(parent, sizeof(parent), "%s", path);
	*strrchr(parent, '/') = '\0';
	return (mkdir(parent, 0755) == 0 || errno == EEXIST) &&
	       (mkdir(path, 0755) == 0 || errno == EEXIST);
}

static void data_path(const struct owner *o, uint32_t id, bool rbw, char *ret, size_t size)
{
	char folder[512];

	folder_of(o, id, rbw, folder, sizeof(folder));
	snprintf(ret, size, "%s/blk_%u", folder, id);
}

static void meta_path(const struct owner *o, uint32_t id, unsigned version, bool rbw, char *ret,
		      size_t size)
{
	char folder[512];

	folder_of(o, id, rbw, folder, sizeof(folder));
	snprintf(ret, size, "%s/blk_%u_%u.meta", folder, id, TORTURE_FIRST_STAMP + version);
}

static void fill(struct owner *o, uint32_t id, unsigned version)
{
	struct torture_shape s = torture_shape_of(id, version);

	for (uint64_t at = 0; at < s.length; at += TORTURE_UNIT) {
		struct torture_unit u = torture_unit_at(id, version, at);

		memcpy(o->data + at, &u, TORTURE_UNIT);
	}
	for (uint64_t at = 0; at < s.length; at += CHUNK) {
		uint64_t n = s.length - at < CHUNK ? s.length - at : CHUNK;
		uint32_t sum = htobe32(crc_table_sum(&o->crc, o->data + at, n));

		memcpy(o->sums + at / CHUNK * 4, &sum, 4);
	}
}

static bool write_at(const char *path, const void *data, size_t length, uint64_t offset, bool sync)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ssize_t n;
	bool ok;

	if (fd < 0)
		return false;
	n = pwrite(fd, data, length, (off_t)offset);
	ok = n == (ssize_t)length;
	if (n >= 0 && !ok)
		errno = ENOSPC; /* there was room for only a part */
	if (ok && sync)
		ok = fsync(fd) == 0;
	close(fd);
	return ok;
}

/* Takes from both files of a block what the next version does not keep. */
static bool cut_block(const struct owner *o, unsigned slot)
{
	uint64_t was = atomic_load(&o->ledger->slots[slot]);
	uint32_t id = (uint32_t)(was >> 32);
	uint64_t cut = torture_shape_of(id, (uint32_t)was + 1).cut;
	char data[600], meta[600];

	data_path(o, id, o->rbw[slot], data, sizeof(data));
	meta_path(o, id, (uint32_t)was, o->rbw[slot], meta, sizeof(meta));
	return truncate(data, (off_t)cut) == 0 &&
	       truncate(meta, (off_t)(7 + 4 * ((cut + CHUNK - 1) / CHUNK))) == 0;
}

/* Writes both files of a version from its cut on, as HDFS does: data, then checksums. */
static bool write_version(struct owner *o, uint32_t id, unsigned version, bool rbw, bool sync)
{
	static const uint8_t header[7] = {0, 1, 2, 0, 0, 2, 0};
	struct torture_shape s = torture_shape_of(id, version);
	uint64_t first = s.cut / CHUNK;
	uint64_t sums = (s.length + CHUNK - 1) / CHUNK;
	char data[600], meta[600];

	fill(o, id, version);
	data_path(o, id, rbw, data, sizeof(data));
	meta_path(o, id, version, rbw, meta, sizeof(meta));
	return (version || write_at(meta, header, 7, 0, false)) &&
	       write_at(data, o->data + s.cut, s.length - s.cut, s.cut, sync) &&
	       write_at(meta, o->sums + first * 4, (sums - first) * 4, 7 + first * 4, sync);
}

static void sync_folder(const struct owner *o, uint32_t id, bool rbw)
{
	char folder[512];
	int fd;

	folder_of(o, id, rbw, folder, sizeof(folder));
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		die(folder);
	close(fd);
}

static void delete_block(struct owner *o, unsigned slot)
{
	uint64_t was = atomic_load(&o->ledger->slots[slot]);
	uint32_t id = (uint32_t)(was >> 32);
	char path[600];

	if (!was)
		return;
	data_path(o, id, o->rbw[slot], path, sizeof(path));
	unlink(path);
	meta_path(o, id, (uint32_t)was, o->rbw[slot], path, sizeof(path));
	unlink(path);
	note(o, slot, 0);
	atomic_fetch_add(&o->ledger->deleted, 1);
}

static void create_block(struct owner *o, unsigned slot, bool sync)
{
	uint32_t id = o->next_id++;
	char folder[512];
	bool made;

	o->rbw[slot] = torture_random(&o->random) % 4 == 0;
	folder_of(o, id, o->rbw[slot], folder, sizeof(folder));
	made = make_folder(folder);
	note(o, slot, (uint64_t)id << 32);
	if (made && write_version(o, id, 0, o->rbw[slot], sync))
		return;
	if (errno != ENOSPC)
		die("writing a block");
	delete_block(o, slot);
	delete_block(o, (unsigned)(torture_random(&o->random) % TORTURE_SLOTS));
	sync_folder(o, id, !made || o->rbw[slot]);
}

static bool rename_block(struct owner *o, unsigned slot, unsigned version, bool rbw)
{
	uint64_t was = atomic_load(&o->ledger->slots[slot]);
	uint32_t id = (uint32_t)(was >> 32);
	char from[600], to[600], meta[600], folder[512];

	folder_of(o, id, rbw, folder, sizeof(folder));
	if (!make_folder(folder))
		return false;
	meta_path(o, id, (uint32_t)was, o->rbw[slot], from, sizeof(from));
	meta_path(o, id, version, rbw, meta, sizeof(meta));
	if (strcmp(from, meta) && rename(from, meta) < 0)
		return false;
	data_path(o, id, o->rbw[slot], from, sizeof(from));
	data_path(o, id, rbw, to, sizeof(to));
	if (strcmp(from, to) && rename(from, to) < 0) {
		int error = errno;

		unlink(meta); /* delete_block() would look for the old name */
		errno = error;
		return false;
	}
	o->rbw[slot] = rbw;
	note(o, slot, (uint64_t)id << 32 | version);
	return true;
}

static void next_version(struct owner *o, unsigned slot, bool sync)
{
	uint64_t was = atomic_load(&o->ledger->slots[slot]);
	unsigned version = (uint32_t)was + 1;

	if (!cut_block(o, slot) ||
	    !rename_block(o, slot, version, torture_random(&o->random) & 1) ||
	    !write_version(o, (uint32_t)(was >> 32), version, o->rbw[slot], sync)) {
		if (errno != ENOSPC)
			die("the next version of a block");
		delete_block(o, slot);
	}
}

static void move_block(struct owner *o, unsigned slot)
{
	uint32_t version = (uint32_t)atomic_load(&o->ledger->slots[slot]);

	if (rename_block(o, slot, version, !o->rbw[slot]))
		return;
	if (errno != ENOSPC)
		die("moving a block");
	delete_block(o, slot);
}

static void step(struct owner *o)
{
	unsigned slot = (unsigned)(torture_random(&o->random) % TORTURE_SLOTS);
	uint64_t is = atomic_load(&o->ledger->slots[slot]), r = torture_random(&o->random) % 100;
	bool sync = torture_random(&o->random) % 4 != 0;

	if (!is)
		create_block(o, slot, sync);
	else if (r < 15 && (uint32_t)is + 1 < TORTURE_VERSIONS)
		next_version(o, slot, sync);
	else if (r < 25)
		move_block(o, slot);
	else
		delete_block(o, slot);
	if (torture_random(&o->random) % 16 == 0)
		sync_folder(o, o->next_id, true);
	atomic_fetch_add(&o->ledger->operations, 1);
}

void torture_own(struct torture_ledger *ledger, const char *mount_point, uint64_t seed,
		 const atomic_bool *stop)
{
	struct owner *o = calloc(1, sizeof(*o));

	if (!o)
		die("starting");
	crc_table_init(&o->crc, CRC32C_POLYNOMIAL);
	o->ledger = ledger;
	o->mount_point = mount_point;
	o->random = torture_mix(seed);
	o->next_id = 1;
	while (!atomic_load(stop))
		step(o);
	free(o);
}
