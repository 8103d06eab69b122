// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests read-ahead of a block (read/ahead.h) in a real file.  The block's extents lie in the file
 * in reverse order, so that the kernel's own read-ahead fetches none of the block.  Images read
 * with O_DIRECT are read by block_read().
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cmocka.h>

#include "read/ahead.h"
#include "read/budget.h"
#include "read/checksum.h"
#include "read/crc_table.h"
#include "read/read_private.h"
#include "parser-protocol/blocks.h"
#include "disk/source_queue.h"

#define PIECE (1U << 20)
#define PIECES 16U
#define SIZE (PIECES * PIECE)
#define CHUNK 512U
#define META (META_HEADER_BYTES + SIZE / CHUNK * 4)
#define META_AT SIZE /* in the image: behind the data */
#define META_PIECE 8192U
#define META_PIECES (SIZE / CHUNK * 4 / META_PIECE + 1)
#define META_ROOM (META_PIECES * META_PIECE)
#define WINDOW (4U << 20)
#define REQUEST (512U << 10)
#define PAGE 4096
#define HOLE 6U

static const char path[] = "ahead-of-test.raw";
static const char client;
static struct image *image;
static struct volume *volume;
static int basis_error;
static bool in_journal;
static struct ahead_shared shared;
static struct ahead *ahead;
static struct block_replica *replica;
static uint8_t content[SIZE], meta[META_ROOM];
static bool sparse;           /* piece HOLE of the block lies in no extent */
static atomic_uint own_reads; /* of data, by reads that read the disk themselves */

/* ---- the page cache ---- */

/* Stands for the kernel's page cache, which may drop pages, or ignore advice, at any time.  The
 * fakes below use it for advice and for reads that must not wait. */
static bool in_memory[(SIZE + META_ROOM) / PAGE];

static void set_in_memory(bool is)
{
	memset(in_memory, is, sizeof(in_memory));
}

int posix_fadvise(int fd, off_t offset, off_t length, int advice)
{
	(void)fd;
	assert_int_equal(advice, POSIX_FADV_WILLNEED);
	for (off_t at = offset - offset % PAGE; at < offset + length; at += PAGE)
		in_memory[at / PAGE] = true;
	return 0;
}

ssize_t preadv2(int fd, const struct iovec *to, int count, off_t offset, int flags)
{
	off_t end = offset;

	assert_int_equal(count, 1);
	assert_int_equal(flags, RWF_NOWAIT);
	while (end < offset + (off_t)to->iov_len && in_memory[end / PAGE])
		end += PAGE - end % PAGE;
	if (end > offset + (off_t)to->iov_len)
		end = offset + (off_t)to->iov_len;
	if (end > offset)
		return pread(fd, to->iov_base, (size_t)(end - offset), offset);
	errno = EAGAIN;
	return -1;
}

/* How many pages of the image in [offset, offset + length) are in memory. */
static unsigned fetched(uint64_t offset, size_t length)
{
	unsigned n = 0;

	for (uint64_t at = offset; at < offset + length; at += PAGE)
		n += in_memory[at / PAGE];
	return n;
}

/* ---- the file system ---- */

struct parser_basis {
	int unused;
};

int parser_check(const struct parser_fs *fs, struct parser_basis *b, const struct block_files *f)
{
	(void)fs, (void)b, (void)f;
	return basis_error;
}

bool parser_basis_is_clean(const struct parser_basis *b)
{
	(void)b;
	return !in_journal;
}

size_t parser_basis_weight(const struct parser_basis *b)
{
	return sizeof(*b);
}

void parser_basis_free(struct parser_basis *b)
{
	free(b);
}

int fs_file_read_at(struct volume *v, const struct fs_file *f, uint64_t offset, void *buf,
		    size_t length)
{
	bool is_meta = f->size == META;

	(void)v;
	if (!is_meta)
		own_reads++;
	memcpy(buf, (is_meta ? meta : content) + offset, length);
	return 0;
}

bool parser_data_settled(struct parser_basis *b, uint64_t offset, uint64_t length)
{
	(void)b, (void)offset, (void)length;
	return !in_journal;
}

bool parser_meta_settled(struct parser_basis *b, uint64_t offset, uint64_t length)
{
	(void)b, (void)offset, (void)length;
	return true;
}

void block_files_clear(struct block_files *f)
{
	free(f->data.extents);
	free(f->meta.extents);
}

struct served *served_get(struct served *v)
{
	return v;
}

void served_put(struct served *v)
{
	assert_null(v);
}

