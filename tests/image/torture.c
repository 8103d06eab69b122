// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * torture: one owner writes into a mounted file system as a datanode does, at full
 * speed, while readers read its blocks out of the image.
 *
 *   torture IMAGE MOUNT-POINT SECONDS READERS SEED
 *
 * Every 16 bytes of a block say which block they are of, under which generation
 * stamp they were written, and where they belong; what should stand at a place
 * follows from the numbers of block and stamp alone.  So each read is judged by
 * itself:
 *
 *   right   as the stamp asked for has it
 *   ahead   as a later stamp of the same block has it: its owner rewrote the
 *           place and has not committed the new stamp yet.  HDFS reads the same.
 *   wrong   anything else
 *
 * Prints counts as JSON; exit status 1 if anything was wrong.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "block/block.h"
#include "block/crc_table.h"
#include "block/store.h"
#include "policy/policy.h"

#define POOL "BP-1-127.0.0.1-1"
#define SLOTS 48U
#define VERSIONS 6U
#define UNIT 16U
#define CHUNK 512U
#define MAX_BLOCK (512U << 10)
#define FIRST_STAMP 1001U
#define HANDLES 8U
#define MAX_ERRORS 140

struct unit {
	uint32_t id, stamp;
	uint64_t offset;
};

/* What is there, for readers to ask for: id in the upper half, version in the lower. */
static _Atomic(uint64_t) slots[SLOTS];
static _Atomic(uint64_t) rights, aheads, wrongs, opens, owner_ops, recycled;
static _Atomic(uint64_t) open_errors[MAX_ERRORS], read_errors[MAX_ERRORS];
static atomic_bool stop;
static struct block_store *store;
static struct policy *policy;
static const char *mount_point;
static struct crc_table crc;

