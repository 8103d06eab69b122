// SPDX-License-Identifier: GPL-2.0-or-later
/* Tests the qcow2 reader: false headers, false tables, and files that their owners change. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "disk/image.h"
#include "disk/qcow2_header.h"

#define CLUSTER 512U
#define L1_AT (2U * CLUSTER)
#define L2_AT (3U * CLUSTER)
#define DATA_AT (4U * CLUSTER)
#define TABLE_SPAN (CLUSTER / 8 * CLUSTER) /* bytes of the disk behind one L2 table */
#define MOVES 50000U                       /* of a cluster, through a file of 25 MiB */
#define DISK (2U * TABLE_SPAN)

static char path[64], spec[80];
static int file;

static void put32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
}

static void put64(uint8_t *at, uint64_t value)
{
	value = htobe64(value);
	memcpy(at, &value, sizeof(value));
}

/* A header of a disk with two L2 tables and clusters of 512 bytes. */
static void make_head(uint8_t head[CLUSTER], uint32_t version)
{
	memset(head, 0, CLUSTER);
	memcpy(head, "QFI\xfb", 4);
	put32(head + 4, version);
	put32(head + 20, 9);
	put64(head + 24, DISK);
	put32(head + 36, 2);
	put64(head + 40, L1_AT);
	if (version == 3)
		put32(head + 100, 104);
}

static void set_backing(uint8_t head[CLUSTER], const char *name, const char *format)
{
	uint8_t *at = head + 104;

	put32(at, 0xe2792aca);
	put32(at + 4, (uint32_t)strlen(format));
	memcpy(at + 8, format, strlen(format));
	put64(head + 8, 160);
	put32(head + 16, (uint32_t)strlen(name));
	memcpy(head + 160, name, strlen(name));
}

static void write_at(uint64_t offset, const void *bytes, size_t length)
{
	assert_int_equal(pwrite(file, bytes, length, (off_t)offset), length);
}

static void write64(uint64_t offset, uint64_t value)
{
	uint8_t bytes[8];

	put64(bytes, value);
	write_at(offset, bytes, sizeof(bytes));
}

/* The disk's first cluster holds 'A's, the second 'B's.  In the file 'B's come first. */
static int make_file(void **state)
{
	uint8_t head[CLUSTER], data[2 * CLUSTER];

	(void)state;
	strcpy(path, "/tmp/qcow2-XXXXXX");
	file = mkstemp(path);
	snprintf(spec, sizeof(spec), "qcow2:%s", path);
	make_head(head, 3);
	memset(data, 'B', CLUSTER);
	memset(data + CLUSTER, 'A', CLUSTER);
	if (file < 0 || ftruncate(file, DATA_AT) < 0)
		return -1;
	write_at(0, head, sizeof(head));
	write_at(DATA_AT, data, sizeof(data));
	write64(L1_AT, L2_AT);
	write64(L2_AT, DATA_AT + CLUSTER);
	write64(L2_AT + 8, DATA_AT);
	return 0;
}

static int remove_file(void **state)
{
	(void)state;
	unlink(path);
	return close(file);
}

static struct image *opened(void)
{
	struct image *img;
	char *error = NULL;

	if (image_open(spec, SOURCE_AUTO, &img, &error) < 0)
		fail_msg("%s", error);
	return img;
}

static void refused_naming(int expected, const char *name, const char *said)
{
	struct image *img;
	char *error = NULL;

	assert_int_equal(image_open(spec, SOURCE_AUTO, &img, &error), expected);
	if (!error || !strstr(error, said) || !strstr(error, name))
		fail_msg("expected ...%s..., got: %s", said, error);
	free(error);
}

static void refused(int expected, const char *said)
{
	refused_naming(expected, path, said);
}

static void expect_bytes(struct image *img, uint64_t offset, size_t length, uint8_t byte)
{
	uint8_t *buf = malloc(length);

	memset(buf, ~byte, length);
	assert_int_equal(image_read(img, offset, buf, length), 0);
	for (size_t i = 0; i < length; i++)
		assert_int_equal(buf[i], byte);
	free(buf);
}

