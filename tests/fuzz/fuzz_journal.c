// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes the readers of a jbd2 journal that the input describes: superblocks of all kinds,
 * descriptors, copies, revokes and commit blocks in any order, some written after the journal was
 * loaded.  This reaches jbd2.c, journal_log.c and journal.c of parser/fs/.
 *
 * The bytes that are read must be right: replay(), which is simpler than the code under test, says
 * what each block must hold.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "parser/fs/journal.h"
#include "log_sums.h"
#include "memory.h"

#define BLOCK 1024U
#define HOME_BLOCKS 64U /* of the file system, numbered from 0; the log follows */
#define LOG_BLOCKS 256U
#define MAGIC 0xc03b3998U
#define UUID "11111111-2222-3333-4444-555555555555"

static struct memory memory;
static struct volume *volume;
static struct fs *fs;

/* Nobody writes at the same time, so waiting is useless. */
int usleep(useconds_t us)
{
	(void)us;
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	memory_new(&memory, (HOME_BLOCKS + LOG_BLOCKS) * BLOCK);
	for (unsigned i = 0; i < HOME_BLOCKS; i++)
		memset(memory.pristine + i * BLOCK, (int)(i + 128), BLOCK);
	memcpy(memory.bytes, memory.pristine, memory.size);
	check(volume_new_range(memory.image, 0, memory.size, &volume) == 0);
	check(fs_new(volume, "ext4", UUID, &fs) == 0);
	return 0;
}

/* ---- the log, as the input says ---------------------------------------------------- */

struct assembler {
	struct bytes in;
	uint32_t pos, id;
	bool wide, wide_sums, narrow_sums;
};

static uint8_t *log_block(void *ctx, uint32_t n)
{
	(void)ctx;
	return memory_touch(&memory, (HOME_BLOCKS + n % LOG_BLOCKS) * BLOCK, BLOCK);
}

static void put32(uint8_t *to, uint32_t value)
{
	value = htobe32(value);
	memcpy(to, &value, sizeof(value));
}

static uint8_t *next_block(struct assembler *a)
{
	uint8_t *block = log_block(NULL, a->pos);

	a->pos = a->pos + 1 >= LOG_BLOCKS ? 1 : a->pos + 1;
	return block;
}

static uint8_t *begin_block(struct assembler *a, uint32_t kind)
{
	uint8_t *block = next_block(a);

	memset(block, 0, BLOCK);
	put32(block, MAGIC);
	put32(block + 4, kind);
	put32(block + 8, a->id);
	return block;
}

static size_t put_tag(struct assembler *a, uint8_t *tag, uint32_t number, uint32_t flags)
{
	size_t size = a->wide_sums ? 16 : 8u + (a->wide ? 4 : 0) + (a->narrow_sums ? 2 : 0);

	put32(tag, number);
	if (a->wide_sums)
		put32(tag + 4, flags);
	else
		tag[6] = (uint8_t)(flags >> 8), tag[7] = (uint8_t)flags;
	return size + (flags & 2 ? 0 : 16);
}

struct tag {
	uint8_t number, flags, content;
};

/* Returns the next tag of the input or, in a long row, the one that follows the last. */
static struct tag next_tag(struct assembler *a, bool row, struct tag last)
{
	if (row)
		return (struct tag){(uint8_t)(last.number + 1), 0, (uint8_t)(last.content + 1)};
	return (struct tag){take8(&a->in), take8(&a->in) & 0x1b, take8(&a->in)};
}

/* Adds tags, as many as fit or fewer, and after the descriptor their copies. */
static void add_descriptor(struct assembler *a)
{
	uint8_t *block = begin_block(a, JBD2_DESCRIPTOR), *at = block + 12;
	unsigned count = take8(&a->in) % 128 + 1u;
	struct tag tag = {0};

	for (unsigned i = 0; i < count && at + 32 <= block + BLOCK; i++) {
		uint8_t *copy = next_block(a);
		uint32_t flags;

		tag = next_tag(a, i >= 4, tag);
		flags = (tag.flags | (i + 1 == count ? 8 : 0)) ^ (i ? 2 : 0);
		memset(copy, tag.content, BLOCK);
		if (flags & 1)
			put32(copy, 0);
		at += put_tag(a, at, tag.number % (HOME_BLOCKS + 4), flags);
	}
}

static void add_revokes(struct assembler *a)
{
	uint8_t *block = begin_block(a, JBD2_REVOKE);
	unsigned count = take8(&a->in), size = a->wide ? 8 : 4, number = 0;

	put32(block + 12, 16 + count * size + (take8(&a->in) == 1));
	for (unsigned i = 0; i < count && 16 + (i + 1) * size <= BLOCK; i++) {
		number = i < 8 ? take8(&a->in) : number + 1;
		put32(block + 16 + i * size + (a->wide ? 4 : 0), number % HOME_BLOCKS);
	}
}

