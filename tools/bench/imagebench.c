/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * imagebench.c - measures memory copies and plain reads, which native.py and image.py compare
 * with vRead.
 *
 *   imagebench memcpy BYTES REQUEST   copies BYTES of memory, REQUEST at a time
 *   imagebench pread IMAGE REQUEST    preads IMAGE at the extents listed on standard input,
 *                                     one "OFFSET LENGTH" per line
 *   imagebench sum IMAGE REQUEST      the same, and sums up what was read (for comparing)
 *   imagebench direct IMAGE REQUEST   as pread, with O_DIRECT; extents are rounded to whole
 *                                     sectors of 4096 bytes
 *   imagebench hand IMAGE REQUEST     as pread, and sums up every 512 bytes by CRC32C, copies the
 *                                     bytes to shared memory and from there to the buffer, all in
 *                                     one thread: a reader that gets verified bytes from another
 *                                     process cannot do less
 *   imagebench cool IMAGE             drops IMAGE's pages from the page cache and prints how
 *                                     many are left there
 *   imagebench roundtrip              how long a cache line takes from one CPU to the next
 *                                     and back, at best, in nanoseconds
 *
 * The copies go into one page-aligned buffer of REQUEST bytes, as a caller of read() has.
 *
 * CPUs that share a cache have a round trip of about 50 ns, others one of about 300 ns.  In a
 * virtual machine this may change from minute to minute, and with it the speed of everything
 * that hands data from CPU to CPU.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "measure.h"
#include "read/checksum.h"

#define MAX_EXTENTS 65536
#define SECTOR 4096U
#define CHUNK 512U               /* bytes of one checksum of HDFS */
#define SLICE_BYTES (4U << 20)   /* shared memory of a reader of libvread */
#define PIECE_BYTES (512U << 10) /* largest READ of libvread */

struct extent {
	uint64_t offset, length;
};

static size_t min_size(uint64_t a, size_t b)
{
	return a < b ? (size_t)a : b;
}

static int bench_memcpy(uint64_t bytes, size_t request)
{
	const uint8_t *source = measure_buffer(bytes);
	uint8_t *buffer = measure_buffer(request);
	struct measure start = measure_now();
	uint64_t sum = 0;

	for (uint64_t done = 0; done < bytes;) {
		size_t n = min_size(bytes - done, request);

		memcpy(buffer, source + done, n);
		sum += buffer[n - 1]; /* the copy is not to be optimised away */
		done += n;
	}
	measure_print(start, bytes, sum);
	return 0;
}

static size_t read_extents(struct extent *extents)
{
	size_t n = 0;

	while (n < MAX_EXTENTS &&
	       scanf("%" SCNu64 " %" SCNu64, &extents[n].offset, &extents[n].length) == 2)
		n++;
	if (n == 0 || n == MAX_EXTENTS || !feof(stdin)) {
		fprintf(stderr, "standard input: expected 1 .. %d lines \"OFFSET LENGTH\"\n",
			MAX_EXTENTS - 1);
		exit(2);
	}
	return n;
}

/* Rounds to sectors, for O_DIRECT.  Behind the end of a file the image goes on. */
static void round_extents(struct extent *extents, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t end = extents[i].offset + extents[i].length;

		extents[i].offset -= extents[i].offset % SECTOR;
		extents[i].length = (end + SECTOR - 1) / SECTOR * SECTOR - extents[i].offset;
	}
}

/* One piece on its way from one process to another.  buffer has room for the piece. */
static uint64_t hand_on(const uint8_t *piece, size_t length, uint8_t *buffer)
{
	static uint8_t *slice;
	static size_t used;
	uint64_t sum = 0;

	if (!slice)
		slice = measure_buffer(SLICE_BYTES);
	if (used + length > SLICE_BYTES)
		used = 0;
	for (size_t at = 0; at < length; at += CHUNK)
		sum += checksum_crc32c(piece + at, min_size(length - at, CHUNK));
	memcpy(slice + used, piece, length);
	memcpy(buffer, slice + used, length);
	used += length;
	return sum;
}

enum pread_mode { PLAIN, SUMMING, DIRECT, HANDING };