/* ---- heads --------------------------------------------------------------------- */

static const char *parse(const uint8_t *head, size_t length, struct qcow2_header *ret)
{
	uint8_t *exact = malloc(length); /* the sanitizer sees reads past this size */
	const char *reason;

	memcpy(exact, head, length);
	reason = qcow2_header_parse(exact, length, ret);
	free(exact);
	return reason;
}

static void expect_reason(const uint8_t *head, const char *said)
{
	struct qcow2_header h;
	const char *reason = parse(head, CLUSTER, &h);

	if (!reason || !strstr(reason, said))
		fail_msg("expected ...%s..., got: %s", said, reason);
}

static void right_heads(void **state)
{
	uint8_t head[CLUSTER];
	struct qcow2_header h;

	(void)state;
	for (uint32_t version = 2; version <= 3; version++) {
		make_head(head, version);
		assert_null(parse(head, CLUSTER, &h));
		assert_int_equal(h.version, version);
		assert_int_equal(h.size, DISK);
		assert_int_equal(h.l1_offset, L1_AT);
		assert_string_equal(h.backing, "");
	}
	set_backing(head, "/srv/base", "raw");
	assert_null(parse(head, CLUSTER, &h));
	assert_string_equal(h.backing, "/srv/base");
	assert_string_equal(h.backing_format, "raw");
	assert_int_equal(h.head_bytes, 160 + strlen("/srv/base"));
}

static void wrong_numbers(void **state)
{
	static const struct {
		unsigned at, bytes;
		uint64_t value;
		const char *said;
	} wrong[] = {
		{0, 4, 0x51464900, "not a qcow2 file"},
		{4, 4, 1, "version"},
		{4, 4, 4, "version"},
		{8, 8, CLUSTER, "name"},
		{8, 8, UINT64_MAX, "name"},
		{20, 4, 8, "cluster size"},
		{20, 4, 22, "cluster size"},
		{20, 4, UINT32_MAX, "cluster size"},
		{24, 8, 0, "empty"},
		{24, 8, UINT64_MAX, "disk is invalid"},
		{24, 8, DISK + 1, "length of its L1 table"},
		{24, 8, UINT64_C(1) << 60, "length of its L1 table"},
		{32, 4, 1, "encrypted"},
		{32, 4, 2, "encrypted"},
		{36, 4, 1, "length of its L1 table"},
		{36, 4, UINT32_MAX, "length of its L1 table"},
		{40, 8, 0, "invalid offset"},
		{40, 8, L1_AT + 8, "invalid offset"},
		{40, 8, UINT64_MAX - CLUSTER + 1, "invalid offset"},
		{72, 8, 2, "corrupt"},
		{72, 8, 4, "external data file"},
		{72, 8, 8, "compression type"},
		{72, 8, 16, "subclusters"},
		{72, 8, 32, "not support"},
		{72, 8, UINT64_C(1) << 63, "not support"},
		{100, 4, 0, "invalid length"},
		{100, 4, 107, "invalid length"},
		{100, 4, UINT32_MAX & ~7U, "invalid length"},
	};
	uint8_t head[CLUSTER];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		make_head(head, 3);
		if (wrong[i].bytes == 4)
			put32(head + wrong[i].at, (uint32_t)wrong[i].value);
		else
			put64(head + wrong[i].at, wrong[i].value);
		expect_reason(head, wrong[i].said);
	}
}

static void wrong_extensions(void **state)
{
	uint8_t head[CLUSTER];
	const uint32_t lengths[] = {CLUSTER, UINT32_MAX, UINT32_MAX - 7};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		make_head(head, 3);
		put32(head + 104, 0x12345678);
		put32(head + 108, lengths[i]);
		expect_reason(head, "extensions are too long");
	}
	make_head(head, 3);
	set_backing(head, "base", "ra\x1bw");
	expect_reason(head, "format is no name");
	set_backing(head, "base", "a-format-with-a-name-of-32-bytes");
	expect_reason(head, "format name of its backing file");
	make_head(head, 3);
	set_backing(head, "base", "raw");
	head[162] = '\0';
	expect_reason(head, "name of its backing file is damaged");
	make_head(head, 3);
	set_backing(head, "base", "raw");
	put32(head + 16, QCOW2_MAX_NAME + 1);
	expect_reason(head, "name of its backing file is damaged");
}