static void die(const char *what)
{
	fprintf(stderr, "torture: %s: %s\n", what, strerror(errno));
	exit(2);
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static uint64_t next_random(uint64_t *state)
{
	return mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

/* ---- what stands where ---------------------------------------------------------- */

struct shape {
	uint64_t cut;    /* bytes kept of the version before */
	uint64_t length; /* of this one */
};

static struct shape shape_of(uint32_t id, unsigned version)
{
	uint64_t h;
	struct shape s = {0, 8U << 10}; /* all alike: they fit each other's place */

	for (unsigned v = 1; v <= version; v++) {
		h = mix((uint64_t)id << 8 | v);
		s.cut = h & 1 ? s.length : UNIT * (h % (s.length / UNIT));
		s.length = s.cut + UNIT * (1 + (h >> 20) % 800);
	}
	return s;
}

static uint32_t stamp_at(uint32_t id, unsigned version, uint64_t offset)
{
	while (version > 0 && shape_of(id, version).cut > offset)
		version--;
	return FIRST_STAMP + version;
}

static struct unit unit_at(uint32_t id, unsigned version, uint64_t offset)
{
	return (struct unit){id, stamp_at(id, version, offset), offset};
}

/* ---- the owner --------------------------------------------------------------------- */

struct owner {
	uint64_t random;
	uint32_t next_id;
	bool rbw[SLOTS];
	uint8_t data[MAX_BLOCK], sums[MAX_BLOCK / CHUNK * 4];
};

static void folder_of(uint32_t id, bool rbw, char *ret, size_t size)
{
	if (rbw)
		snprintf(ret, size, "%s/data/current/" POOL "/current/rbw", mount_point);
	else
		snprintf(ret, size, "%s/data/current/" POOL "/current/finalized/subdir%u/subdir%u",
			 mount_point, id >> 16 & 31, id >> 8 & 31);
}

static void make_folder(const char *path)
{
	char parent[512];

	snprintf(parent, sizeof(parent), "%s", path);
	*strrchr(parent, '/') = '\0';
	mkdir(parent, 0755);
	mkdir(path, 0755);
}

static void data_path(uint32_t id, bool rbw, char *ret, size_t size)
{
	char folder[512];

	folder_of(id, rbw, folder, sizeof(folder));
	snprintf(ret, size, "%s/blk_%u", folder, id);
}

static void meta_path(uint32_t id, unsigned version, bool rbw, char *ret, size_t size)
{
	char folder[512];

	folder_of(id, rbw, folder, sizeof(folder));
	snprintf(ret, size, "%s/blk_%u_%u.meta", folder, id, FIRST_STAMP + version);
}

static void fill(struct owner *o, uint32_t id, unsigned version)
{
	struct shape s = shape_of(id, version);

	for (uint64_t at = 0; at < s.length; at += UNIT) {
		struct unit u = unit_at(id, version, at);

		memcpy(o->data + at, &u, UNIT);
	}
	for (uint64_t at = 0; at < s.length; at += CHUNK) {
		uint64_t n = s.length - at < CHUNK ? s.length - at : CHUNK;
		uint32_t sum = htobe32(crc_table_sum(&crc, o->data + at, n));

		memcpy(o->sums + at / CHUNK * 4, &sum, 4);
	}
}

static bool write_at(const char *path, const void *data, size_t length, uint64_t offset, bool sync)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	bool ok;

	if (fd < 0)
		return false;
	ok = pwrite(fd, data, length, (off_t)offset) == (ssize_t)length;
	if (ok && sync)
		ok = fsync(fd) == 0;
	close(fd);
	return ok;
}

/* Both files from byte `from` on, the way HDFS does: data, then its checksums. */
static bool write_version(struct owner *o, uint32_t id, unsigned version, bool rbw, bool sync)
{
	static const uint8_t header[7] = {0, 1, 2, 0, 0, 2, 0};
	struct shape s = shape_of(id, version);
	uint64_t first = s.cut / CHUNK;
	uint64_t sums = (s.length + CHUNK - 1) / CHUNK;
	char data[600], meta[600];

	fill(o, id, version);
	data_path(id, rbw, data, sizeof(data));
	meta_path(id, version, rbw, meta, sizeof(meta));
	if (version && (truncate(data, (off_t)s.cut) < 0 ||
			truncate(meta, (off_t)(7 + 4 * ((s.cut + CHUNK - 1) / CHUNK))) < 0))
		return false;
	return (version || write_at(meta, header, 7, 0, false)) &&
	       write_at(data, o->data + s.cut, s.length - s.cut, s.cut, sync) &&
	       write_at(meta, o->sums + first * 4, (sums - first) * 4, 7 + first * 4, sync);
}

static void sync_folder(uint32_t id, bool rbw)
{
	char folder[512];
	int fd;

	folder_of(id, rbw, folder, sizeof(folder));
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		die(folder);
	close(fd);
}

static void delete_block(struct owner *o, unsigned slot)
{
	uint64_t was = atomic_load(&slots[slot]);
	uint32_t id = (uint32_t)(was >> 32);
	char path[600];

	if (!was)
		return;
	data_path(id, o->rbw[slot], path, sizeof(path));
	unlink(path);
	meta_path(id, (uint32_t)was, o->rbw[slot], path, sizeof(path));
	unlink(path);
	atomic_store(&slots[slot], 0);
	atomic_fetch_add(&recycled, 1);
}

static void create_block(struct owner *o, unsigned slot, bool sync)
{
	uint32_t id = o->next_id++;
	char folder[512];

	o->rbw[slot] = next_random(&o->random) % 4 == 0;
	folder_of(id, o->rbw[slot], folder, sizeof(folder));
	make_folder(folder);
	atomic_store(&slots[slot], (uint64_t)id << 32);
	if (write_version(o, id, 0, o->rbw[slot], sync))
		return;
	if (errno != ENOSPC)
		die("writing a block");
	delete_block(o, slot);
	delete_block(o, (unsigned)(next_random(&o->random) % SLOTS));
	sync_folder(id, o->rbw[slot]);
}

static bool rename_block(struct owner *o, unsigned slot, unsigned version, bool rbw)
{
	uint64_t was = atomic_load(&slots[slot]);
	uint32_t id = (uint32_t)(was >> 32);
	char from[600], to[600], folder[512];

	folder_of(id, rbw, folder, sizeof(folder));
	make_folder(folder);
	meta_path(id, (uint32_t)was, o->rbw[slot], from, sizeof(from));
	meta_path(id, version, rbw, to, sizeof(to));
	if (strcmp(from, to) && rename(from, to) < 0)
		return false;
	data_path(id, o->rbw[slot], from, sizeof(from));
	data_path(id, rbw, to, sizeof(to));
	if (strcmp(from, to) && rename(from, to) < 0)
		return false;
	o->rbw[slot] = rbw;
	atomic_store(&slots[slot], (uint64_t)id << 32 | version);
	return true;
}

static void next_version(struct owner *o, unsigned slot, bool sync)
{
	uint64_t was = atomic_load(&slots[slot]);
	unsigned version = (uint32_t)was + 1;

	if (!rename_block(o, slot, version, next_random(&o->random) & 1) ||
	    !write_version(o, (uint32_t)(was >> 32), version, o->rbw[slot], sync)) {
		if (errno != ENOSPC)
			die("the next version of a block");
		delete_block(o, slot);
	}
}

static void *own(void *arg)
{
	struct owner *o = arg;

	while (!atomic_load(&stop)) {
		unsigned slot = (unsigned)(next_random(&o->random) % SLOTS);
		uint64_t is = atomic_load(&slots[slot]), r = next_random(&o->random) % 100;
		bool sync = next_random(&o->random) % 4 != 0;

		if (!is)
			create_block(o, slot, sync);
		else if (r < 15 && (uint32_t)is + 1 < VERSIONS)
			next_version(o, slot, sync);
		else if (r < 25 && !rename_block(o, slot, (uint32_t)is, !o->rbw[slot]))
			die("moving a block");
		else if (r >= 25)
			delete_block(o, slot);
		if (next_random(&o->random) % 16 == 0)
			sync_folder(o->next_id, true);
		atomic_fetch_add(&owner_ops, 1);
	}
	return NULL;
}

/* ---- readers --------------------------------------------------------------------------- */

struct open_block {
	struct block_handle *handle;
	uint32_t id;
	unsigned version;
	uint64_t length;
};

struct reader {
	uint64_t random;
	struct open_block blocks[HANDLES];
	uint8_t buffer[256U << 10];
};

static void judge(const struct open_block *b, uint64_t offset, const uint8_t *data, size_t length)
{
	for (size_t i = 0; i + UNIT <= length; i += UNIT) {
		struct unit got, want = unit_at(b->id, b->version, offset + i);
		bool ahead = false;

		memcpy(&got, data + i, sizeof(got));
		if (!memcmp(&got, &want, sizeof(got)))
			continue;
		for (unsigned v = b->version + 1; v < VERSIONS && !ahead; v++) {
			want = unit_at(b->id, v, offset + i);
			ahead = !memcmp(&got, &want, sizeof(got));
		}
		if (ahead) {
			atomic_fetch_add(&aheads, 1);
			return;
		}
		want = unit_at(b->id, b->version, offset + i);
		fprintf(stderr,
			"wrong: block %u stamp %u at %" PRIu64 ": block %u stamp %u at %" PRIu64
			", expected stamp %u\n",
			b->id, FIRST_STAMP + b->version, offset + i, got.id, got.stamp, got.offset,
			want.stamp);
		atomic_fetch_add(&wrongs, 1);
		return;
	}
	atomic_fetch_add(&rights, 1);
}

static void open_one(struct reader *r, struct open_block *b)
{
	uint64_t is = atomic_load(&slots[next_random(&r->random) % SLOTS]);
	struct block_name name = {.pool_id = POOL};
	struct block_info info;
	int error;

	if (!is)
		return;
	b->id = (uint32_t)(is >> 32);
	b->version = (uint32_t)is;
	name.block_id = b->id;
	name.genstamp = FIRST_STAMP + b->version;
	error = block_open(store, policy, &name, &b->handle, &info);
	if (error < 0) {
		b->handle = NULL;
		atomic_fetch_add(&open_errors[-error], 1);
		return;
	}
	b->length = info.length;
	atomic_fetch_add(&opens, 1);
}

static void read_one(struct reader *r, struct open_block *b)
{
	uint64_t units = b->length / UNIT;
	uint64_t offset = units ? next_random(&r->random) % units * UNIT : 0;
	uint32_t length = (uint32_t)(next_random(&r->random) % sizeof(r->buffer)) / UNIT * UNIT;
	ssize_t n = block_read(b->handle, offset, r->buffer, length);

	if (n >= 0)
		judge(b, offset, r->buffer, (size_t)n);
	else
		atomic_fetch_add(&read_errors[-n], 1);
	if (n < 0 || next_random(&r->random) % 4096 == 0) {
		block_close(b->handle);
		b->handle = NULL;
	}
}

static void *read_blocks(void *arg)
{
	struct reader *r = arg;

	while (!atomic_load(&stop)) {
		struct open_block *b = &r->blocks[next_random(&r->random) % HANDLES];

		if (b->handle)
			read_one(r, b);
		else
			open_one(r, b);
		if (next_random(&r->random) % 16 == 0)
			usleep(500); /* the owner is to have its share of the processor */
	}
	for (unsigned i = 0; i < HANDLES; i++)
		block_close(r->blocks[i].handle);
	return NULL;
}

/* ---- the run ------------------------------------------------------------------------------ */

static void serve(const char *image)
{
	static const char *const dirs[] = {"/data"};
	const char *problem;
	char *error;

	store = block_store_new();
	policy = policy_new(POLICY_CLIENT, "*", "*", &problem);
	if (!store || !policy ||
	    block_store_add_data_dirs(store, "dn", (struct block_texts){&image, 1},
				      (struct block_texts){dirs, 1}, &error) < 0)
		die("serving the image");
}

static void print_errors(const char *name, _Atomic(uint64_t) *errors)
{
	const char *comma = "";

	printf(", \"%s\": {", name);
	for (int i = 1; i < MAX_ERRORS; i++)
		if (atomic_load(&errors[i])) {
			printf("%s\"%s\": %" PRIu64, comma, strerrorname_np(i),
			       atomic_load(&errors[i]));
			comma = ", ";
		}
	putchar('}');
}

int main(int argc, char **argv)
{
	static struct owner owner;
	struct reader *readers;
	pthread_t own_thread, threads[64];
	unsigned count;

	if (argc != 6) {
		fputs("usage: torture IMAGE MOUNT-POINT SECONDS READERS SEED\n", stderr);
		return 2;
	}
	mount_point = argv[2];
	count = (unsigned)atoi(argv[4]);
	readers = calloc(count, sizeof(*readers));
	if (!readers || count > 64)
		die("readers");
	crc_table_init(&crc, CRC32C_POLYNOMIAL);
	serve(argv[1]);
	owner.next_id = 1;
	owner.random = mix((uint64_t)atoll(argv[5]));
	pthread_create(&own_thread, NULL, own, &owner);
	for (unsigned i = 0; i < count; i++) {
		readers[i].random = mix(owner.random + i + 1);
		pthread_create(&threads[i], NULL, read_blocks, &readers[i]);
	}
	sleep((unsigned)atoi(argv[3]));
	atomic_store(&stop, true);
	pthread_join(own_thread, NULL);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	block_store_free(store);
	policy_free(policy);
	free(readers);
	printf("{\"right\": %" PRIu64 ", \"ahead\": %" PRIu64 ", \"wrong\": %" PRIu64
	       ", \"opens\": %" PRIu64 ", \"owner\": %" PRIu64 ", \"deleted\": %" PRIu64,
	       atomic_load(&rights), atomic_load(&aheads), atomic_load(&wrongs),
	       atomic_load(&opens), atomic_load(&owner_ops), atomic_load(&recycled));
	print_errors("open_errors", open_errors);
	print_errors("read_errors", read_errors);
	puts("}");
	return atomic_load(&wrongs) ? 1 : 0;
}
