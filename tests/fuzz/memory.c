// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements memory.h with a memfd, which image_open() opens like any file, and a mapping of it.
 * Writes through the mapping do not change the file's times.
 */
#include "memory.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

char *memory_base_path(const char *name)
{
	const char *folder = getenv("FUZZ_BASES");
	char *path;

	check(asprintf(&path, "%s/%s", folder ? folder : "build/fuzz/bases", name) > 0);
	return path;
}

void memory_new(struct memory *m, size_t size)
{
	char *error = NULL;

	*m = (struct memory){.size = size, .fd = memfd_create("image", MFD_CLOEXEC)};
	check(m->fd >= 0 && ftruncate(m->fd, (off_t)size) == 0);
	m->bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	check(m->bytes != MAP_FAILED);
	m->pristine = calloc(1, size);
	check(m->pristine);
	snprintf(m->path, sizeof(m->path), "/proc/self/fd/%d", m->fd);
	check(image_open(m->path, SOURCE_BUFFERED, &m->image, &error) == 0);
}

void memory_load(struct memory *m, const char *name)
{
	char *path = memory_base_path(name);
	FILE *file = fopen(path, "re");
	struct stat st;

	if (!file) {
		fprintf(stderr, "%s: not there: python -m tests.fuzz.bases\n", path);
		exit(1);
	}
	check(fstat(fileno(file), &st) == 0);
	memory_new(m, (size_t)st.st_size);
	check(fread(m->pristine, 1, m->size, file) == m->size);
	memcpy(m->bytes, m->pristine, m->size);
	fclose(file);
	free(path);
}

uint8_t *memory_touch(struct memory *m, uint64_t offset, size_t length)
{
	if (offset > m->size || length > m->size - offset)
		return NULL;
	m->touched = reallocarray(m->touched, m->num_touched + 1, sizeof(*m->touched));
	check(m->touched);
	m->touched[m->num_touched++] = (struct memory_range){(size_t)offset, length};
	return m->bytes + offset;
}

void memory_restore(struct memory *m)
{
	for (size_t i = 0; i < m->num_touched; i++) {
		const struct memory_range *r = &m->touched[i];

		memcpy(m->bytes + r->offset, m->pristine + r->offset, r->length);
	}
	m->num_touched = 0;
}

void memory_written(struct memory *m)
{
	static time_t now;
	struct timespec times[2] = {{.tv_sec = now}, {.tv_sec = now}};

	now++;
	check(futimens(m->fd, times) == 0);
}
