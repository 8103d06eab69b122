// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements store.h with libxenstore. connect.c, device.c, disks.c and xenbus.c call it.
 */
#include "port/xen/store.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <xenstore_lib.h>

#include "base/number.h"

static int read_path(struct xs_handle *xs, xs_transaction_t t, const char *path, char **ret)
{
	unsigned length;
	char *value = xs_read(xs, t, path, &length);

	if (!value)
		return errno ? -errno : -EIO;
	for (unsigned i = 0; i < length; i++)
		if (!value[i])
			value[i] = '?';
	*ret = value;
	return 0;
}

/* False if the path does not fit. No path of the port is that long. */
static bool make_path(char path[STORE_MAX_PATH], const char *format, va_list ap)
{
	int n = vsnprintf(path, STORE_MAX_PATH, format, ap);

	return n >= 0 && n < STORE_MAX_PATH;
}

#define WITH_PATH(path, format)             \
	char path[STORE_MAX_PATH];          \
	va_list ap;                         \
	bool fits;                          \
	va_start(ap, format);               \
	fits = make_path(path, format, ap); \
	va_end(ap)

int store_read(struct xs_handle *xs, xs_transaction_t t, char **ret, const char *format, ...)
{
	WITH_PATH(path, format);

	return fits ? read_path(xs, t, path, ret) : -ENAMETOOLONG;
}

int store_read_number(struct xs_handle *xs, uint32_t max, uint32_t *ret, const char *format, ...)
{
	char *value;
	int r;
	WITH_PATH(path, format);

	if (!fits)
		return -ENAMETOOLONG;
	r = read_path(xs, XBT_NULL, path, &value);
	if (r)
		return r;
	r = parse_number(value, 0, max, ret) ? 0 : -EINVAL;
	free(value);
	return r;
}

int store_write(struct xs_handle *xs, xs_transaction_t t, const char *directory, const char *node,
		const char *value)
{
	char path[STORE_MAX_PATH];

	if (snprintf(path, sizeof(path), "%s/%s", directory, node) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return xs_write(xs, t, path, value, (unsigned)strlen(value)) ? 0 : -errno;
}

int store_write_number(struct xs_handle *xs, xs_transaction_t t, const char *directory,
		       const char *node, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	return store_write(xs, t, directory, node, text);
}

int store_change(struct xs_handle *xs, store_change_fn *change, const void *ctx)
{
	for (;;) {
		xs_transaction_t t = xs_transaction_start(xs);
		int r;

		if (t == XBT_NULL)
			return errno ? -errno : -EIO;
		r = change(xs, t, ctx);
		if (xs_transaction_end(xs, t, r != 0) || r)
			return r;
		if (errno != EAGAIN)
			return -errno;
	}
}

int store_remove(struct xs_handle *xs, const char *format, ...)
{
	WITH_PATH(path, format);

	if (!fits)
		return -ENAMETOOLONG;
	return xs_rm(xs, XBT_NULL, path) ? 0 : -errno;
}

void store_remove_if_empty(struct xs_handle *xs, const char *format, ...)
{
	unsigned count;
	char **names;
	WITH_PATH(path, format);

	if (!fits)
		return;
	names = xs_directory(xs, XBT_NULL, path, &count);
	if (names && count == 0)
		xs_rm(xs, XBT_NULL, path);
	free(names);
}

int store_end_fd(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = xs_daemon_socket();
	int fd;

	if (!path || strlen(path) >= sizeof(address.sun_path))
		return -1;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -1;
}

bool store_has_domain(struct xs_handle *xs, uint32_t domid)
{
	errno = 0;
	return xs_is_domain_introduced(xs, domid) || (errno && errno != EAGAIN && errno != EINTR);
}

char **store_list(struct xs_handle *xs, unsigned *ret_count, const char *format, ...)
{
	WITH_PATH(path, format);

	return fits ? xs_directory(xs, XBT_NULL, path, ret_count) : NULL;
}