static void add_bytes(struct assembler *a)
{
	uint32_t offset = take16(&a->in) % BLOCK, length = take8(&a->in) % 32u;
	uint8_t *block = log_block(NULL, a->pos);

	for (uint32_t i = 0; i < length && offset + i < BLOCK; i++)
		block[offset + i] = take8(&a->in);
}

enum { DESCRIPTOR, REVOKES, COMMIT, BYTES, SEEK, ID, SUPER, END_OF_MOMENT };

/* Writes the log until the moment ends. */
static void assemble(struct assembler *a)
{
	while (a->in.left) {
		switch (take8(&a->in) % 8) {
		case DESCRIPTOR:
			add_descriptor(a);
			break;
		case REVOKES:
			add_revokes(a);
			break;
		case COMMIT:
			begin_block(a, JBD2_COMMIT);
			a->id++;
			break;
		case BYTES:
			add_bytes(a);
			break;
		case SEEK:
			a->pos = take8(&a->in);
			break;
		case ID:
			a->id += (uint32_t)(int8_t)take8(&a->in);
			break;
		case SUPER: /* changes one of its numbers: id, start, any */
			put32(log_block(NULL, 0) + 4u * (take8(&a->in) % 64), take8(&a->in));
			break;
		case END_OF_MOMENT:
			return;
		}
	}
}

static void begin_log(struct assembler *a)
{
	static const uint32_t kinds[] = {0, 8, 16, 8 | 16};
	uint8_t what = take8(&a->in), *super = log_block(NULL, 0);
	uint32_t sums = kinds[what % 4 % (what & 0x80 ? 4 : 3)];

	a->wide = what & 4;
	a->wide_sums = sums & 16;
	a->narrow_sums = sums & 8;
	a->pos = take8(&a->in);
	a->id = take8(&a->in) - 4u;
	put32(super, MAGIC);
	put32(super + 4, what & 64 ? 3 : 4);
	put32(super + 12, BLOCK);
	put32(super + 16, LOG_BLOCKS);
	put32(super + 20, 1);
	put32(super + 24, a->id);
	put32(super + 28, a->pos);
	put32(super + 36, what & 8 ? 1 : 0);
	put32(super + 40, 1 | (a->wide ? 2 : 0) | sums | (what & 16 ? 32 : 0));
	super[80] = 4;
	if (a->pos == 0)
		a->pos = 1;
}

/* ---- what blocks hold ------------------------------------------------------------ */

struct expected {
	uint32_t pos[HOME_BLOCKS]; /* of the copy in the log; 0: none */
	bool escaped[HOME_BLOCKS];
};

struct pending {
	struct expected now;
	bool tagged[HOME_BLOCKS], revoked[HOME_BLOCKS];
};

static void commit(struct expected *e, struct pending *t)
{
	for (unsigned i = 0; i < HOME_BLOCKS; i++) {
		if (t->tagged[i]) {
			e->pos[i] = t->now.pos[i];
			e->escaped[i] = t->now.escaped[i];
		}
		if (t->revoked[i])
			e->pos[i] = 0;
	}
	memset(t, 0, sizeof(*t));
}

static uint32_t get32(const uint8_t *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return be32toh(value);
}

static uint32_t after(const struct jbd2_super *s, uint32_t pos)
{
	return pos + 1 == s->end ? s->first : pos + 1;
}

static void replay_revokes(const struct jbd2_super *s, const uint8_t *block, struct pending *t)
{
	uint32_t size = s->wide ? 8 : 4, end = get32(block + 12);
	uint32_t room = BLOCK - (s->tag_sums ? 4 : 0);

	for (uint32_t at = 16; at + size <= end && at + size <= room; at += size)
		if ((!s->wide || get32(block + at) == 0) &&
		    get32(block + at + size - 4) < HOME_BLOCKS)
			t->revoked[get32(block + at + size - 4)] = true;
}

/* Returns the position after the copies. */
static uint32_t replay_tags(const struct jbd2_super *s, const uint8_t *block, uint32_t pos,
			    struct pending *t)
{
	uint32_t size = s->wide_tag_sums ? 16 : 8 + (s->wide ? 4 : 0) + (s->tag_sums ? 2 : 0);
	uint32_t room = BLOCK - (s->tag_sums ? 4 : 0), flags = 0;