struct block_replica *handle_replica(struct block_handle *h)
{
	(void)h;
	return replica_get(replica);
}

int handle_renew(struct block_handle *h, const struct block_replica *r)
{
	(void)h, (void)r;
	return -EAGAIN;
}

/* ---- the block ---- */

/* The offset of piece i of the block in the image. */
static uint64_t place(unsigned i)
{
	return (uint64_t)(PIECES - 1 - i) * PIECE;
}

static uint64_t meta_place(unsigned i)
{
	return META_AT + (uint64_t)(META_PIECES - 1 - i) * META_PIECE;
}

static void write_at(int fd, const void *data, size_t length, uint64_t offset)
{
	assert_int_equal(pwrite(fd, data, length, (off_t)offset), length);
}

static void write_image(void)
{
	struct crc_table table;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	crc_table_init(&table, CRC32C_POLYNOMIAL);
	for (size_t i = 0; i < SIZE; i++)
		content[i] = (uint8_t)(i * 7 + i / 256);
	if (sparse)
		memset(content + HOLE * PIECE, 0, PIECE);
	for (size_t c = 0; c < SIZE / CHUNK; c++) {
		uint32_t sum = htobe32(crc_table_sum(&table, content + c * CHUNK, CHUNK));

		memcpy(meta + META_HEADER_BYTES + c * 4, &sum, 4);
	}
	for (unsigned i = 0; i < PIECES; i++)
		write_at(fd, content + (size_t)(sparse && i == HOLE ? 0 : i) * PIECE, PIECE,
			 place(i));
	for (unsigned i = 0; i < META_PIECES; i++)
		write_at(fd, meta + (size_t)i * META_PIECE, META_PIECE, meta_place(i));
	assert_int_equal(fsync(fd), 0);
	assert_int_equal(syscall(SYS_fadvise64, fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	close(fd);
}

static struct block_replica *find(bool finalized)
{
	static struct parser_fs fs;
	struct replica_key key = {path, "BP-1", 1, 1001};
	struct block_files files = {
		.data = {SIZE},
		.meta = {META, META_PIECES, calloc(META_PIECES, sizeof(struct fs_extent))},
		.header = {META_CRC32C, CHUNK},
		.finalized = finalized,
	};

	for (unsigned i = 0; i < PIECES; i++)
		if (!sparse || i != HOLE)
			fs_file_extend(&files.data, SIZE, (uint64_t)i * PIECE, place(i), PIECE);
	for (unsigned i = 0; i < META_PIECES; i++)
		files.meta.extents[i] =
			(struct fs_extent){(uint64_t)i * META_PIECE, meta_place(i), META_PIECE};
	fs.volume = volume;
	return replica_new(NULL, &fs, &key, &files, calloc(1, sizeof(struct parser_basis)));
}

/* How many pages of the block are in the kernel's page cache. */
static unsigned resident(void)
{
	unsigned char pages[SIZE / PAGE];
	unsigned n = 0;
	int fd = open(path, O_RDONLY);
	void *map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);

	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(mincore(map, SIZE, pages), 0);
	for (size_t i = 0; i < SIZE / PAGE; i++)
		n += pages[i] & 1;
	munmap(map, SIZE);
	close(fd);
	return n;
}

static bool is_fetched(unsigned piece)
{
	return fetched(place(piece), PIECE) == PIECE / PAGE;
}

static int set_up(enum source_mode mode, size_t cache)
{
	char *error = NULL;

	write_image();
	basis_error = 0;
	in_journal = false;
	own_reads = 0;
	if (image_open(path, mode, &image, &error) < 0) {
		free(error);
		return -1;
	}
	assert_int_equal(volume_new_range(image, 0, image_size(image), &volume), 0);
	shared = (struct ahead_shared){shares_new(), verified_cache_new(cache), WINDOW};
	ahead = ahead_new(&shared, &client, NULL);
	replica = find(true);
	set_in_memory(false);
	return 0;
}

static int set_up_buffered(void **state)
{
	(void)state;
	return set_up(SOURCE_BUFFERED, 0);
}

static int set_up_direct(void **state)
{
	*state = set_up(SOURCE_DIRECT, 64U << 20) < 0 ? NULL : content;
	return 0;
}

static int set_up_sparse(void **state)
{
	sparse = true;
	return set_up_buffered(state);
}

static int set_up_sparse_direct(void **state)
{
	sparse = true;
	return set_up_direct(state);
}

static int tear_down(void **state)
{
	(void)state;
	sparse = false;
	ahead_free(ahead);
	replica_put(replica);
	verified_cache_free(shared.cache);
	shares_free(shared.shares);
	volume_free(volume);
	image_close(image);
	ahead = NULL;
	replica = NULL;
	volume = NULL;
	image = NULL;
	unlink(path);
	return 0;
}

static void read_at(uint64_t offset, bool waited)
{
	ahead_begin(ahead, replica, offset, offset + REQUEST, SIZE);
	ahead_end(ahead, waited);
}

static size_t disks(void)
{
	json_t *status = shares_status(shared.shares);
	size_t n = json_array_size(status);

	json_decref(status);
	return n;
}

/* ---- buffered images ---- */

static void cold_is_fetched_where_it_lies(void **state)
{
	(void)state;
	read_at(0, true);
	assert_int_equal(fetched(0, SIZE), 0);
	read_at(REQUEST, true);
	for (unsigned i = 1; i < WINDOW / PIECE; i++)
		assert_true(is_fetched(i));
	assert_int_equal(fetched(place(PIECES - 1), PIECE), 0); /* no further than the window */
	assert_true(fetched(meta_place(3), META_PIECE) > 0);
	assert_int_equal(disks(), 1);
}

static void to_the_end_and_no_share_is_kept(void **state)
{
	(void)state;
	for (uint64_t at = 0; at < SIZE; at += REQUEST)
		read_at(at, true);
	assert_true(is_fetched(PIECES - 1));
	assert_int_equal(disks(), 0);
}

static void nobody_waited_nothing_is_fetched(void **state)
{
	(void)state;
	for (uint64_t at = 0; at < SIZE; at += REQUEST)
		read_at(at, false);
	assert_int_equal(fetched(0, SIZE), 0);
	assert_int_equal(disks(), 0);
}

static void elsewhere_each_time(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20; i++)
		read_at((uint64_t)(i * 5 % 15) * PIECE, true);
	assert_int_equal(fetched(0, SIZE), 0);
}

