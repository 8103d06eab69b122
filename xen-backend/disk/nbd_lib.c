// SPDX-License-Identifier: GPL-2.0-or-later
/* Loading libnbd; see nbd_lib.h. */
#include "disk/nbd_lib.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define LIBRARY "libnbd.so.0"

static struct nbd_lib lib;
static bool complete;

static void load(void)
{
	static const struct {
		const char *name;
		size_t at;
	} call[] = {
		{"nbd_create", offsetof(struct nbd_lib, create)},
		{"nbd_close", offsetof(struct nbd_lib, close)},
		{"nbd_get_error", offsetof(struct nbd_lib, get_error)},
		{"nbd_aio_connect_unix", offsetof(struct nbd_lib, connect_unix)},
		{"nbd_aio_is_connecting", offsetof(struct nbd_lib, is_connecting)},
		{"nbd_aio_is_ready", offsetof(struct nbd_lib, is_ready)},
		{"nbd_aio_get_fd", offsetof(struct nbd_lib, fd)},
		{"nbd_aio_get_direction", offsetof(struct nbd_lib, direction)},
		{"nbd_poll", offsetof(struct nbd_lib, poll)},
		{"nbd_get_size", offsetof(struct nbd_lib, get_size)},
		{"nbd_get_block_size", offsetof(struct nbd_lib, get_block_size)},
		{"nbd_aio_pread", offsetof(struct nbd_lib, pread)},
		{"nbd_aio_command_completed", offsetof(struct nbd_lib, completed)},
	};
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	complete = handle;
	for (size_t i = 0; i < sizeof(call) / sizeof(call[0]) && complete; i++) {
		void **to = (void **)((char *)&lib + call[i].at);

		*to = dlsym(handle, call[i].name);
		complete = *to;
	}
}

const struct nbd_lib *nbd_lib(const char **ret_error)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	*ret_error = LIBRARY " is not there; install libnbd (Debian: libnbd0)";
	return complete ? &lib : NULL;
}
