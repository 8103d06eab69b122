// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements opener.h: a table of channels, each with one question at a time.
 *
 * A file on storage that hangs may keep its question for ever. Nobody waits for it longer than
 * its limit: then the question is late, and its channel stays taken until the answer comes, which
 * nobody gets. While a question is late, its file is not asked for again, so each file takes one
 * channel at most; an image that was asked for as a file of others takes two.
 */
#include "disk/opener.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/shortage.h"

/* How long a question may wait for a channel, and for its answer; ms. */
static const struct {
	unsigned channel, answer;
} limits[] = {[OPENER_OURS] = {10000, 10000}, [OPENER_OTHERS] = {2000, 2000}};

struct channel {
	int fd;
	char *path; /* the file that is asked for; NULL: the channel is idle */
	enum opener_whose whose;
	bool late; /* nobody waits for the answer */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all but `used` and the fds */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct channel channels[OPENER_CHANNELS];
static bool used, ended;

struct answer {
	struct opener_answer fixed;
	char *text; /* with a NUL; free() it */
	int fd;     /* -1: none */
};

/* ---- messages ---------------------------------------------------------------------- */

static int send_request(int channel, enum opener_kind kind, const char *const texts[OPENER_TEXTS])
{
	struct opener_request fixed = {.kind = kind};
	struct iovec parts[1 + OPENER_TEXTS] = {{&fixed, sizeof(fixed)}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = 1 + OPENER_TEXTS};
	ssize_t n;

	for (unsigned i = 0; i < OPENER_TEXTS; i++)
		parts[1 + i] = (struct iovec){(char *)texts[i], strlen(texts[i]) + 1};
	do
		n = sendmsg(channel, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* Returns the first descriptor of the message, or -1. */
static int descriptor_of(struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len >= CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* ret->text has room. */
static int receive_answer(int channel, struct answer *ret)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec parts[2] = {{&ret->fixed, sizeof(ret->fixed)}, {ret->text, OPENER_MAX_TEXT}};
	struct msghdr m = {.msg_iov = parts,
			   .msg_iovlen = 2,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	ssize_t n;

	do
		n = recvmsg(channel, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : -EPIPE;
	ret->fd = descriptor_of(&m);
	return n < (ssize_t)sizeof(ret->fixed) ? -EBADMSG : 0;
}

static int prepare(struct answer *ret)
{
	*ret = (struct answer){.fd = -1, .text = calloc(1, OPENER_MAX_TEXT + 1)};
	return ret->text ? 0 : -ENOMEM;
}

static void clear(struct answer *a)
{
	free(a->text);
	if (a->fd >= 0)
		close(a->fd);
}

/* ---- channels ---------------------------------------------------------------------- */

int opener_use(const int given[OPENER_CHANNELS])
{
	struct answer ready;
	int r = prepare(&ready);

	for (unsigned i = 0; i < OPENER_CHANNELS; i++)
		channels[i].fd = given[i];
	if (r == 0)
		r = receive_answer(given[0], &ready);
	if (r == 0 && ready.fixed.result != 0)
		r = -EBADMSG;
	clear(&ready);
	used = r == 0;
	for (unsigned i = 0; i < OPENER_CHANNELS && r < 0; i++)
		close(given[i]);
	return r;
}

bool opener_is_used(void)
{
	return used;
}

/* Call with the lock held. */
static void end_all(void)
{
	ended = true;
	for (unsigned i = 0; used && i < OPENER_CHANNELS; i++)
		shutdown(channels[i].fd, SHUT_RDWR);
	pthread_cond_broadcast(&changed);
}

void opener_end(void)
{
	pthread_mutex_lock(&lock);
	end_all();
	pthread_mutex_unlock(&lock);
}

/* Call with the lock held. */
static void release(struct channel *c)
{
	free(c->path);
	c->path = NULL;
	c->late = false;
	pthread_cond_broadcast(&changed);
}

/* Call with the lock held. */
static void be_late(struct channel *c)
{
	c->late = true;
	pthread_cond_broadcast(&changed);
}

/* Call with the lock held. Makes the channel idle if its late answer has come. */
static void drop_late_answer(struct channel *c)
{
	struct pollfd has_come = {.fd = c->fd, .events = POLLIN};
	struct answer a;

	if (!c->late || clock_rest_poll(&has_come, 1, 0) <= 0 || prepare(&a) < 0)
		return;
	if (receive_answer(c->fd, &a) < 0)
		end_all();
	clear(&a);
	release(c);
}

/* Call with the lock held. Takes no channel yet. -EBUSY: the file hangs. -EAGAIN: there is none
 * now. -ENOBUFS: there may be none for long. An image is asked for even if it was late when it was
 * asked for as a file of others, for a shorter time. */
static int find_channel(const char *path, enum opener_whose whose, struct channel **ret)
{
	unsigned others = 0;
	bool under_way = false;

	*ret = NULL;
	for (unsigned i = 0; i < OPENER_CHANNELS; i++) {
		struct channel *c = &channels[i];

		drop_late_answer(c);
		if (!c->path) {
			*ret = *ret ? *ret : c;
			continue;
		}
		others += c->whose == OPENER_OTHERS;
		if (strcmp(c->path, path) != 0)
			continue;
		if (c->late && (c->whose == OPENER_OURS || whose == OPENER_OTHERS))
			return -EBUSY;
		under_way = true;
	}
	if (whose == OPENER_OURS)
		return *ret ? 0 : -EAGAIN;
	return under_way ? -EAGAIN : *ret && others < OPENER_OTHERS_MAX ? 0 : -ENOBUFS;
}

/* Call with the lock held. Says why there is no channel for the file. */
static int no_channel(int error, const char *path, char **ret_error)
{
	if (error == -EPIPE)
		return error_text(ret_error, error, "image %s: vread-opener has ended", path);
	if (error == -EBUSY)
		return error_text(ret_error, error,
				  "image %s: vread-opener still waits for this file: check the "
				  "storage below it",
				  path);
	return error_text(ret_error, -ENOBUFS,
			  "image %s: vread-opener waits for %u other files, among them %s: check "
			  "the storage below these",
			  path, OPENER_CHANNELS, channels[0].path);
}

/* Takes over `path`, which *ret gets. Returns 0, or negative errno with *ret_error. */
static int take_channel(char *path, enum opener_whose whose, struct channel **ret, char **ret_error)
{
	uint64_t until = clock_ms() + limits[whose].channel;
	bool in_time = true;
	int r;

	pthread_mutex_lock(&lock);
	while ((r = find_channel(path, whose, ret)) == -EAGAIN && !ended && in_time)
		in_time = clock_wait(&changed, &lock, until);
	if (ended)
		r = -EPIPE;
	if (r < 0)
		r = no_channel(r, path, ret_error);
	if (r == 0) {
		(*ret)->path = path;
		(*ret)->whose = whose;
	}
	pthread_mutex_unlock(&lock);
	if (r < 0)
		free(path);
	return r;
}

/* ---- questions --------------------------------------------------------------------- */

/* Returns -ETIMEDOUT if there is no answer in time. */
static int await_answer(const struct channel *c)
{
	struct pollfd answer = {.fd = c->fd, .events = POLLIN};
	int n = clock_poll(&answer, 1, clock_ms() + limits[c->whose].answer);

	return n < 0 ? -errno : n ? 0 : -ETIMEDOUT;
}

/* An opener that cannot be asked on one channel has ended, or is made to end: an answer that comes
 * later would be taken for that of the next question. In a shortage nothing was sent. */
static int exchange(struct channel *c, enum opener_kind kind, const char *const texts[OPENER_TEXTS],
		    struct answer *ret)
{
	int r = send_request(c->fd, kind, texts);
	bool sent = !is_shortage(r);

	if (r == 0)
		r = await_answer(c);
	if (r == 0)
		r = receive_answer(c->fd, ret);
	pthread_mutex_lock(&lock);
	if (r < 0 && r != -ETIMEDOUT && sent)
		end_all();
	if (r == -ETIMEDOUT)
		be_late(c);
	else
		release(c);
	pthread_mutex_unlock(&lock);
	return r;
}

static int check_lengths(const char *const texts[OPENER_TEXTS])
{
	for (unsigned i = 0; i < OPENER_TEXTS; i++)
		if (strlen(texts[i]) >= PATH_MAX)
			return -ENAMETOOLONG;
	return 0;
}

static int explain(int error, const char *path, char **ret_error)
{
	if (error == -ETIMEDOUT)
		return error_text(ret_error, error,
				  "image %s: vread-opener could not open it within %u s: check the "
				  "storage below it",
				  path, limits[OPENER_OURS].answer / 1000);
	return error_text(ret_error, error, "image %s: vread-opener cannot be asked: %s", path,
			  strerror(-error));
}

/* Returns 0 if there is an answer, or negative errno with *ret_error.  clear() *ret either way. */
static int ask(enum opener_kind kind, enum opener_whose whose,
	       const char *const texts[OPENER_TEXTS], struct answer *ret, char **ret_error)
{
	struct channel *c;
	int r = prepare(ret);
	char *path = NULL;

	if (r == 0)
		r = check_lengths(texts);
	if (r == 0) {
		path = strdup(texts[0]);
		r = path ? 0 : -ENOMEM;
	}
	if (r < 0)
		return explain(r, texts[0], ret_error);
	r = take_channel(path, whose, &c, ret_error);
	if (r < 0)
		return r;
	r = exchange(c, kind, texts, ret);
	return r < 0 ? explain(r, texts[0], ret_error) : 0;
}

static int ask_for_file(enum opener_kind kind, const char *const texts[OPENER_TEXTS],
			char **ret_error)
{
	struct answer a;
	int r = ask(kind, OPENER_OURS, texts, &a, ret_error), fd = a.fd;

	if (r == 0 && a.fixed.result < 0)
		r = error_text(ret_error, a.fixed.result, "%s", a.text);
	else if (r == 0 && fd < 0)
		r = error_text(ret_error, -EMFILE, "image %s: vread-opener sent no descriptor",
			       texts[0]);
	else if (r == 0)
		a.fd = -1;
	clear(&a);
	return r < 0 ? r : fd;
}

int opener_image(const char *path, char **ret_error)
{
	return ask_for_file(OPENER_IMAGE, (const char *const[]){path, "", ""}, ret_error);
}

int opener_named(const struct naming *n, const char *path, char **ret_error)
{
	return ask_for_file(OPENER_NAMED, (const char *const[]){path, n->top, n->image}, ret_error);
}

int opener_stat(const char *path, enum opener_whose whose, struct stat *ret)
{
	struct answer a;
	char *error = NULL;
	int r;

	if (!used)
		return stat(path, ret) < 0 ? -errno : 0;
	r = ask(OPENER_STAT, whose, (const char *const[]){path, "", ""}, &a, &error);
	free(error);
	if (r == 0)
		r = a.fixed.result;
	*ret = (struct stat){.st_mode = (mode_t)a.fixed.mode,
			     .st_dev = (dev_t)a.fixed.dev,
			     .st_ino = (ino_t)a.fixed.ino,
			     .st_rdev = (dev_t)a.fixed.rdev};
	clear(&a);
	return r;
}