/* As far as the block is known to be in memory, nothing is requested. */
static void stops_where_it_is_in_memory(void **state)
{
	(void)state;
	set_in_memory(true);
	read_at(0, true);
	read_at(REQUEST, false); /* requests the bytes, finds them in memory */
	read_at(2 * REQUEST, false);
	assert_int_equal(disks(), 0);
}

/* A hole is no place in the image. */
static void of_a_hole_nothing_is_fetched(void **state)
{
	(void)state;
	for (uint64_t at = 0; at < SIZE; at += REQUEST)
		read_at(at, true);
	assert_int_equal(fetched(place(HOLE), PIECE), 0);
	assert_true(is_fetched(HOLE + 1));
}

/* ---- images read with O_DIRECT ---- */

static bool is_kept(unsigned piece)
{
	static uint8_t dst[PIECE];
	uint64_t offset = (uint64_t)piece * PIECE;
	uint32_t sum;

	if (verified_cache_read(shared.cache, replica, offset, dst, PIECE, &sum) != 1)
		return false;
	assert_memory_equal(dst, content + offset, PIECE);
	assert_int_equal(sum, checksum_crc32c(content + offset, PIECE));
	return true;
}

/* Reads [offset, offset + REQUEST).  0, or an error.  Wrong bytes: 1. */
static int direct_read(uint64_t offset)
{
	struct block_handle h = {.shared = &shared, .ahead = ahead, .visible_length = SIZE};
	uint8_t dst[REQUEST];
	uint32_t sum;
	ssize_t n = block_read(&h, offset, dst, REQUEST, &sum);

	if (n < 0)
		return (int)n;
	return n != REQUEST || memcmp(dst, content + offset, REQUEST) != 0 ||
	       sum != checksum_crc32c(content + offset, REQUEST);
}

static void direct_forward(uint64_t from)
{
	for (uint64_t at = from; at < SIZE; at += REQUEST)
		assert_int_equal(direct_read(at), 0);
}

static void all_but_the_first_is_read_ahead(void **state)
{
	unsigned before = resident(); /* pages that the kernel kept */

	if (!*state)
		skip();
	direct_forward(0);
	assert_int_equal(own_reads, 1);
	for (unsigned i = 0; i < PIECES; i++)
		assert_true(is_kept(i));
	assert_true(resident() <= before);
	assert_int_equal(disks(), 0);
	direct_forward(0); /* out of the cache */
	assert_int_equal(own_reads, 1);
}

