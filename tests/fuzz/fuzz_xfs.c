// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes the readers of a mounted XFS: all of parser/fs/xfs*.c, from the superblock and the log's
 * records to directories and extent trees.  The file system also changes while a view is open and
 * after the view was confirmed.
 *
 * The input: one byte for the file system, one that says if checksums stay wrong, then changes.  A
 * change is one byte for moment, kind and length, 2 bytes for the place, 2 for the offset in it,
 * and up to 16 bytes.  Places are the sectors that hold metadata: sectors with a magic number of
 * metadata, and the log's records from its tail on.  A change can also name a spot in them: the
 * beginning of a name, of a fork, or of the header of an operation in a record, which is 12 bytes
 * before the operation's region.  A region can also be made longer: the bytes after it move, into
 * the zeros at the record's end.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <isa-l/crc.h>
#include <uuid/uuid.h>

#include "parser/fs/fs_impl.h"
#include "parser/fs/xfs_find_head.h"
#include "parser/fs/xfs_format.h"
#include "parser/fs/xfs_record.h"
#include "memory.h"
#include "tour.h"

#define MAX_PLACES 2048U
#define MAX_RECORDS 256U
#define AT_SUPER_SUM 224U
#define AT_RECORD_SUM 32U
#define SUMMED_FIRST 328U
#define SUMMED_MORE 260U
#define RECORD_STEP 32768U /* bytes of a record for each of its headers */
#define MAX_OPERATIONS 16384U
#define OPERATION_BYTES 12U
#define AT_OPERATION_LENGTH 4U
/* The place in headers of the first 4 bytes of each sector. */
#define AT_WORDS 44U
#define AT_MORE_WORDS 4U
#define WORD_BYTES 4U

#define MAX_SPOTS 16384U
#define SPOT_BYTES 16U
#define SHORT_HEADER 6U
#define SHORT_HEADER_WIDE 10U
#define UNUSED_TAG 0xffffU

enum change_kind { CHANGE_PLACE, CHANGE_OPERATION, CHANGE_LENGTH, CHANGE_SPOT, NUM_CHANGES };

struct place {
	uint64_t offset; /* of the structure that has the checksum */
	uint32_t sector; /* of this place in the structure */
	uint32_t size, sum_at;
	uint32_t record; /* 0: not in the log; else 1 + the record's number */
	bool changed;
};

struct operation {
	uint32_t record; /* number of the record */
	uint32_t at;     /* in the record's content */
};

/* The beginning of a part in a structure. */
struct spot {
	unsigned place; /* number of the structure's first place */
	uint32_t at;
};

static const char *const names[] = {"xfs-4k.img", "xfs-1k.img"};
#define NUM_BASES (sizeof(names) / sizeof(names[0]))

static struct xfs_base {
	struct memory memory;
	char uuid[40];
	struct xfs_super super;
	unsigned num_places, num_records, num_operations, num_spots;
	struct place places[MAX_PLACES];
	struct xfs_record records[MAX_RECORDS];
	unsigned place_of[MAX_RECORDS];
	struct operation operations[MAX_OPERATIONS];
	struct spot spots[MAX_SPOTS];
} bases[NUM_BASES];

/* Nobody writes at the same time, so waiting is useless. */
int usleep(useconds_t us)
{
	(void)us;
	return 0;
}

/* ---- places ----------------------------------------------------------------------- */

static void add_places(struct xfs_base *b, uint64_t offset, uint32_t size, uint32_t sum_at)
{
	for (uint32_t at = 0; at < size && b->num_places < MAX_PLACES; at += XFS_BASIC_BLOCK)
		b->places[b->num_places++] = (struct place){offset, at, size, sum_at, 0, false};
}

static void add_spot(struct xfs_base *b, unsigned place, uint32_t at)
{
	if (b->num_spots < MAX_SPOTS && place < b->num_places && at < b->places[place].size)
		b->spots[b->num_spots++] = (struct spot){place, at};
}