/* Whatever the bytes are, no byte outside is read, and an accepted header lies within them. */
/* Names are shown to the operator, and written to the log. */
static void names_that_cannot_be_shown(void **state)
{
	static const char *const wrong[] = {
		"a\nb",
		"a\x1b[31m",
		"\x7f",
		"\xff",
		"a\xc3",
		"\xc3(",
		"\xc0\xaf",
		"\xe0\x80\xaf",
		"\xc2\x9b",
		"\xed\xa0\x80",
		"\xf4\x90\x80\x80",
		"\xe2\x80\xa8",
		"\xf8\x88\x80\x80\x80",
	};
	static const char *const right[] = {"gr\xc3\xb6\xc3\x9f"
					    "e",
					    "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
	uint8_t head[CLUSTER];
	struct qcow2_header h;

	(void)state;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		make_head(head, 3);
		set_backing(head, wrong[i], "raw");
		expect_reason(head, "control characters");
	}
	for (unsigned i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		make_head(head, 3);
		set_backing(head, right[i], "raw");
		assert_null(parse(head, CLUSTER, &h));
		assert_string_equal(h.backing, right[i]);
	}
}

static void any_bytes(void **state)
{
	uint8_t head[CLUSTER];
	struct qcow2_header h;
	unsigned accepted = 0;

	(void)state;
	srandom(1);
	for (size_t length = 0; length <= CLUSTER; length++) {
		make_head(head, 3);
		set_backing(head, "base", "raw");
		parse(head, length, &h);
	}
	for (unsigned i = 0; i < 200000; i++) {
		make_head(head, 2 + i % 2);
		set_backing(head, "base", "raw");
		for (unsigned n = 1 + (unsigned)random() % 3; n > 0; n--)
			head[(unsigned)random() % 180] = (uint8_t)random();
		if (!parse(head, CLUSTER, &h)) {
			accepted++;
			assert_true(h.head_bytes <= CLUSTER);
		}
	}
	assert_true(accepted > 1000);
}

/* ---- tables --------------------------------------------------------------------- */

static void read_in_pieces(void **state)
{
	struct image *img = opened();
	struct image_run run;

	(void)state;
	expect_bytes(img, 0, CLUSTER, 'A');
	expect_bytes(img, CLUSTER, CLUSTER, 'B');
	expect_bytes(img, CLUSTER - 1, 1, 'A');
	expect_bytes(img, 2 * CLUSTER, DISK - 2 * CLUSTER, 0);
	assert_int_equal(image_map(img, 2 * CLUSTER, DISK - 2 * CLUSTER, &run), 0);
	assert_null(run.source);
	assert_int_equal(run.length, DISK - 2 * CLUSTER); /* one run over both tables */
	assert_int_equal(image_map(img, DISK, 1, &run), -EIO);
	assert_int_equal(image_map(img, 0, DISK + 1, &run), -EIO);
	image_close(img);
}

static void entries_that_lead_nowhere(void **state)
{
	static const uint64_t places[] = {
		UINT64_C(1) << 40,          /* after the end of the file */
		UINT64_C(0xfffffffffffe00), /* the largest possible place */
	};
	struct image *img = opened();
	uint8_t buf[CLUSTER];

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		write64(L2_AT, places[i]);
		assert_int_equal(image_read(img, 0, buf, CLUSTER), -EIO);
		expect_bytes(img, CLUSTER, CLUSTER, 'B');
		write64(L2_AT, UINT64_C(1) << 62 | places[i]); /* compressed */
		assert_int_equal(image_read(img, 0, buf, CLUSTER), -EIO);
		write64(L1_AT, places[i]);
		assert_int_equal(image_read(img, 0, buf, CLUSTER), -EIO);
		write64(L1_AT, L2_AT);
	}
	write64(L2_AT, UINT64_C(1) << 62 | DATA_AT); /* no deflate stream */
	assert_int_equal(image_read(img, 0, buf, CLUSTER), -EIO);
	image_close(img);
}

