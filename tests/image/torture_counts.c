// SPDX-License-Identifier: GPL-2.0-or-later
/* See torture_counts.h. */
#include "torture_counts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void torture_count_open(struct torture_counts *c, int error)
{
	if (error < 0)
		atomic_fetch_add(&c->open_errors[-error], 1);
	else
		atomic_fetch_add(&c->opens, 1);
}

void torture_count_read(struct torture_counts *c, uint32_t id, unsigned version, uint64_t offset,
			const uint8_t *data, ssize_t n)
{
	if (n < 0)
		atomic_fetch_add(&c->read_errors[-n], 1);
	else
		atomic_fetch_add(&c->verdicts[torture_judge(id, version, offset, data, (size_t)n)],
				 1);
}

static void print_errors(const char *name, _Atomic(uint64_t) *errors)
{
	const char *comma = "";

	printf(", \"%s\": {", name);
	for (int i = 1; i < TORTURE_ERRORS; i++)
		if (atomic_load(&errors[i])) {
			printf("%s\"%s\": %" PRIu64, comma, strerrorname_np(i),
			       atomic_load(&errors[i]));
			comma = ", ";
		}
	putchar('}');
}

bool torture_counts_print(struct torture_counts *c, const char *more)
{
	printf("{%s\"right\": %" PRIu64 ", \"ahead\": %" PRIu64 ", \"wrong\": %" PRIu64
	       ", \"opens\": %" PRIu64,
	       more, atomic_load(&c->verdicts[TORTURE_RIGHT]),
	       atomic_load(&c->verdicts[TORTURE_AHEAD]), atomic_load(&c->verdicts[TORTURE_WRONG]),
	       atomic_load(&c->opens));
	print_errors("open_errors", c->open_errors);
	print_errors("read_errors", c->read_errors);
	puts("}");
	return !atomic_load(&c->verdicts[TORTURE_WRONG]);
}