/* Adds the core, the fork, and the names of a small directory.  Skips empty files: there are many,
 * and they are not worth as many tries. */
static void add_inode_spots(struct xfs_base *b, unsigned place, const uint8_t *inode)
{
	const uint8_t *fork = inode + XFS_INODE_CORE_BYTES;
	uint32_t at = fork[1] ? SHORT_HEADER_WIDE : SHORT_HEADER;
	unsigned count = fork[1] ? fork[1] : fork[0];

	if (xfs_get64(inode + XFS_INODE_SIZE) == 0)
		return;
	add_spot(b, place, 0);
	add_spot(b, place, XFS_INODE_SIZE);
	add_spot(b, place, XFS_INODE_EXTENTS);
	add_spot(b, place, XFS_INODE_CORE_BYTES);
	if (!S_ISDIR(xfs_get16(inode + XFS_INODE_MODE)) ||
	    inode[XFS_INODE_FORMAT] != XFS_FORK_LOCAL)
		return;
	for (unsigned i = 0; i < count && XFS_INODE_CORE_BYTES + at < b->super.inode_size; i++) {
		add_spot(b, place, XFS_INODE_CORE_BYTES + at);
		at += 3u + fork[at] + 1 + (fork[1] ? 8 : 4);
	}
}

static void add_name_spots(struct xfs_base *b, unsigned place, const uint8_t *block)
{
	uint32_t size = b->super.dir_block_size, at = XFS_DIR_HEADER;

	add_spot(b, place, 0);
	add_spot(b, place, size - 8); /* the count of its index, if it has one */
	while (at + 16 <= size) {
		bool unused = xfs_get16(block + at) == UNUSED_TAG;
		uint32_t whole = unused ? xfs_get16(block + at + 2) : (block[at + 8] + 19u) / 8 * 8;

		add_spot(b, place, at);
		at += whole ? whole : size;
	}
}

static void add_metadata(struct xfs_base *b)
{
	const struct xfs_super *s = &b->super;
	uint64_t log_end = s->log_offset + (uint64_t)s->log_sectors * XFS_BASIC_BLOCK;

	add_places(b, 0, s->sector_size, AT_SUPER_SUM);
	for (uint64_t at = s->block_size; at < b->memory.size; at += XFS_BASIC_BLOCK) {
		const uint8_t *bytes = b->memory.bytes + at;
		uint32_t magic = xfs_get32(bytes);
		unsigned place = b->num_places;

		if (at >= s->log_offset && at < log_end)
			continue;
		if (xfs_get16(bytes) == XFS_INODE_MAGIC && bytes[XFS_INODE_VERSION] == 3 &&
		    xfs_get16(bytes + XFS_INODE_MODE)) {
			add_places(b, at, s->inode_size, XFS_INODE_SUM);
			add_inode_spots(b, place, bytes);
		} else if (magic == XFS_DIR_BLOCK_MAGIC || magic == XFS_DIR_DATA_MAGIC) {
			add_places(b, at, s->dir_block_size, XFS_DIR_SUM);
			add_name_spots(b, place, bytes);
		} else if (magic == XFS_TREE_MAGIC) {
			add_places(b, at, s->block_size, XFS_TREE_SUM);
			add_spot(b, place, 0);
			add_spot(b, place, XFS_TREE_HEADER);
		}
	}
}

static uint64_t log_offset(const struct xfs_base *b, uint32_t sector)
{
	return b->super.log_offset + (uint64_t)sector % b->super.log_sectors * XFS_BASIC_BLOCK;
}

static uint32_t record_sectors(const struct xfs_record *r)
{
	return (r->header_bytes + r->length + XFS_BASIC_BLOCK - 1) / XFS_BASIC_BLOCK;
}