static void larger_clusters_are_aligned(void **state)
{
	uint8_t head[CLUSTER], buf[CLUSTER];
	struct image *img;

	(void)state;
	make_head(head, 3);
	put32(head + 20, 16);
	put64(head + 40, 65536);
	write_at(0, head, sizeof(head));
	write64(65536, 2 * 65536);
	write64(2 * 65536, 3 * 65536 + 512);
	assert_int_equal(ftruncate(file, 8 * 65536), 0);
	img = opened();
	assert_int_equal(image_read(img, 0, buf, CLUSTER), -EIO);
	write64(65536, 2 * 65536 + 512);
	assert_int_equal(image_read(img, 0, buf, CLUSTER), -EIO);
	image_close(img);
}

/* Tables that point to each other, to themselves or anywhere: data or EIO, and soon. */
static void tables_of_anything(void **state)
{
	struct image *img = opened();
	uint8_t *buf = malloc(DISK);

	(void)state;
	srandom(2);
	write64(L1_AT, L1_AT);
	image_read(img, 0, buf, CLUSTER);
	for (unsigned round = 0; round < 500; round++) {
		for (unsigned i = 0; i < CLUSTER / 8; i++) {
			uint64_t place = (uint64_t)random() % 12 * CLUSTER;

			if (random() % 4 == 0)
				place = (uint64_t)random() << 33 | (uint64_t)random();
			write64((random() % 8 ? L2_AT : L1_AT) + 8 * i, place);
		}
		write64(L1_AT, L2_AT);
		for (uint64_t at = 0; at < DISK; at += 3 * CLUSTER / 2) {
			int r = image_read(img, at, buf, CLUSTER);

			assert_true(r == 0 || r == -EIO);
		}
	}
	free(buf);
	image_close(img);
}

/* The longest disk with the smallest clusters: one call looks at a bounded number of tables. */
static void endless(void **state)
{
	uint64_t entries = (32U << 20) / 8, size = entries * TABLE_SPAN;
	uint8_t head[CLUSTER];
	struct image_run run;
	struct image *img;

	(void)state;
	make_head(head, 3);
	put64(head + 24, size);
	put32(head + 36, (uint32_t)entries);
	write_at(0, head, sizeof(head));
	refused(-EMEDIUMTYPE, "truncated");
	assert_int_equal(ftruncate(file, 64 << 20), 0);
	img = opened();
	assert_int_equal(image_size(img), size);
	assert_int_equal(image_map(img, TABLE_SPAN, size - TABLE_SPAN, &run), 0);
	assert_null(run.source);
	assert_true(run.length >= TABLE_SPAN && run.length <= 64 * (uint64_t)TABLE_SPAN);
	expect_bytes(img, size - CLUSTER, CLUSTER, 0);
	image_close(img);
}

/* ---- files their owners change ------------------------------------------------------ */

static void written_meanwhile(void **state)
{
	uint8_t data[CLUSTER];
	struct image *img = opened();
	struct image *again;

	(void)state;
	expect_bytes(img, TABLE_SPAN, CLUSTER, 0);
	memset(data, 'C', sizeof(data));
	write_at(20 * CLUSTER, data, sizeof(data)); /* the file grows */
	write64(19 * CLUSTER, 20 * CLUSTER);        /* a second L2 table */
	write64(L1_AT + 8, 19 * CLUSTER);
	expect_bytes(img, TABLE_SPAN, CLUSTER, 'C');
	write64(30 * CLUSTER, 19 * CLUSTER); /* another L1 table, in reverse order */
	write64(30 * CLUSTER + 8, L2_AT);
	write64(40, 30 * CLUSTER);
	expect_bytes(img, 0, CLUSTER, 'C');
	expect_bytes(img, TABLE_SPAN, CLUSTER, 'A');
	again = opened();
	assert_true(image_is_same(img, again));
	image_close(again);
	image_close(img);
}