static void a_hole_is_read_ahead_as_zeros(void **state)
{
	if (!*state)
		skip();
	direct_forward(0);
	assert_int_equal(own_reads, 1);
	for (unsigned i = 0; i < PIECES; i++)
		assert_true(is_kept(i));
}

static void without_a_cache(void **state)
{
	if (!*state)
		skip();
	verified_cache_resize(shared.cache, 0);
	direct_forward(0);
	assert_int_equal(own_reads, 1);
	assert_false(is_kept(5));
	direct_forward(0);
	assert_int_equal(own_reads, 1 + 2); /* a jump, and one read to see where it goes */
}

/* Reads of less than a unit use what was read ahead, too, and the units are kept. */
static void small_reads(void **state)
{
	struct block_handle h = {.shared = &shared, .ahead = ahead, .visible_length = SIZE};
	uint8_t dst[3 * PAGE];
	uint32_t sum;

	if (!*state)
		skip();
	assert_int_equal(direct_read(0), 0);
	for (uint64_t at = REQUEST; at < SIZE; at += (uint64_t)sizeof(dst)) {
		uint32_t n = SIZE - at < sizeof(dst) ? (uint32_t)(SIZE - at) : sizeof(dst);

		assert_int_equal(block_read(&h, at, dst, n, &sum), n);
		assert_memory_equal(dst, content + at, n);
	}
	assert_int_equal(own_reads, 1);
	assert_true(is_kept(9));
}

#define READERS 4U

struct reader {
	pthread_t thread;
	unsigned first;
	int error;
};

static void *read_every_fourth(void *arg)
{
	struct reader *r = arg;

	for (uint64_t at = r->first * REQUEST; at < SIZE && !r->error; at += READERS * REQUEST)
		r->error = direct_read(at);
	return NULL;
}

/* As the workers of a queue, which carry out the reads of one client beside each other. */
static void read_by_several(void)
{
	struct reader readers[READERS];

	verified_cache_resize(shared.cache, 0);
	verified_cache_resize(shared.cache, 64U << 20);
	for (unsigned i = 0; i < READERS; i++) {
		readers[i] = (struct reader){.first = i};
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_every_fourth,
						&readers[i]),
				 0);
	}
	for (unsigned i = 0; i < READERS; i++) {
		pthread_join(readers[i].thread, NULL);
		assert_int_equal(readers[i].error, 0);
	}
}

static void several_at_a_time(void **state)
{
	if (!*state)
		skip();
	for (unsigned pass = 0; pass < 20; pass++)
		read_by_several();
}

/* Steps fail while several read.  Each then reads for itself, and no step is lost. */
static void several_while_the_disk_fails(void **state)
{
	if (!*state)
		skip();
	assert_int_equal(truncate(path, 0), 0); /* a read of the image finds no bytes */
	for (unsigned pass = 0; pass < 20; pass++) {
		own_reads = 0;
		read_by_several();
		assert_int_equal(own_reads, SIZE / REQUEST);
	}
	write_image(); /* the disk works again */
	verified_cache_resize(shared.cache, 0);
	own_reads = 0;
	direct_forward(0);
	assert_in_range(own_reads, 1, 2); /* the first read may be a jump */
}

/* Here only the image is damaged, and not what a read of its own finds. */
static void wrong_on_the_disk_is_read_once_more(void **state)
{
	int fd = open(path, O_WRONLY);

	if (!*state)
		skip();
	write_at(fd, "x", 1, place(9) + 77);
	fsync(fd);
	close(fd);
	direct_forward(0);
	assert_int_equal(own_reads, 2);
	assert_true(is_kept(9));
}

static void changed_is_not_used(void **state)
{
	if (!*state)
		skip();
	assert_int_equal(direct_read(0), 0);
	assert_int_equal(direct_read(REQUEST), 0);
	basis_error = -EAGAIN; /* while the bytes are being read */
	assert_int_equal(direct_read(2 * REQUEST), -EAGAIN);
	basis_error = 0;
	assert_false(is_kept(1));
}

/* Of another replica object, which may be another version of the block. */
static void another_replica_reads_for_itself(void **state)
{
	if (!*state)
		skip();
	assert_int_equal(direct_read(0), 0);
	replica_put(replica);
	replica = find(true);
	assert_int_equal(direct_read(REQUEST), 0);
	assert_int_equal(own_reads, 2);
}