static void add_operations(struct xfs_base *b, const struct xfs_record *r, const uint8_t *data)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < r->operations && b->num_operations < MAX_OPERATIONS; i++) {
		const uint8_t *header = data + r->header_bytes + at;

		check(at + OPERATION_BYTES <= r->length);
		b->operations[b->num_operations++] = (struct operation){b->num_records, at};
		at += OPERATION_BYTES + xfs_get32(header + AT_OPERATION_LENGTH);
	}
}

static void add_record(struct xfs_base *b, const struct xfs_record *r)
{
	b->place_of[b->num_records] = b->num_places;
	b->records[b->num_records++] = *r;
	for (uint32_t i = 0; i < record_sectors(r) && b->num_places < MAX_PLACES; i++)
		b->places[b->num_places++] = (struct place){log_offset(b, r->at.sector + i),
							    0,
							    XFS_BASIC_BLOCK,
							    0,
							    b->num_records,
							    false};
}

/* Adds the log's records from the tail to the end. */
static void add_log(struct xfs_base *b, struct fs *fs)
{
	uint8_t *data = malloc(XFS_RECORD_MAX_BYTES);
	struct xfs_record r;
	struct xfs_place at;
	const char *reason;

	check(data && xfs_find_record(fs, &b->super, data, &r, &reason) == 0);
	at = r.tail;
	while (b->num_records < MAX_RECORDS && b->num_places < MAX_PLACES &&
	       xfs_record_read(fs, &b->super, at, data, &r) == XFS_FOUND_RECORD) {
		add_operations(b, &r, data);
		add_record(b, &r);
		at = r.next;
	}
	check(b->num_records);
	free(data);
}

static void load(struct xfs_base *b, const char *name)
{
	struct volume *volume;
	const char *reason;
	struct fs *fs;

	memory_load(&b->memory, name);
	check(xfs_super_parse(b->memory.bytes, XFS_MAX_SECTOR, b->memory.size, &b->super,
			      &reason) == 0);
	uuid_unparse_lower(b->super.uuid, b->uuid);
	check(volume_new_range(b->memory.image, 0, b->memory.size, &volume) == 0);
	check(fs_new(volume, "xfs", b->uuid, &fs) == 0);
	add_metadata(b);
	add_log(b, fs);
	check(b->num_spots && b->num_operations);
	fs_free(fs);
	volume_free(volume);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	for (unsigned i = 0; i < NUM_BASES; i++)
		load(&bases[i], names[i]);
	return 0;
}

/* ---- checksums ----------------------------------------------------------------- */

static void put_sum(uint8_t *to, uint32_t sum)
{
	sum = htole32(~sum);
	memcpy(to, &sum, sizeof(sum));
}

static void fix_structure(struct xfs_base *b, const struct place *p)
{
	uint8_t *bytes = memory_touch(&b->memory, p->offset, p->size);

	if (!bytes)
		return;
	memset(bytes + p->sum_at, 0, 4);
	put_sum(bytes + p->sum_at, crc32_iscsi(bytes, (int)p->size, UINT32_MAX));
}

/* Corrects the sum of a record as it lies in the log, with the lengths that its header has now. */
static void fix_record(struct xfs_base *b, const struct xfs_record *was)
{
	uint8_t *header = memory_touch(&b->memory, log_offset(b, was->at.sector), XFS_BASIC_BLOCK);
	struct xfs_record r;
	uint32_t sum, length;

	check(header);
	if (!xfs_record_parse(&b->super, header, was->at, &r))
		return;
	memset(header + AT_RECORD_SUM, 0, 4);
	sum = crc32_iscsi(header, SUMMED_FIRST, UINT32_MAX);
	for (uint32_t i = 1; i < (r.length + RECORD_STEP - 1) / RECORD_STEP; i++)
		sum = crc32_iscsi(b->memory.bytes + log_offset(b, r.at.sector + i), SUMMED_MORE,
				  sum);
	length = r.length;
	for (uint32_t i = r.header_bytes / XFS_BASIC_BLOCK; length; i++) {
		uint32_t n = length < XFS_BASIC_BLOCK ? length : XFS_BASIC_BLOCK;

		sum = crc32_iscsi(b->memory.bytes + log_offset(b, r.at.sector + i), (int)n, sum);
		length -= n;
	}
	put_sum(header + AT_RECORD_SUM, sum);
}

