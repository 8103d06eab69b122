/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * imagebench - the speeds vRead is measured against.
 *
 *   imagebench memcpy BYTES REQUEST   copies BYTES of memory, REQUEST at a time
 *   imagebench pread IMAGE REQUEST    preads IMAGE at the extents listed on standard input,
 *                                     one "OFFSET LENGTH" per line
 *   imagebench sum IMAGE REQUEST      the same, and sums up what was read (for comparing)
 *
 * Both copy into one page-aligned buffer of REQUEST bytes, as a caller of read() has.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <unistd.h>

#include "measure.h"

#define MAX_EXTENTS 65536

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

static int bench_pread(const char *image, size_t request, bool summing)
{
	static struct extent extents[MAX_EXTENTS];
	size_t count = read_extents(extents);
	uint8_t *buffer = measure_buffer(request);
	uint64_t bytes = 0, sum = 0;
	struct measure start;
	int fd = open(image, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		fprintf(stderr, "%s: %s\n", image, strerror(errno));
		return 1;
	}
	start = measure_now();
	for (size_t i = 0; i < count; i++) {
		for (uint64_t done = 0; done < extents[i].length;) {
			size_t n = min_size(extents[i].length - done, request);
			ssize_t got = pread(fd, buffer, n, (off_t)(extents[i].offset + done));

			if (got <= 0) {
				fprintf(stderr, "%s: %zu bytes at %" PRIu64 ": %s\n", image, n,
					extents[i].offset + done,
					got ? strerror(errno) : "the image ends there");
				return 1;
			}
			if (summing)
				sum = measure_sum(sum, buffer, (size_t)got);
			done += (uint64_t)got;
		}
		bytes += extents[i].length;
	}
	measure_print(start, bytes, sum);
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	size_t request;

	if (argc != 4) {
		fprintf(stderr, "usage: imagebench memcpy BYTES REQUEST\n"
				"       imagebench pread|sum IMAGE REQUEST < EXTENTS\n");
		return 2;
	}
	request = measure_count("REQUEST", argv[3], 1U << 30);
	if (!strcmp(argv[1], "memcpy"))
		return bench_memcpy(measure_count("BYTES", argv[2], 1ULL << 40), request);
	if (!strcmp(argv[1], "pread") || !strcmp(argv[1], "sum"))
		return bench_pread(argv[2], request, argv[1][0] == 's');
	fprintf(stderr, "imagebench: %s: expected memcpy, pread or sum\n", argv[1]);
	return 2;
}