static int bench_pread(const char *image, size_t request, enum pread_mode mode)
{
	static struct extent extents[MAX_EXTENTS];
	size_t count = read_extents(extents);
	bool direct = mode == DIRECT;
	uint8_t *buffer = measure_buffer(request), *piece = buffer;
	uint64_t bytes = 0, sum = 0;
	struct measure start;
	int fd = open(image, O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));

	if (fd < 0) {
		fprintf(stderr, "%s: %s\n", image, strerror(errno));
		return 1;
	}
	if (direct)
		round_extents(extents, count);
	if (mode == HANDING) {
		request = min_size(request, PIECE_BYTES);
		piece = measure_buffer(request);
	}
	start = measure_now();
	for (size_t i = 0; i < count; i++) {
		for (uint64_t done = 0; done < extents[i].length;) {
			size_t n = min_size(extents[i].length - done, request);
			ssize_t got = pread(fd, piece, n, (off_t)(extents[i].offset + done));

			if (got <= 0) {
				fprintf(stderr, "%s: %zu bytes at %" PRIu64 ": %s\n", image, n,
					extents[i].offset + done,
					got ? strerror(errno) : "the image ends there");
				return 1;
			}
			if (mode == SUMMING)
				sum = measure_sum(sum, buffer, (size_t)got);
			if (mode == HANDING)
				sum += hand_on(piece, (size_t)got, buffer);
			done += (uint64_t)got;
		}
		bytes += extents[i].length;
	}
	measure_print(start, bytes, sum);
	close(fd);
	return 0;
}

/* ---- a cold image ---------------------------------------------------------- */

/* How many pages of the file are in the page cache. */
static int count_resident(int fd, uint64_t size, uint64_t *ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size + page - 1) / page;
	void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	unsigned char *in = malloc(pages);

	if (map == MAP_FAILED || !in || mincore(map, size, in) < 0)
		return -1;
	*ret = 0;
	for (size_t i = 0; i < pages; i++)
		*ret += in[i] & 1;
	free(in);
	return munmap(map, size);
}

/* Writes dirty pages first: they would stay in the page cache. */
static int cool(const char *image)
{
	int fd = open(image, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	uint64_t resident;

	if (size <= 0 || fsync(fd) < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) ||
	    count_resident(fd, (uint64_t)size, &resident) < 0) {
		fprintf(stderr, "%s: %s\n", image, strerror(errno));
		return 1;
	}
	printf("{\"resident_pages\": %" PRIu64 "}\n", resident);
	close(fd);
	return 0;
}

/* ---- round trip ------------------------------------------------------------ */

#define BATCHES 50
#define TRIPS 1000

static _Alignas(128) atomic_int ball; /* odd: the other thread's turn */

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0) {
		fprintf(stderr, "CPU %d: %s\n", cpu, strerror(errno));
		exit(1);
	}
}

static void *return_balls(void *unused)
{
	stay_on(1);
	for (int i = 0; i < BATCHES * TRIPS; i++) {
		while (atomic_load(&ball) != 2 * i + 1)
			;
		atomic_store(&ball, 2 * i + 2);
	}
	return unused;
}

static int bench_roundtrip(void)
{
	double best = 1e9;
	pthread_t other;

	if (pthread_create(&other, NULL, return_balls, NULL))
		return 1;
	stay_on(0);
	for (int batch = 0; batch < BATCHES; batch++) {
		struct measure start = measure_now();
		double ns;

		for (int i = batch * TRIPS; i < (batch + 1) * TRIPS; i++) {
			atomic_store(&ball, 2 * i + 1);
			while (atomic_load(&ball) != 2 * i + 2)
				;
		}
		ns = (measure_now().seconds - start.seconds) * 1e9 / TRIPS;
		best = ns < best ? ns : best;
	}
	pthread_join(other, NULL);
	printf("{\"round_trip_ns\": %.0f}\n", best);
	return 0;
}

int main(int argc, char **argv)
{
	size_t request;

	if (argc == 2 && !strcmp(argv[1], "roundtrip"))
		return bench_roundtrip();
	if (argc == 3 && !strcmp(argv[1], "cool"))
		return cool(argv[2]);
	if (argc != 4) {
		fprintf(stderr, "usage: imagebench memcpy BYTES REQUEST\n"
				"       imagebench pread|sum|direct|hand IMAGE REQUEST < EXTENTS\n"
				"       imagebench cool IMAGE\n"
				"       imagebench roundtrip\n");
		return 2;
	}
	request = measure_count("REQUEST", argv[3], 1U << 30);
	if (!strcmp(argv[1], "memcpy"))
		return bench_memcpy(measure_count("BYTES", argv[2], 1ULL << 40), request);
	if (!strcmp(argv[1], "pread"))
		return bench_pread(argv[2], request, PLAIN);
	if (!strcmp(argv[1], "sum"))
		return bench_pread(argv[2], request, SUMMING);
	if (!strcmp(argv[1], "direct"))
		return bench_pread(argv[2], request, DIRECT);
	if (!strcmp(argv[1], "hand"))
		return bench_pread(argv[2], request, HANDING);
	fprintf(stderr, "imagebench: %s: expected memcpy, pread, sum, direct, hand or cool\n",
		argv[1]);
	return 2;
}