static void fix_sums(struct xfs_base *b)
{
	for (unsigned i = 0; i < b->num_places; i++) {
		struct place *p = &b->places[i];

		if (p->changed && p->record)
			fix_record(b, &b->records[p->record - 1]);
		else if (p->changed)
			fix_structure(b, p);
		p->changed = false;
	}
}

/* ---- changes ------------------------------------------------------------------ */

/* True for a sector's cycle, with which sectors of a record begin.  The header has these bytes. */
static bool is_cycle(const struct place *p, uint32_t offset)
{
	return p->record && offset < 4;
}

static void change_place(struct xfs_base *b, struct place *p, uint32_t offset, const uint8_t *bytes,
			 uint32_t length, bool sums)
{
	uint8_t *to = memory_touch(&b->memory, p->offset + p->sector, XFS_BASIC_BLOCK);

	offset %= XFS_BASIC_BLOCK;
	for (uint32_t i = 0; to && i < length && offset + i < XFS_BASIC_BLOCK; i++)
		if (!sums || !is_cycle(p, offset + i))
			to[offset + i] = bytes[i];
	p->changed = true;
}

static void change_spot(struct xfs_base *b, const struct spot *s, uint32_t offset,
			const uint8_t *bytes, uint32_t length)
{
	struct place *p = &b->places[s->place];
	uint32_t at = s->at + offset % SPOT_BYTES;
	uint8_t *to;

	if (at + length > p->size)
		return;
	to = memory_touch(&b->memory, p->offset + at, length);
	if (to)
		memcpy(to, bytes, length);
	p->changed = true;
}

/* Copies one sector of a record's content to flat, or back from flat.  The header holds the bytes
 * whose place the cycle takes. */
static void copy_sector(struct xfs_base *b, const struct xfs_record *r, uint32_t number,
			uint8_t *flat, bool back)
{
	uint32_t of_header = RECORD_STEP / XFS_BASIC_BLOCK;
	uint32_t header = number / of_header, word = number % of_header * WORD_BYTES;
	uint8_t *words =
		memory_touch(&b->memory, log_offset(b, r->at.sector + header), XFS_BASIC_BLOCK) +
		(header ? AT_MORE_WORDS : AT_WORDS) + word;
	uint8_t *sector =
		memory_touch(&b->memory,
			     log_offset(b,
					r->at.sector + r->header_bytes / XFS_BASIC_BLOCK + number),
			     XFS_BASIC_BLOCK);

	if (back) {
		memcpy(words, flat, WORD_BYTES);
		memcpy(sector + WORD_BYTES, flat + WORD_BYTES, XFS_BASIC_BLOCK - WORD_BYTES);
	} else {
		memcpy(flat, words, WORD_BYTES);
		memcpy(flat + WORD_BYTES, sector + WORD_BYTES, XFS_BASIC_BLOCK - WORD_BYTES);
	}
}

/* Copies the sectors that hold [from, to). */
static void copy_content(struct xfs_base *b, const struct xfs_record *r, uint32_t from, uint32_t to,
			 uint8_t *flat, bool back)
{
	for (uint32_t i = from / XFS_BASIC_BLOCK; i * XFS_BASIC_BLOCK < to; i++)
		copy_sector(b, r, i, flat + (size_t)i * XFS_BASIC_BLOCK, back);
}

