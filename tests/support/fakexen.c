/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fakexen.c - grants and event channels of guests that tests play, in place of libxengnttab and
 * libxenevtchn. tests/support/xenfront.py is the other end.
 *
 * VREAD_FAKE_XEN names a folder. There, the file "grants-DOMID" is the memory that the domain has
 * granted: grant reference n is page n. Event channel PORT of the domain is a pair of FIFOs,
 * "event-DOMID-PORT" to the host and "notify-DOMID-PORT" to the guest, in units of eight bytes. A
 * call fails as on Xen if its file does not exist. The file "gntdev" is the grant device.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xenevtchn.h>
#include <xengnttab.h>

#define PAGE 4096U
#define MAX_NOTIFICATIONS 256U

/* ---- grants -------------------------------------------------------------------- */

struct notification {
	uint8_t *page;
	uint32_t offset;
	int fd;
};

static struct notification notifications[MAX_NOTIFICATIONS];

static int open_in_folder(const char *format, unsigned a, unsigned b, int flags)
{
	const char *folder = getenv("VREAD_FAKE_XEN");
	char name[64], path[512];

	if (!folder) {
		errno = ENOENT;
		return -1;
	}
	snprintf(name, sizeof(name), format, a, b);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return open(path, flags | O_CLOEXEC);
}

xengnttab_handle *xengnttab_open(struct xentoollog_logger *logger, unsigned flags)
{
	int fd = open_in_folder("gntdev", 0, 0, O_RDONLY);

	(void)logger, (void)flags;
	if (fd < 0)
		return NULL;
	close(fd);
	return malloc(1);
}

int xengnttab_close(xengnttab_handle *h)
{
	free(h);
	return 0;
}

static bool is_granted(int fd, uint32_t count, const uint32_t *refs)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!refs[i] || refs[i] >= st.st_size / PAGE)
			return false;
	return true;
}

void *xengnttab_map_domain_grant_refs(xengnttab_handle *h, uint32_t count, uint32_t domid,
				      uint32_t *refs, int prot)
{
	int fd = open_in_folder("grants-%u", domid, 0, O_RDWR);
	uint8_t *start = NULL;

	(void)h;
	if (fd < 0 || !is_granted(fd, count, refs)) {
		errno = EINVAL;
	} else {
		start = mmap(NULL, (size_t)count * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (uint32_t i = 0; i < count; i++)
			if (mmap(start + (size_t)i * PAGE, PAGE, prot, MAP_SHARED | MAP_FIXED, fd,
				 (off_t)refs[i] * PAGE) == MAP_FAILED)
				abort();
	}
	if (fd >= 0)
		close(fd);
	return start;
}

void *xengnttab_map_grant_ref(xengnttab_handle *h, uint32_t domid, uint32_t ref, int prot)
{
	return xengnttab_map_domain_grant_refs(h, 1, domid, &ref, prot);
}

void *xengnttab_map_grant_ref_notify(xengnttab_handle *h, uint32_t domid, uint32_t ref, int prot,
				     uint32_t notify_offset, evtchn_port_t notify_port)
{
	void *page = xengnttab_map_grant_ref(h, domid, ref, prot);

	for (unsigned i = 0; page && i < MAX_NOTIFICATIONS; i++)
		if (!notifications[i].page) {
			notifications[i] =
				(struct notification){page, notify_offset, dup((int)notify_port)};
			return page;
		}
	return page;
}

int xengnttab_unmap(xengnttab_handle *h, void *start, uint32_t count)
{
	static const uint64_t one = 1;

	(void)h;
	for (unsigned i = 0; i < MAX_NOTIFICATIONS; i++) {
		struct notification *n = &notifications[i];

		if (n->page != start)
			continue;
		n->page[n->offset] = 0;
		if (write(n->fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
			abort();
		close(n->fd);
		*n = (struct notification){0};
	}
	return munmap(start, (size_t)count * PAGE);
}

/* ---- event channels ---------------------------------------------------------------- */

/* The local port is the descriptor of the FIFO to the guest. */
struct xenevtchn_handle {
	int events, notify;
};

xenevtchn_handle *xenevtchn_open(struct xentoollog_logger *logger, unsigned flags)
{
	struct xenevtchn_handle *h = malloc(sizeof(*h));

	(void)logger, (void)flags;
	*h = (struct xenevtchn_handle){-1, -1};
	return h;
}

int xenevtchn_close(xenevtchn_handle *h)
{
	close(h->events);
	close(h->notify);
	free(h);
	return 0;
}

int xenevtchn_fd(xenevtchn_handle *h)
{
	return h->events;
}

/* A new binding has one pending event. */
static ssize_t send_first_event(const xenevtchn_handle *h)
{
	static const uint64_t one = 1;

	return write(h->events, &one, sizeof(one));
}

xenevtchn_port_or_error_t xenevtchn_bind_interdomain(xenevtchn_handle *h, uint32_t domid,
						     evtchn_port_t remote_port)
{
	h->events = open_in_folder("event-%u-%u", domid, remote_port, O_RDWR | O_NONBLOCK);
	h->notify = open_in_folder("notify-%u-%u", domid, remote_port, O_RDWR | O_NONBLOCK);
	if (h->events < 0 || h->notify < 0) {
		errno = EINVAL;
		return -1;
	}
	if (send_first_event(h) < 0)
		abort();
	return h->notify;
}

xenevtchn_port_or_error_t xenevtchn_pending(xenevtchn_handle *h)
{
	uint64_t events[64];

	return read(h->events, events, sizeof(events)) < 0 ? -1 : h->notify;
}

int xenevtchn_unmask(xenevtchn_handle *h, evtchn_port_t port)
{
	(void)h, (void)port;
	return 0;
}

int xenevtchn_notify(xenevtchn_handle *h, evtchn_port_t port)
{
	static const uint64_t one = 1;

	(void)port;
	return write(h->notify, &one, sizeof(one)) < 0 && errno != EAGAIN ? -1 : 0;
}
