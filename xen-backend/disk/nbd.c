// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Formats that only QEMU knows, read through a qemu-nbd.
 *
 * QEMU keeps what it read of the file's tables, so while the owner writes, what
 * it shows is a mixture of old and new.  Its answers count only as long as the file's times
 * are what they were before it was started: a write shows in them before it
 * can show in an answer.  From the first change on everything fails, until the
 * image is opened again.
 */
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/scratch.h"
#include "disk/image_impl.h"
#include "disk/nbd_lib.h"
#include "disk/nbd_server.h"

#define CONNECTIONS 4U
#define START_MS 20000U
#define READ_MS 5000U /* a client guest is better off reading from the datanode by then */
#define MAX_READ (1U << 20)
/* The clock behind a file's times stands still for as long as this: of two writes in that time only
 * the first is seen. */
#define SETTLE_MS 20U
#define SETTLE_ATTEMPTS 50U

struct connection {
	struct nbd_handle *handle;
	bool busy;
};

struct nbd {
	const struct nbd_lib *lib;
	struct nbd_server *server;
	struct source_identity opened;
	uint64_t align; /* of what is asked of it */
	atomic_bool stale;

	pthread_mutex_t lock; /* of the connections' being busy */
	pthread_cond_t idle;
	struct connection connection[CONNECTIONS];
};

/* ---- what may be opened ----------------------------------------------------------- */

/* A VMDK may be a text that names other files, whose times are not looked at. */
static int check_vmdk(struct image *img, char **ret_error)
{
	uint8_t head[20];

	if (strcmp(img->format->driver, "vmdk"))
		return 0;
	if (source_read(img->source, 0, head, sizeof(head)) == 0 && !memcmp(head, "KDMV", 4) &&
	    memcmp(head + 12, "\0\0\0\0\0\0\0\0", 8))
		return 0;
	return error_text(ret_error, -EMEDIUMTYPE,
			  "image %s is no VMDK in one file; convert it: qemu-img convert -O qcow2",
			  image_path(img));
}

static int check_file(struct image *img, char **ret_error)
{
	struct stat st;

	if (image_path(img)[0] != '/' || stat(image_path(img), &st) < 0 || !S_ISREG(st.st_mode))
		return error_text(ret_error, -EMEDIUMTYPE,
				  "image %s: a %s has to be a regular file with its whole path, "
				  "because only a file's times tell whether it was written to",
				  image_path(img), img->format->driver);
	return check_vmdk(img, ret_error);
}

/* Once nothing was written for long enough, the next write will show. */
static int settle(struct image *img, struct source_identity *ret, char **ret_error)
{
	for (unsigned i = 0; i < SETTLE_ATTEMPTS; i++) {
		uint64_t written;
		int r = source_identity(img->source, ret);

		if (r < 0)
			return error_text(ret_error, r, "image %s: %s", image_path(img),
					  strerror(-r));
		written =
			(uint64_t)ret->ctime.tv_sec * 1000 + (uint64_t)ret->ctime.tv_nsec / 1000000;
		if (clock_file_ms() > written + SETTLE_MS)
			return 0;
		clock_rest_us(SETTLE_MS * 1000);
	}
	return error_text(ret_error, -EBUSY,
			  "image %s is written to all the time, and a %s can only be read while "
			  "nobody writes; convert it: qemu-img convert -O qcow2",
			  image_path(img), img->format->driver);
}

/* Whether the file is what was opened, and still has that name. */
static bool is_what_was_opened(struct image *img)
{
	const struct nbd *n = img->state;
	struct source_identity now;

	return source_identity(img->source, &now) == 0 && !memcmp(&now, &n->opened, sizeof(now));
}

static bool has_its_name(struct image *img)
{
	const struct nbd *n = img->state;
	struct stat st;

	return stat(image_path(img), &st) == 0 && st.st_dev == n->opened.dev &&
	       st.st_ino == n->opened.ino;
}

/* ---- connecting --------------------------------------------------------------------- */

/*
 * Waits for something to happen, until the deadline at most; negative: it is gone.  nbd_poll() alone
 * would begin its time anew after each signal, such as ring/queue.c sends to who is to end.
 */