	for (uint32_t at = 12; !(flags & 8) && at + size <= room;) {
		uint32_t number = get32(block + at);

		flags = s->wide_tag_sums ? get32(block + at + 4) : get32(block + at + 4) & 0xffff;
		if (number < HOME_BLOCKS && (!s->wide || get32(block + at + 8) == 0)) {
			t->tagged[number] = true;
			t->now.pos[number] = pos;
			t->now.escaped[number] = flags & 1;
		}
		pos = after(s, pos);
		at += size + (flags & 2 ? 0 : 16);
	}
	return pos;
}

/* journal_refresh() succeeded, so the log holds whole transactions up to its end. */
static void replay(const struct jbd2_super *s, struct expected *ret)
{
	struct pending t = {0};
	uint32_t pos = s->tail_pos, id = s->tail;

	memset(ret, 0, sizeof(*ret));
	while (pos) {
		const uint8_t *block = log_block(NULL, pos);

		if (get32(block) != MAGIC || get32(block + 8) != id)
			return;
		pos = after(s, pos);
		switch (get32(block + 4)) {
		case JBD2_COMMIT:
			commit(ret, &t);
			id++;
			break;
		case JBD2_REVOKE:
			replay_revokes(s, block, &t);
			break;
		case JBD2_DESCRIPTOR:
			pos = replay_tags(s, block, pos, &t);
			break;
		default:
			return;
		}
	}
}

static void check_block(const struct expected *e, unsigned n, const uint8_t *found)
{
	uint8_t right[BLOCK];

	memcpy(right, e->pos[n] ? log_block(NULL, e->pos[n]) : memory.pristine + n * BLOCK, BLOCK);
	if (e->pos[n] && e->escaped[n])
		put32(right, MAGIC);
	check(!memcmp(right, found, BLOCK));
}

/* Reads all blocks.  Compares them with right, unless right is NULL. */
static void read_blocks(struct journal *j, const struct journal_mark *mark,
			const struct expected *right)
{
	struct journal_copy copies[HOME_BLOCKS + 4];
	uint64_t numbers[HOME_BLOCKS + 4];
	size_t count = 0;

	for (unsigned n = 0; n < HOME_BLOCKS + 4; n++) {
		struct journal_copy *c = &copies[count];

		if (journal_read(j, fs, n, BLOCK, c) < 0)
			continue;
		if (right && n < HOME_BLOCKS)
			check_block(right, n, c->content->data);
		check(c->content->block == n);
		numbers[count++] = n;
		(void)journal_covers(j, n * BLOCK, BLOCK);
	}
	(void)journal_unchanged(j, mark, numbers, count);
	(void)journal_confirm(j, mark, copies, count);
	for (size_t i = 0; i < count; i++)
		meta_block_put(copies[i].content);
}

static bool load(struct journal *j)
{
	struct fs_file file = {
		.size = LOG_BLOCKS * BLOCK,
		.num_extents = 1,
		.extents = malloc(sizeof(struct fs_extent)),
	};
	const char *reason = NULL;

	check(file.extents);
	file.extents[0] = (struct fs_extent){0, HOME_BLOCKS * BLOCK, LOG_BLOCKS * BLOCK};
	if (journal_load(j, fs, &file, BLOCK, 0, &reason) == 0)
		return true;
	check(reason);
	return false;
}

/* Reads the log with a journal that has not seen it before. */
static void see_fresh(void)
{
	struct journal *j = journal_new();
	struct expected right;
	struct jbd2_super super;
	struct journal_mark mark;
	const char *reason;
	bool idle;
	int r = -EAGAIN;

	check(j);
	if (load(j)) {
		r = journal_refresh(j, &mark, NULL, &idle, &reason);
		check(r == 0 || r == -EAGAIN); /* a log that was loaded can be read everywhere */
	}
	if (r == 0) {
		check(jbd2_super_parse(log_block(NULL, 0), BLOCK, &super, &reason) == 0);
		replay(&super, &right);
		read_blocks(j, &mark, &right);
	}
	journal_free(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct log_bytes log = {BLOCK, LOG_BLOCKS, NULL, log_block, NULL};
	struct assembler a = {.in = {data, size}};
	struct journal *j = journal_new();
	bool sums = take8(&a.in) % 8 != 7, loaded, idle;
	struct journal_mark mark;
	const char *reason;

	check(j);
	begin_log(&a);
	assemble(&a);
	if (sums)
		log_fix_sums(&log);
	loaded = load(j);
	for (unsigned moment = 0; moment < 4; moment++) {
		if (loaded && journal_refresh(j, &mark, NULL, &idle, &reason) == 0)
			read_blocks(j, &mark, NULL);
		see_fresh();
		if (a.in.left == 0)
			break;
		assemble(&a);
		if (sums)
			log_fix_sums(&log);
	}
	journal_free(j);
	memory_restore(&memory);
	return 0;
}