static atomic_bool moved_enough, was_read;

/* Moves the first cluster from place to place and gives each old place to another cluster.
 * Repeats this until the first cluster was read at least once. */
static void *move_on(void *arg)
{
	uint8_t ours[CLUSTER], theirs[CLUSTER];

	(void)arg;
	memset(ours, 'A', sizeof(ours));
	memset(theirs, 'Z', sizeof(theirs));
	do {
		for (uint64_t place = DATA_AT + CLUSTER; place < MOVES * CLUSTER;
		     place += CLUSTER) {
			write_at(place + CLUSTER, ours, sizeof(ours));
			write64(L2_AT, place + CLUSTER);
			write_at(place, theirs, sizeof(theirs));
		}
	} while (!atomic_load(&was_read));
	atomic_store(&moved_enough, true);
	return NULL;
}

static void moved_meanwhile(void **state)
{
	struct image *img = opened();
	uint8_t buf[CLUSTER];
	pthread_t owner;

	(void)state;
	atomic_store(&moved_enough, false);
	atomic_store(&was_read, false);
	assert_int_equal(pthread_create(&owner, NULL, move_on, NULL), 0);
	while (!atomic_load(&moved_enough)) {
		int r = image_read(img, 0, buf, CLUSTER);

		assert_true(r == 0 || r == -EAGAIN);
		for (unsigned i = 0; r == 0 && i < CLUSTER; i++)
			assert_int_equal(buf[i], 'A');
		if (r == 0)
			atomic_store(&was_read, true);
	}
	pthread_join(owner, NULL);
	image_close(img);
}

static void another_disk(void **state)
{
	struct image *img = opened(), *again;
	uint8_t buf[CLUSTER];

	(void)state;
	write64(24, DISK - CLUSTER);
	assert_int_equal(image_read(img, 0, buf, CLUSTER), -EIO);
	again = opened();
	expect_bytes(again, 0, CLUSTER, 'A');
	assert_false(image_is_same(img, again));
	image_close(again);
	image_close(img);
	img = opened();
	write64(72, 2); /* found corrupt by its owner */
	assert_int_equal(image_read(img, 0, buf, CLUSTER), -EIO);
	refused(-EMEDIUMTYPE, "corrupt");
	image_close(img);
}

static void cut_within_its_last_cluster(void **state)
{
	struct image *img;
	uint8_t buf[CLUSTER];

	(void)state;
	assert_int_equal(ftruncate(file, DATA_AT + CLUSTER + 100), 0);
	img = opened();
	expect_bytes(img, 0, 100, 'A');
	expect_bytes(img, 100, CLUSTER - 100, 0);
	image_close(img);
	assert_int_equal(ftruncate(file, DATA_AT + CLUSTER), 0);
	img = opened();
	assert_int_equal(image_read(img, 0, buf, 1), -EIO);
	image_close(img);
}

/* ---- backing files -------------------------------------------------------------------- */

static void write_backing(const char *name, const char *format)
{
	uint8_t head[CLUSTER];

	make_head(head, 3);
	set_backing(head, name, format);
	write_at(0, head, sizeof(head));
}

static void backed_by_itself(void **state)
{
	(void)state;
	write_backing(strrchr(path, '/') + 1, "qcow2");
	refused(-ELOOP, "its own backing file");
}

static void backed_by_what_is_not_read(void **state)
{
	(void)state;
	write_backing("base.vmdk", "vmdk");
	refused(-EMEDIUMTYPE, "format vmdk");
	write_backing("nbd://host/disk", "raw");
	refused(-EMEDIUMTYPE, "expected the path of a file");
	write_backing("json:{\"driver\": \"raw\"}", "raw");
	refused(-EMEDIUMTYPE, "expected the path of a file");
	write_backing("/nonexistent/base", "raw");
	refused_naming(-ENOENT, "/nonexistent/base", "No such file");
}