static int await(const struct nbd_lib *lib, struct nbd_handle *h, uint64_t deadline)
{
	unsigned direction = lib->direction(h);
	struct pollfd fd = {.fd = lib->fd(h)};

	if (direction & LIBNBD_AIO_DIRECTION_READ)
		fd.events |= POLLIN;
	if (direction & LIBNBD_AIO_DIRECTION_WRITE)
		fd.events |= POLLOUT;
	if (fd.fd >= 0 && fd.events)
		clock_poll(&fd, 1, deadline);
	return lib->poll(h, 0);
}

/* 1: connected; 0: not yet. */
static int try_connect(struct nbd *n, struct connection *c, uint64_t deadline)
{
	const struct nbd_lib *lib = n->lib;

	c->handle = lib->create();
	if (!c->handle)
		return -ENOMEM;
	if (lib->connect_unix(c->handle, nbd_server_socket(n->server)) == 0)
		while (lib->is_connecting(c->handle) == 1 && clock_ms() < deadline)
			if (await(lib, c->handle, deadline) < 0)
				break;
	if (lib->is_ready(c->handle) == 1)
		return 1;
	lib->close(c->handle);
	c->handle = NULL;
	return 0;
}

static int connect_all(struct image *img, char **ret_error)
{
	uint64_t deadline = clock_ms() + START_MS;
	struct nbd *n = img->state;

	for (unsigned i = 0; i < CONNECTIONS;) {
		int r = try_connect(n, &n->connection[i], deadline);

		if (r < 0)
			return error_text(ret_error, r, "image %s: out of memory", image_path(img));
		if (r > 0) {
			i++;
			continue;
		}
		if (!nbd_server_is_alive(n->server))
			return error_text(ret_error, -EMEDIUMTYPE, "image %s: %s", image_path(img),
					  nbd_server_said(n->server));
		if (clock_ms() >= deadline)
			return error_text(ret_error, -ETIMEDOUT,
					  "image %s: qemu-nbd does not answer", image_path(img));
		clock_rest_us(SETTLE_MS * 1000 / 4);
	}
	nbd_server_hide(n->server);
	return 0;
}

static int take_size(struct image *img, char **ret_error)
{
	struct nbd *n = img->state;
	int64_t size = n->lib->get_size(n->connection[0].handle);
	int64_t align = n->lib->get_block_size(n->connection[0].handle, LIBNBD_SIZE_MINIMUM);

	if (size <= 0)
		return error_text(ret_error, -ENODATA, "image %s: its disk is empty (0 bytes)",
				  image_path(img));
	if (!is_what_was_opened(img) || !has_its_name(img))
		return error_text(ret_error, -EBUSY, "image %s was written to while it was opened",
				  image_path(img));
	img->size = (uint64_t)size;
	n->align = align > 0 ? (uint64_t)align : 1;
	return 0;
}

static int nbd_open(struct image *img, char **ret_error)
{
	struct nbd *n = calloc(1, sizeof(*n));
	const char *reason;
	int r;

	if (!n)
		return error_text(ret_error, -ENOMEM, "image %s: out of memory", image_path(img));
	img->state = n;
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->idle, NULL);
	n->lib = nbd_lib(&reason);
	if (!n->lib)
		return error_text(ret_error, -ELIBACC, "image %s: %s", image_path(img), reason);
	r = check_file(img, ret_error);
	if (r == 0)
		r = settle(img, &n->opened, ret_error);
	if (r == 0)
		r = nbd_server_start(image_path(img), img->format->driver, image_is_direct(img),
				     CONNECTIONS, &n->server, ret_error);
	if (r == 0)
		r = connect_all(img, ret_error);
	return r < 0 ? r : take_size(img, ret_error);
}