/* Adds more bytes to the end of a region: repetitions of the given bytes. */
static void lengthen(const struct xfs_record *r, uint8_t *flat, uint32_t at, uint32_t more,
		     const uint8_t *bytes, uint32_t length)
{
	uint32_t had = xfs_get32(flat + at + AT_OPERATION_LENGTH);
	uint64_t end = (uint64_t)at + OPERATION_BYTES + had;

	if (end + more > r->length)
		return;
	memmove(flat + end + more, flat + end, r->length - end - more);
	for (uint32_t i = 0; i < more; i++)
		flat[end + i] = bytes[i % length];
	had = htobe32(had + more);
	memcpy(flat + at + AT_OPERATION_LENGTH, &had, sizeof(had));
}

static void change_operation(struct xfs_base *b, const struct operation *o, uint32_t offset,
			     const uint8_t *bytes, uint32_t length, enum change_kind kind)
{
	const struct xfs_record *r = &b->records[o->record];
	uint32_t from = kind == CHANGE_LENGTH ? o->at : o->at + offset % XFS_BASIC_BLOCK;
	uint32_t to = kind == CHANGE_LENGTH ? r->length : from + length;
	uint8_t *flat;

	if (to > r->length)
		return;
	flat = calloc(1, r->length + XFS_BASIC_BLOCK);
	check(flat);
	copy_content(b, r, from, to, flat, false);
	if (kind == CHANGE_LENGTH)
		lengthen(r, flat, o->at, offset % XFS_BASIC_BLOCK, bytes, length);
	else
		memcpy(flat + from, bytes, length);
	copy_content(b, r, from, to, flat, true);
	free(flat);
	b->places[b->place_of[o->record]].changed = true;
}

static void change(struct xfs_base *b, struct bytes in, bool sums, unsigned moment)
{
	while (in.left) {
		uint8_t how = take8(&in), bytes[16];
		uint32_t where = take16(&in), offset = take16(&in), length = how % 16 + 1u;
		enum change_kind kind = how / 16 % NUM_CHANGES;

		for (uint32_t i = 0; i < length; i++)
			bytes[i] = take8(&in);
		if (how / 64 % 3 != moment)
			continue;
		if (kind == CHANGE_PLACE)
			change_place(b, &b->places[where % b->num_places], offset, bytes, length,
				     sums);
		else if (kind == CHANGE_SPOT)
			change_spot(b, &b->spots[where % b->num_spots], offset, bytes, length);
		else
			change_operation(b, &b->operations[where % b->num_operations], offset,
					 bytes, length, kind);
	}
	if (sums)
		fix_sums(b);
}

static void question(struct fs *fs, struct xfs_base *b, struct bytes changes, bool sums)
{
	struct fs_basis *basis = NULL;
	const char *reason = NULL;
	struct fs_view *view;

	if (fs_view_open(fs, &view, &reason) < 0) {
		check(reason);
		return;
	}
	change(b, changes, sums, 1);
	tour(fs, view);
	if (fs_view_confirm(view, &basis, NULL) == 0) {
		(void)fs_basis_check(fs, basis, NULL);
		change(b, changes, sums, 2);
		(void)fs_basis_check(fs, basis, NULL);
		fs_basis_free(basis);
	}
	fs_view_close(view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = {data, size};
	struct xfs_base *b = &bases[take8(&in) % NUM_BASES];
	bool sums = take8(&in) % 4 != 3;
	const char *reason = NULL;
	struct volume *volume;
	struct fs *fs;

	check(volume_new_range(b->memory.image, 0, b->memory.size, &volume) == 0);
	check(fs_new(volume, "xfs", b->uuid, &fs) == 0);
	change(b, in, sums, 0);
	if (fs_state(fs, &reason) >= FS_REFUSED)
		check(reason);
	question(fs, b, in, sums);
	question(fs, b, in, sums); /* with what fs knows of the log now */
	fs_free(fs);
	volume_free(volume);
	memory_restore(&b->memory);
	for (unsigned i = 0; i < b->num_places; i++)
		b->places[i].changed = false;
	return 0;
}
