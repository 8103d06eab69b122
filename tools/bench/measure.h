/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * measure.h - shared by the programs of the benches: a page-aligned buffer, a clock, CPU time, one
 * line of JSON with the result.
 *
 * Buffers are page aligned, so that all rows of a bench have the same alignment.  On some CPUs
 * memcpy and pread to an address 16 bytes into a page run at a fraction of the speed.
 */
#ifndef VREAD_BENCH_MEASURE_H
#define VREAD_BENCH_MEASURE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

struct measure {
	double seconds, cpu_seconds;
};

static inline struct measure measure_now(void)
{
	struct timespec t;
	struct rusage u;

	clock_gettime(CLOCK_MONOTONIC, &t);
	getrusage(RUSAGE_SELF, &u);
	return (struct measure){
		.seconds = (double)t.tv_sec + (double)t.tv_nsec / 1e9,
		.cpu_seconds = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
			       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6,
	};
}

static inline void measure_print(struct measure start, uint64_t bytes, uint64_t sum)
{
	struct measure end = measure_now();

	printf("{\"bytes\": %llu, \"seconds\": %.6f, \"cpu_seconds\": %.6f, \"sum\": "
	       "\"%016llx\"}\n",
	       (unsigned long long)bytes, end.seconds - start.seconds,
	       end.cpu_seconds - start.cpu_seconds, (unsigned long long)sum);
}

/* Returns page-aligned memory, all pages present; ends the program if there is none. */
static inline void *measure_buffer(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		fprintf(stderr, "%zu bytes of memory: %s\n", size, strerror(errno));
		exit(1);
	}
	memset(p, 0x5a, size);
	return p;
}

/*
 * Sums up data, depending on its order, so that two ways of reading can be compared.  The sum
 * is the same for all cuts of the data into pieces of multiples of 8 bytes.
 */
static inline uint64_t measure_sum(uint64_t sum, const void *data, size_t length)
{
	const uint8_t *p = data;
	uint64_t word;

	for (; length >= sizeof(word); p += sizeof(word), length -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		sum = sum * 31 + word;
	}
	for (; length; length--)
		sum = sum * 31 + *p++;
	return sum;
}

/* Reads every byte, about as fast as memory delivers them. */
static inline uint64_t measure_touch(const void *data, size_t length)
{
	const uint8_t *p = data;
	uint64_t lane[4] = {0}, word[4];

	for (; length >= sizeof(word); p += sizeof(word), length -= sizeof(word)) {
		memcpy(word, p, sizeof(word));
		for (int i = 0; i < 4; i++)
			lane[i] += word[i];
	}
	for (; length; length--)
		lane[0] += *p++;
	return lane[0] + lane[1] + lane[2] + lane[3];
}

/* Reads a number of argv; ends the program unless it is 1 .. limit. */
static inline uint64_t measure_count(const char *what, const char *text, uint64_t limit)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || value == 0 || value > limit) {
		fprintf(stderr, "%s %s: expected 1 .. %llu\n", what, text,
			(unsigned long long)limit);
		exit(2);
	}
	return value;
}

#endif