static void nbd_image_close(struct image *img)
{
	struct nbd *n = img->state;

	if (!n)
		return;
	for (unsigned i = 0; i < CONNECTIONS; i++)
		if (n->connection[i].handle)
			n->lib->close(n->connection[i].handle);
	nbd_server_stop(n->server);
	pthread_cond_destroy(&n->idle);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

/* ---- reading -------------------------------------------------------------------------- */

/* Who has one gives it back within the time of a read. */
static struct connection *take(struct nbd *n)
{
	struct connection *c = NULL;

	pthread_mutex_lock(&n->lock);
	while (!c) {
		for (unsigned i = 0; i < CONNECTIONS && !c; i++)
			if (!n->connection[i].busy)
				c = &n->connection[i];
		if (!c)
			pthread_cond_wait(&n->idle, &n->lock);
	}
	c->busy = true;
	pthread_mutex_unlock(&n->lock);
	return c;
}

static void give_back(struct nbd *n, struct connection *c)
{
	pthread_mutex_lock(&n->lock);
	c->busy = false;
	pthread_cond_signal(&n->idle);
	pthread_mutex_unlock(&n->lock);
}

/* Its last user may come much later: the process need not wait for that. */
static void make_stale(struct image *img, const char *why)
{
	struct nbd *n = img->state;

	if (atomic_exchange(&n->stale, true))
		return;
	log_warn("image %s: %s; not read until it is opened again", image_path(img), why);
	nbd_server_kill(n->server);
}

/* A connection that is silent or gone is closed: nothing may come into buf later. */
static int lose(struct image *img, struct connection *c, const char *why)
{
	struct nbd *n = img->state;

	n->lib->close(c->handle);
	c->handle = NULL;
	make_stale(img, why);
	return -EIO;
}

static int read_piece(struct image *img, struct connection *c, uint64_t offset, void *buf,
		      size_t length)
{
	uint64_t deadline = clock_ms() + READ_MS;
	const struct nbd_lib *lib = ((struct nbd *)img->state)->lib;
	int64_t cookie = lib->pread(c->handle, buf, length, offset, NBD_NULL_COMPLETION, 0);
	int done;

	if (cookie < 0)
		return lose(img, c, "qemu-nbd has ended");
	while ((done = lib->completed(c->handle, (uint64_t)cookie)) == 0) {
		if (clock_ms() >= deadline)
			return lose(img, c, "qemu-nbd does not answer");
		if (await(lib, c->handle, deadline) < 0)
			return lose(img, c, "qemu-nbd has ended");
	}
	if (done > 0)
		return 0;
	return lib->is_ready(c->handle) == 1 ? -EIO : lose(img, c, "qemu-nbd has ended");
}

/* Of a piece that is asked for in whole blocks. */
static int read_part(struct image *img, struct connection *c, uint64_t offset, void *buf,
		     size_t length)
{
	uint64_t align = ((struct nbd *)img->state)->align;
	uint64_t start = offset - offset % align;
	uint64_t end = (offset + length + align - 1) / align * align;
	uint8_t *blocks;
	int r;

	if (end > img->size)
		end = img->size;
	if (start == offset && end == offset + length)
		return read_piece(img, c, offset, buf, length);
	blocks = scratch_get(SCRATCH_UNPACKED, (size_t)(end - start));
	if (!blocks)
		return -ENOMEM;
	r = read_piece(img, c, start, blocks, (size_t)(end - start));
	if (r == 0)
		memcpy(buf, blocks + (offset - start), length);
	return r;
}

static int read_all(struct image *img, struct connection *c, uint64_t offset, uint8_t *buf,
		    size_t length)
{
	struct nbd *n = img->state;
	int r = 0;

	while (length > 0 && r == 0) {
		size_t piece = length < MAX_READ ? length : MAX_READ;

		if (!c->handle || atomic_load(&n->stale))
			return -EIO;
		r = read_part(img, c, offset, buf, piece);
		buf += piece;
		offset += piece;
		length -= piece;
	}
	return r;
}

static bool nbd_is_stale(struct image *img)
{
	struct nbd *n = img->state;

	if (!is_what_was_opened(img))
		make_stale(img, "it was written to");
	return atomic_load(&n->stale);
}

static int nbd_read(struct image *img, uint64_t offset, void *buf, size_t length)
{
	struct nbd *n = img->state;
	struct connection *c = take(n);
	int r = read_all(img, c, offset, buf, length);

	give_back(n, c);
	return r == 0 && nbd_is_stale(img) ? -EIO : r;
}

const struct image_ops image_nbd = {
	.open = nbd_open,
	.close = nbd_image_close,
	.read = nbd_read,
	.is_stale = nbd_is_stale,
};
