/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gnttab.c - a fake of libxengnttab on a memfd.  Reference n is page n of the memfd.
 *
 * Mappings are real: an access after unmapping faults, and each side sees what the other writes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xengnttab.h>

#include "fakexen.h"

#define PAGE 4096U
#define MAX_MAPPINGS 64

struct mapping {
	xengnttab_handle *handle;
	uint8_t *address;
	uint32_t count;
	uint32_t notify_offset, notify_port; /* -1: none */
};

static int memory_fd = -1;
static uint8_t *memory;
static bool bad[FAKE_PAGES], writable[FAKE_PAGES];
static struct mapping mappings[MAX_MAPPINGS];
static unsigned fail_in, calls, handles, pages;
static bool fail_open;

void fake_gnttab_reset(void)
{
	if (memory)
		munmap(memory, FAKE_PAGES * PAGE);
	if (memory_fd >= 0)
		close(memory_fd);
	memory_fd = memfd_create("guest", MFD_CLOEXEC);
	if (memory_fd < 0 || ftruncate(memory_fd, FAKE_PAGES * PAGE))
		abort();
	memory = mmap(NULL, FAKE_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
	if (memory == MAP_FAILED)
		abort();
	memset(bad, 0, sizeof(bad));
	memset(writable, 0, sizeof(writable));
	memset(mappings, 0, sizeof(mappings));
	fail_in = calls = handles = pages = 0;
	fail_open = false;
}

uint8_t *fake_page(uint32_t ref)
{
	return memory + (size_t)ref * PAGE;
}

void fake_bad_ref(uint32_t ref)
{
	bad[ref] = true;
}

void fake_fail_map(unsigned n)
{
	fail_in = n;
}

void fake_fail_gnttab_open(bool fail)
{
	fail_open = fail;
}

unsigned fake_mapped(void)
{
	return pages;
}

unsigned fake_map_calls(void)
{
	return calls;
}

unsigned fake_gnttab_handles(void)
{
	return handles;
}

bool fake_was_writable(uint32_t ref)
{
	return writable[ref];
}

xengnttab_handle *xengnttab_open(struct xentoollog_logger *logger, unsigned flags)
{
	(void)logger, (void)flags;
	if (fail_open) {
		errno = ENODEV;
		return NULL;
	}
	handles++;
	return malloc(1);
}

int xengnttab_close(xengnttab_handle *h)
{
	for (unsigned i = 0; i < MAX_MAPPINGS; i++)
		if (mappings[i].handle == h && mappings[i].count) {
			fprintf(stderr, "fakexen: closed with %u pages mapped\n",
				mappings[i].count);
			abort();
		}
	handles--;
	free(h);
	return 0;
}

static bool usable(uint32_t count, const uint32_t *refs)
{
	for (uint32_t i = 0; i < count; i++)
		if (refs[i] == 0 || refs[i] >= FAKE_PAGES || bad[refs[i]])
			return false;
	return true;
}

static void *map(xengnttab_handle *h, uint32_t count, const uint32_t *refs, int prot,
		 uint32_t notify_offset, uint32_t notify_port)
{
	struct mapping *m = mappings;
	uint8_t *address;

	calls++;
	if ((fail_in && --fail_in == 0) || !usable(count, refs)) {
		errno = EINVAL;
		return NULL;
	}
	while (m->count)
		if (++m == mappings + MAX_MAPPINGS)
			abort();
	address = mmap(NULL, count * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (uint32_t i = 0; i < count; i++) {
		void *page = mmap(address + i * PAGE, PAGE, prot, MAP_SHARED | MAP_FIXED, memory_fd,
				  (off_t)refs[i] * PAGE);

		if (page == MAP_FAILED)
			abort();
		writable[refs[i]] |= prot & PROT_WRITE;
	}
	*m = (struct mapping){h, address, count, notify_offset, notify_port};
	pages += count;
	return address;
}

void *xengnttab_map_grant_ref(xengnttab_handle *h, uint32_t domid, uint32_t ref, int prot)
{
	(void)domid;
	return map(h, 1, &ref, prot, UINT32_MAX, UINT32_MAX);
}

void *xengnttab_map_domain_grant_refs(xengnttab_handle *h, uint32_t count, uint32_t domid,
				      uint32_t *refs, int prot)
{
	(void)domid;
	return map(h, count, refs, prot, UINT32_MAX, UINT32_MAX);
}

void *xengnttab_map_grant_ref_notify(xengnttab_handle *h, uint32_t domid, uint32_t ref, int prot,
				     uint32_t notify_offset, evtchn_port_t notify_port)
{
	(void)domid;
	return map(h, 1, &ref, prot, notify_offset, notify_port);
}

int xengnttab_unmap(xengnttab_handle *h, void *start, uint32_t count)
{
	for (unsigned i = 0; i < MAX_MAPPINGS; i++) {
		struct mapping *m = &mappings[i];

		if (m->handle != h || m->address != start || m->count != count)
			continue;
		if (m->notify_offset != UINT32_MAX)
			m->address[m->notify_offset] = 0;
		if (m->notify_port != UINT32_MAX)
			fake_evtchn_unmapped(m->notify_port);
		munmap(start, count * PAGE);
		pages -= count;
		*m = (struct mapping){0};
		return 0;
	}
	fprintf(stderr, "fakexen: unmapping what is not mapped\n");
	abort();
}
