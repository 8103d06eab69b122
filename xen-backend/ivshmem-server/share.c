// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements share.h: creates memory and doorbells, and speaks QEMU's ivshmem-server protocol
 * (QEMU's docs/specs/ivshmem-spec, protocol version 0). guest.c calls it.
 *
 * The memory is sealed against resizing, so that no access of vreadd or of another process can
 * fault. All pages are allocated at once. So a host without memory refuses the QEMU, and the pages
 * count for the limits of this service, not for those of vreadd or of the QEMU. Whoever gets a
 * descriptor may change its flags. So no eventfd is read here, and a bell rings them, which does
 * not wait.
 */
#include "ivshmem-server/share.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vread-ivshmem.h"
#include "vread-ring-user.h"

#define PAGES_BYTES ((size_t)2 * VREAD_PAGE_SIZE)

/* ---- creating ---------------------------------------------------------------------- */

static int create_memory(struct guest_share *s)
{
	void *pages;

	s->memory_fd = memfd_create("vread-ivshmem", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->memory_fd < 0 || fallocate(s->memory_fd, 0, 0, (off_t)s->memory) ||
	    fcntl(s->memory_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	pages = mmap(NULL, PAGES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, s->memory_fd, 0);
	if (pages == MAP_FAILED)
		return -errno;
	s->pages = pages;
	((struct vread_ivshmem_control *)pages)->magic = VREAD_IVSHMEM_MAGIC;
	return 0;
}

static int create_doorbells(struct guest_share *s)
{
	for (unsigned v = 0; v <= s->queues; v++) {
		s->to_host[v] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		s->to_guest[v] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (s->to_host[v] < 0 || s->to_guest[v] < 0)
			return -errno;
	}
	return 0;
}

int guest_share_create(struct guest_share *s, size_t memory, unsigned queues)
{
	int r;

	*s = (struct guest_share){.memory = memory, .queues = queues, .memory_fd = -1};
	memset(s->to_host, -1, sizeof(s->to_host));
	memset(s->to_guest, -1, sizeof(s->to_guest));
	r = create_memory(s);
	if (!r)
		r = create_doorbells(s);
	if (r)
		guest_share_destroy(s);
	return r;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void guest_share_punch(const struct guest_share *s)
{
	if (s->memory_fd >= 0)
		fallocate(s->memory_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			  (off_t)s->memory);
}

void guest_share_destroy(struct guest_share *s)
{
	if (s->pages)
		munmap(s->pages, PAGES_BYTES);
	s->pages = NULL;
	close_fd(&s->memory_fd);
	for (unsigned v = 0; v < IVSHMEM_MAX_VECTORS; v++) {
		close_fd(&s->to_host[v]);
		close_fd(&s->to_guest[v]);
	}
}

/* ---- the end of vreadd ------------------------------------------------------------- */

/* xen/io/xenbus.h has the states as an enum; this program needs one of them. */
#define STATE_CLOSED 6U

void guest_share_end_backend(const struct guest_share *s, struct bell *bell)
{
	struct vread_ivshmem_control *control = (void *)s->pages;
	uint8_t *alive = s->pages + VREAD_PAGE_SIZE + VREAD_RING_ALIVE_OFFSET;
	uint32_t word = __atomic_load_n(&control->backend, __ATOMIC_RELAXED);

	__atomic_store_n(alive, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&control->backend,
			 VREAD_IVSHMEM_WORD(VREAD_IVSHMEM_EPOCH(word), STATE_CLOSED),
			 __ATOMIC_SEQ_CST);
	for (unsigned v = 0; v <= s->queues; v++)
		bell_ring(bell, s->to_guest[v]);
}

/* ---- messages ---------------------------------------------------------------------- */

/* Sends a number, and a descriptor if fd is not negative. */
static int send_number(int connection, int64_t number, int fd)
{
	int64_t little = (int64_t)htole64((uint64_t)number);
	struct iovec part = {&little, sizeof(little)};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} rights = {.header = {.cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS,
			       .cmsg_len = CMSG_LEN(sizeof(int))}};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd >= 0) {
		memcpy(CMSG_DATA(&rights.header), &fd, sizeof(fd));
		message.msg_control = &rights;
		message.msg_controllen = sizeof(rights);
	}
	if (sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(little))
		return 0;
	return errno ? -errno : -EAGAIN;
}

static int send_doorbells(int connection, int64_t peer, const int *fds, unsigned count)
{
	int r = 0;

	for (unsigned v = 0; !r && v < count; v++)
		r = send_number(connection, peer, fds[v]);
	return r;
}

int guest_share_send_to_qemu(const struct guest_share *s, int connection)
{
	const unsigned vectors = 1 + s->queues;
	int r;

	errno = 0;
	r = send_number(connection, 0, -1); /* the version of the protocol */
	if (!r)
		r = send_number(connection, VREAD_IVSHMEM_GUEST, -1);
	if (!r)
		r = send_number(connection, -1, s->memory_fd);
	if (!r)
		r = send_doorbells(connection, VREAD_IVSHMEM_HOST, s->to_host, vectors);
	if (!r)
		r = send_doorbells(connection, VREAD_IVSHMEM_GUEST, s->to_guest, vectors);
	return r;
}

/*
 * QEMU ends if the version is not the one that it knows. If the connection is just closed, QEMU 7.2
 * reads the end of it for ever.
 */
void guest_share_refuse_qemu(int connection)
{
	send_number(connection, -EBUSY, -1);
}

unsigned guest_share_fds(const struct guest_share *s, int fds[IVSHMEM_MAX_FDS])
{
	const unsigned vectors = 1 + s->queues;
	unsigned n = 0;

	fds[n++] = s->memory_fd;
	for (unsigned v = 0; v < vectors; v++)
		fds[n++] = s->to_host[v];
	for (unsigned v = 0; v < vectors; v++)
		fds[n++] = s->to_guest[v];
	return n;
}