/* Without a format in the header, the guest could make a raw base look like a qcow2. */
static void backed_by_what_is_not_said(void **state)
{
	uint8_t head[CLUSTER];

	(void)state;
	make_head(head, 3);
	set_backing(head, "base", "raw");
	put32(head + 104, 0);
	write_at(0, head, sizeof(head));
	refused(-EMEDIUMTYPE, "rebase -u -F raw -b base");
}

static void backed_by_too_many(void **state)
{
	char name[40][80];
	uint8_t head[CLUSTER];
	struct image *img;

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		int fd;

		snprintf(name[i], sizeof(name[i]), "%s.%u", path, i);
		fd = open(name[i], O_CREAT | O_RDWR, 0600);
		make_head(head, 3);
		if (i < 39) {
			char next[80];

			snprintf(next, sizeof(next), "%s.%u", path, i + 1);
			set_backing(head, next, "qcow2");
		}
		assert_int_equal(pwrite(fd, head, sizeof(head), 0), sizeof(head));
		assert_int_equal(ftruncate(fd, DATA_AT), 0);
		close(fd);
	}
	write_backing(name[0], "qcow2");
	refused(-ELOOP, "has more than 32 files");
	write_backing(name[20], "qcow2");
	img = opened();
	expect_bytes(img, 0, CLUSTER, 'A');
	expect_bytes(img, 2 * CLUSTER, CLUSTER, 0);
	image_close(img);
	for (unsigned i = 0; i < 40; i++)
		unlink(name[i]);
}

static void give(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(source_give(name, fd), 0);
}

/* A parser is given the files that vreadd found.  If the image names another file since then, the
 * parser must not open that file.  This test is the last one: its process opens no named file any
 * more. */
static void a_parser_opens_no_backing_file(void **state)
{
	char base[sizeof(path) + 8];
	int fd;

	(void)state;
	snprintf(base, sizeof(base), "%s.base", path);
	fd = open(base, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, CLUSTER), 0);
	close(fd);
	write_backing(strrchr(base, '/') + 1, "raw");
	give(path);
	refused_naming(-ESTALE, base, "and did not before");
	give(path);
	give(base);
	image_close(opened());
	unlink(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right_heads),
		cmocka_unit_test(wrong_numbers),
		cmocka_unit_test(wrong_extensions),
		cmocka_unit_test(names_that_cannot_be_shown),
		cmocka_unit_test(any_bytes),
		cmocka_unit_test_setup_teardown(read_in_pieces, make_file, remove_file),
		cmocka_unit_test_setup_teardown(entries_that_lead_nowhere, make_file, remove_file),
		cmocka_unit_test_setup_teardown(larger_clusters_are_aligned, make_file,
						remove_file),
		cmocka_unit_test_setup_teardown(tables_of_anything, make_file, remove_file),
		cmocka_unit_test_setup_teardown(endless, make_file, remove_file),
		cmocka_unit_test_setup_teardown(written_meanwhile, make_file, remove_file),
		cmocka_unit_test_setup_teardown(moved_meanwhile, make_file, remove_file),
		cmocka_unit_test_setup_teardown(another_disk, make_file, remove_file),
		cmocka_unit_test_setup_teardown(cut_within_its_last_cluster, make_file,
						remove_file),
		cmocka_unit_test_setup_teardown(backed_by_itself, make_file, remove_file),
		cmocka_unit_test_setup_teardown(backed_by_what_is_not_read, make_file, remove_file),
		cmocka_unit_test_setup_teardown(backed_by_what_is_not_said, make_file, remove_file),
		cmocka_unit_test_setup_teardown(backed_by_too_many, make_file, remove_file),
		cmocka_unit_test_setup_teardown(a_parser_opens_no_backing_file, make_file,
						remove_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