/* The data may leave the journal before it is verified: then other bytes were read. */
static void in_a_journal_is_not_read_ahead(void **state)
{
	if (!*state)
		skip();
	in_journal = true;
	assert_int_equal(direct_read(0), -EAGAIN);
	in_journal = false;
	assert_int_equal(direct_read(REQUEST), 0);
	assert_int_equal(own_reads, 1);
	direct_forward(2 * REQUEST);
	assert_int_equal(own_reads, 1);
}

static void left_while_under_way(void **state)
{
	if (!*state)
		skip();
	assert_int_equal(direct_read(0), 0);
	assert_int_equal(disks(), 1);
	ahead_free(ahead);
	ahead = NULL;
	assert_int_equal(disks(), 0);
}

/* A reader that jumps does not wait for what it will not read, and is read ahead for elsewhere. */
static void jumps(void **state)
{
	if (!*state)
		skip();
	verified_cache_resize(shared.cache, 0);
	for (unsigned i = 0; i < 20; i++) {
		uint64_t from = (uint64_t)(i * 5 % 14) * PIECE;

		own_reads = 0;
		for (uint64_t at = from; at < from + PIECE; at += REQUEST)
			assert_int_equal(direct_read(at), 0);
		assert_in_range(own_reads, 1, 2); /* no step may be free yet */
	}
}

static void being_written_is_not_read_ahead(void **state)
{
	if (!*state)
		skip();
	replica_put(replica);
	replica = find(false);
	direct_forward(0);
	assert_int_equal(own_reads, SIZE / REQUEST);
	assert_false(verified_cache_has(shared.cache, replica, PIECE, PIECE));
	assert_int_equal(disks(), 0);
}

/* Buffers for read-ahead come out of the budget of the handles, and go back. */
static void budget_is_kept(void **state)
{
	struct budget budget = {.most = 4 * PIECE};
	size_t most = 0;

	if (!*state)
		skip();
	ahead_free(ahead);
	ahead = ahead_new(&shared, &client, &budget);
	for (uint64_t at = 0; at < SIZE; at += REQUEST) {
		assert_int_equal(direct_read(at), 0);
		most = budget.used > most ? budget.used : most;
	}
	assert_in_range(most, 1, 2 * PIECE);
	assert_in_range(own_reads, 1, SIZE / REQUEST / 2);
	ahead_free(ahead);
	ahead = NULL;
	assert_int_equal(budget.used, 0);
}

static void no_budget_is_no_error(void **state)
{
	struct budget budget = {.most = PAGE};

	if (!*state)
		skip();
	ahead_free(ahead);
	ahead = ahead_new(&shared, &client, &budget);
	direct_forward(0);
	assert_int_equal(own_reads, SIZE / REQUEST);
	assert_int_equal(budget.used, 0);
	assert_int_equal(disks(), 0);
}

/* io_uring cannot be used: here a limit allows no more descriptors. */
static void no_queue_is_no_error(void **state)
{
	struct rlimit limit, none;
	const char *why = NULL;

	if (!*state)
		skip();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	direct_forward(0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(own_reads, SIZE / REQUEST);
	assert_false(source_queue_works(&why));
	assert_string_equal(why, "Too many open files");
	assert_int_equal(disks(), 0);
}

#define BUFFERED(name) cmocka_unit_test_setup_teardown(name, set_up_buffered, tear_down)
#define DIRECT(name) cmocka_unit_test_setup_teardown(name, set_up_direct, tear_down)
#define SPARSE(name, set_up) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BUFFERED(cold_is_fetched_where_it_lies),
		BUFFERED(to_the_end_and_no_share_is_kept),
		BUFFERED(nobody_waited_nothing_is_fetched),
		BUFFERED(elsewhere_each_time),
		BUFFERED(stops_where_it_is_in_memory),
		SPARSE(of_a_hole_nothing_is_fetched, set_up_sparse),
		SPARSE(a_hole_is_read_ahead_as_zeros, set_up_sparse_direct),
		DIRECT(all_but_the_first_is_read_ahead),
		DIRECT(without_a_cache),
		DIRECT(small_reads),
		DIRECT(several_at_a_time),
		DIRECT(several_while_the_disk_fails),
		DIRECT(wrong_on_the_disk_is_read_once_more),
		DIRECT(changed_is_not_used),
		DIRECT(another_replica_reads_for_itself),
		DIRECT(in_a_journal_is_not_read_ahead),
		DIRECT(left_while_under_way),
		DIRECT(jumps),
		DIRECT(being_written_is_not_read_ahead),
		DIRECT(no_queue_is_no_error),
		DIRECT(budget_is_kept),
		DIRECT(no_budget_is_no_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
