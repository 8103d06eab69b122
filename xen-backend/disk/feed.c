// SPDX-License-Identifier: GPL-2.0-or-later
/* Both ends of a feed; see feed.h. */
#include "disk/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "disk/image_impl.h"

#define MAX_READ (1U << 20)

struct request {
	uint64_t offset;
	uint32_t length;
};

static bool send_all(int fd, const void *bytes, size_t length)
{
	for (size_t done = 0; done < length;) {
		struct iovec rest = {(uint8_t *)bytes + done, length - done};
		struct msghdr m = {.msg_iov = &rest, .msg_iovlen = 1};
		ssize_t n = sendmsg(fd, &m, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static bool receive_all(int fd, void *bytes, size_t length)
{
	for (size_t done = 0; done < length;) {
		struct iovec rest = {(uint8_t *)bytes + done, length - done};
		struct msghdr m = {.msg_iov = &rest, .msg_iovlen = 1};
		ssize_t n = recvmsg(fd, &m, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* ---- where it can be read --------------------------------------------------------- */

bool image_needs_feed(const struct image *img)
{
	return img->format->ops == &image_nbd;
}

void image_feed(struct image *img, int socket)
{
	uint8_t *buf = malloc(MAX_READ);
	struct request q;

	while (buf && receive_all(socket, &q, sizeof(q)) && q.length <= MAX_READ) {
		int32_t result = image_read(img, q.offset, buf, q.length);

		if (!send_all(socket, &result, sizeof(result)) ||
		    (result == 0 && !send_all(socket, buf, q.length)))
			break;
	}
	free(buf);
}

/* ---- where it cannot ---------------------------------------------------------------- */

struct fed {
	pthread_mutex_t lock; /* of the socket: a question and its answer */
	int socket;
};

static int ask(struct fed *f, uint64_t offset, void *buf, uint32_t length)
{
	struct request q = {offset, length};
	int32_t result;

	if (!send_all(f->socket, &q, sizeof(q)) || !receive_all(f->socket, &result, sizeof(result)))
		return -EIO;
	if (result < 0)
		return result;
	return receive_all(f->socket, buf, length) ? 0 : -EIO;
}

static int fed_read(struct image *img, uint64_t offset, void *buf, size_t length)
{
	struct fed *f = img->state;
	uint8_t *to = buf;
	int r = 0;

	pthread_mutex_lock(&f->lock);
	while (length > 0 && r == 0) {
		uint32_t n = length < MAX_READ ? (uint32_t)length : MAX_READ;

		r = ask(f, offset, to, n);
		to += n;
		offset += n;
		length -= n;
	}
	pthread_mutex_unlock(&f->lock);
	return r;
}

static int fed_open(struct image *img, char **ret_error)
{
	(void)img, (void)ret_error;
	return 0;
}

static void fed_close(struct image *img)
{
	struct fed *f = img->state;

	if (!f)
		return;
	close(f->socket);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* Not current, as all that needs one. */
static const struct image_ops image_fed = {
	.open = fed_open,
	.close = fed_close,
	.read = fed_read,
};

int image_open_fed(const char *path, enum source_mode mode, uint64_t size, int socket,
		   struct image **ret, char **ret_error)
{
	static const struct image_format fed = {"fed", &image_fed, NULL};
	struct fed *f = calloc(1, sizeof(*f));
	int r;

	if (!f) {
		close(socket);
		return error_text(ret_error, -ENOMEM, "image %s: out of memory", path);
	}
	pthread_mutex_init(&f->lock, NULL);
	f->socket = socket;
	r = image_open_layer(&fed, path, mode, NULL, ret, ret_error);
	if (r < 0) {
		close(socket);
		free(f);
		return r;
	}
	(*ret)->state = f;
	(*ret)->size = size;
	return 0;
}
