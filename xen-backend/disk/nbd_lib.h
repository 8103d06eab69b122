/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nbd_lib.h - libnbd, found when it is needed.
 *
 * It brings TLS, XML and Unicode tables with it, which a dom0 whose images are
 * all read in place should not have to install.
 */
#ifndef VREAD_DISK_NBD_LIB_H
#define VREAD_DISK_NBD_LIB_H

#include <libnbd.h>

struct nbd_lib {
	__typeof__(nbd_create) *create;
	__typeof__(nbd_close) *close;
	__typeof__(nbd_get_error) *get_error;
	__typeof__(nbd_aio_connect_unix) *connect_unix;
	__typeof__(nbd_aio_is_connecting) *is_connecting;
	__typeof__(nbd_aio_is_ready) *is_ready;
	__typeof__(nbd_aio_get_fd) *fd;
	__typeof__(nbd_aio_get_direction) *direction;
	__typeof__(nbd_poll) *poll;
	__typeof__(nbd_get_size) *get_size;
	__typeof__(nbd_get_block_size) *get_block_size;
	__typeof__(nbd_aio_pread) *pread;
	__typeof__(nbd_aio_command_completed) *completed;
};

/* NULL: it is not installed, *ret_error says so (a static text). */
const struct nbd_lib *nbd_lib(const char **ret_error);

#endif
