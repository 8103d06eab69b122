// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements bell.h. The asynchronous request asks whether a private eventfd is readable. It always
 * is, so the request completes before io_submit(2) returns.
 */
#include "base/bell.h"

#include <errno.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

struct bell {
	aio_context_t context;
	int readable;
};

int bell_new(struct bell **ret)
{
	struct bell *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	b->readable = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	if (b->readable >= 0 && syscall(SYS_io_setup, 1, &b->context) == 0) {
		*ret = b;
		return 0;
	}
	r = -errno;
	bell_free(b);
	return r;
}

void bell_ring(struct bell *b, int eventfd)
{
	struct iocb request = {
		.aio_lio_opcode = IOCB_CMD_POLL,
		.aio_fildes = (uint32_t)b->readable,
		.aio_buf = POLLIN,
		.aio_flags = IOCB_FLAG_RESFD,
		.aio_resfd = (uint32_t)eventfd,
	};
	struct iocb *requests = &request;
	struct io_event event;

	if (syscall(SYS_io_submit, b->context, 1, &requests) == 1)
		syscall(SYS_io_getevents, b->context, 0, 1, &event, NULL);
}

void bell_free(struct bell *b)
{
	if (!b)
		return;
	if (b->context)
		syscall(SYS_io_destroy, b->context);
	if (b->readable >= 0)
		close(b->readable);
	free(b);
}
