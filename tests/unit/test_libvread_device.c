/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests libvread over /dev/vread without the device.  ioctl(), poll() and epoll_ctl() of this
 * program are a fake driver that refuses, delays, loses its backend and gets another.  The clock is
 * faked too: time passes only where the driver is slow and while nothing is ready.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../hdfs-native/libvread/connection.h"
#include "crc.h"
#include "vread.h"
#include "vread_ioctl.h"

#define BLOCK_LENGTH 3000000ULL
#define POOL_BYTES (1U << 20)

/* The driver: one open file and one block, whose byte n is n * 7. */
static struct {
	int fd;
	uint8_t *slice;
	bool connected;
	bool removed;       /* the device is gone for good */
	unsigned room;      /* READs that it accepts before EAGAIN */
	bool hold;          /* READs are not answered */
	bool remote;        /* blocks are read from another host */
	uint32_t wrong_sum; /* not 0: completions have other sums */
	int read_error, open_error, slice_error;
	unsigned interrupts; /* so many OPENs are first interrupted by a signal */
	uint32_t open_timeout_ms;
	struct vread_ioc_read reads[256];
	unsigned num_reads; /* accepted, not answered */
	struct vread_ioc_completion done[256];
	unsigned num_done;
	unsigned opened, closed, submits, infos;
	uint64_t submitted_ns; /* when READs were last accepted */
	uint64_t asked;        /* bytes of accepted READs */
	uint32_t abi, max_in_flight;
	int publish_error;
	unsigned published;
	struct vread_ioc_publish publish; /* the last event */
	uint8_t publish_data[64];
	struct vread_ioc_keys keys; /* the last keys */
} driver;

/* The epoll that watches the driver's descriptor. */
static struct {
	uint32_t events; /* of epoll_ctl(); 0: none */
	bool woken;      /* on the epoll's list of descriptors that may be ready */
} watch;

static uint64_t now_ns = 1000000000;

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){(time_t)(now_ns / 1000000000), (long)(now_ns % 1000000000)};
	return 0;
}

static void pass(const struct timespec *t)
{
	now_ns += (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

static void fill(const struct vread_ioc_read *r)
{
	for (uint32_t i = 0; i < r->length; i++)
		driver.slice[r->slice_offset + i] = (uint8_t)((r->offset + i) * 7);
}

/* Threads that poll the driver look at its state again. */
static void wake(void)
{
	watch.woken = watch.events != 0;
}

static void answer(const struct vread_ioc_read *r, int error)
{
	uint64_t left = BLOCK_LENGTH - r->offset;
	struct vread_ioc_completion *c = &driver.done[driver.num_done++];

	*c = (struct vread_ioc_completion){
		.user_data = r->user_data,
		.result = error ? error : (int32_t)(r->length < left ? r->length : left),
	};
	wake();
	if (error)
		return;
	fill(r);
	c->crc32c = vcrc_sum(driver.slice + r->slice_offset, (size_t)c->result) ^ driver.wrong_sum;
}

static void answer_all(int error)
{
	for (unsigned i = 0; i < driver.num_reads; i++)
		answer(&driver.reads[i], error);
	driver.num_reads = 0;
}

static void set_room(unsigned reads)
{
	driver.room = reads;
	wake();
}

static int fails(int error)
{
	errno = error;
	return -1;
}

static int do_info(struct vread_ioc_info *info)
{
	driver.infos++;
	if (driver.removed)
		return fails(ENODEV);
	*info = (struct vread_ioc_info){
		.abi = driver.abi,
		.connected = driver.connected,
		.max_in_flight = driver.max_in_flight,
		.pool_bytes = POOL_BYTES,
	};
	return 0;
}

#define UNTIL_SIGNAL_MS 20

/* True if a signal interrupts a call that would have been answered later. */
static bool interrupted(void)
{
	if (!driver.interrupts)
		return false;
	driver.interrupts--;
	pass(&(struct timespec){.tv_nsec = UNTIL_SIGNAL_MS * 1000000});
	return true;
}

static int do_open(struct vread_ioc_open *open)
{
	if (!driver.connected)
		return fails(ENOTCONN);
	if (driver.open_error)
		return fails(driver.open_error);
	driver.open_timeout_ms = open->timeout_ms;
	if (interrupted())
		return fails(EINTR);
	open->handle = 40 + driver.opened++;
	open->flags = VREAD_BLOCK_FINALIZED | (driver.remote ? VREAD_BLOCK_REMOTE : 0);
	open->length = BLOCK_LENGTH;
	return 0;
}

static int do_publish(const struct vread_ioc_publish *publish)
{
	if (driver.publish_error)
		return fails(driver.publish_error);
	if (interrupted())
		return fails(EINTR);
	assert_in_range(publish->data_length, 1, sizeof(driver.publish_data));
	memcpy(driver.publish_data, (const void *)(uintptr_t)publish->data, publish->data_length);
	driver.publish = *publish;
	driver.published++;
	return 0;
}

static int do_keys(const struct vread_ioc_keys *keys)
{
	if (driver.publish_error)
		return fails(driver.publish_error);
	assert_in_range(keys->data_length, 1, sizeof(driver.publish_data));
	memcpy(driver.publish_data, (const void *)(uintptr_t)keys->data, keys->data_length);
	driver.keys = *keys;
	return 0;
}

static int do_submit(const struct vread_ioc_submit *submit)
{
	const struct vread_ioc_read *reads = (const void *)(uintptr_t)submit->reads;
	unsigned n;

	driver.submits++;
	if (!driver.connected)
		return fails(ENOTCONN);
	for (n = 0; n < submit->count && driver.num_reads + driver.num_done < driver.room; n++) {
		if (driver.read_error)
			return n ? (int)n : fails(driver.read_error);
		driver.asked += reads[n].length;
		if (driver.hold)
			driver.reads[driver.num_reads++] = reads[n];
		else
			answer(&reads[n], 0);
	}
	driver.submitted_ns = n ? now_ns : driver.submitted_ns;
	return n ? (int)n : fails(EAGAIN);
}

static int do_reap(const struct vread_ioc_reap *reap)
{
	unsigned n = driver.num_done < reap->count ? driver.num_done : reap->count;

	assert_int_equal(reap->min_complete, 0);
	memcpy((void *)(uintptr_t)reap->completions, driver.done, n * sizeof(driver.done[0]));
	driver.num_done -= n;
	memmove(driver.done, driver.done + n, driver.num_done * sizeof(driver.done[0]));
	return (int)n;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *argument;

	va_start(ap, request);
	argument = va_arg(ap, void *);
	va_end(ap);
	assert_int_equal(fd, driver.fd);
	switch (request) {
	case VREAD_IOC_INFO:
		return do_info(argument);
	case VREAD_IOC_SLICE:
		return driver.slice_error ? fails(driver.slice_error) : 0;
	case VREAD_IOC_OPEN:
		return do_open(argument);
	case VREAD_IOC_CLOSE:
		driver.closed++;
		return 0;
	case VREAD_IOC_STAT:
		((struct vread_ioc_stat *)argument)->length = BLOCK_LENGTH;
		((struct vread_ioc_stat *)argument)->genstamp = 2;
		return driver.connected ? 0 : fails(ENOTCONN);
	case VREAD_IOC_SUBMIT:
		return do_submit(argument);
	case VREAD_IOC_REAP:
		return do_reap(argument);
	case VREAD_IOC_PUBLISH:
		return do_publish(argument);
	case VREAD_IOC_KEYS:
		return do_keys(argument);
	default:
		return fails(ENOTTY);
	}
}

static short events(short wanted)
{
	short ready = 0;

	if (driver.num_done)
		ready |= POLLIN;
	if (driver.num_reads + driver.num_done < driver.room)
		ready |= POLLOUT;
	return (short)((ready & wanted) | (driver.connected ? 0 : POLLERR));
}

/* Called once, when a thread begins to wait for the driver. */
static void (*while_waiting)(void);

static void call_while_waiting(void)
{
	void (*f)(void) = while_waiting;

	while_waiting = NULL;
	if (f)
		f();
}

/* Fakes ppoll() for the driver's descriptor; asks the kernel about all other descriptors. */
int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *mask)
{
	struct pollfd *volatile all = fds; /* glibc's declaration calls them write-only */
	const struct timespec none = {0};
	int ready = 0;

	(void)mask;
	if (count > 1)
		call_while_waiting();
	for (nfds_t i = 0; i < count; i++) {
		if (all[i].fd == driver.fd)
			all[i].revents = events(all[i].events);
		else
			syscall(SYS_ppoll, all + i, 1UL, &none, NULL, 0UL);
		ready += all[i].revents != 0;
	}
	if (!ready)
		pass(limit);
	return ready;
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	assert_int_equal(timeout_ms, 0);
	return ppoll(fds, count, &(struct timespec){0}, NULL);
}

/* Fakes epoll_ctl() for the driver's descriptor. */
int epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *event)
{
	if (fd != driver.fd)
		return (int)syscall(SYS_epoll_ctl, epoll_fd, op, fd, event);
	assert_int_equal(op, watch.events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD);
	watch.events = event->events;
	if (events((short)watch.events)) /* the kernel looks at the state at once */
		watch.woken = true;
	return 0;
}

/* Called once, when the library takes events from the epoll. */
static void (*while_taking)(void);

static bool driver_is_ready(void)
{
	return watch.woken && events((short)watch.events);
}

/* Fakes the driver's part of epoll_wait(): an edge-triggered event is taken. */
int epoll_wait(int epoll_fd, struct epoll_event *ret, int max, int timeout_ms)
{
	int n = (int)syscall(SYS_epoll_pwait, epoll_fd, ret, max, 0, NULL, 8UL);
	void (*f)(void) = while_taking;

	assert_int_equal(timeout_ms, 0);
	while_taking = NULL;
	if (f)
		f();
	if (n == max || !driver_is_ready())
		return n;
	if (watch.events & EPOLLET)
		watch.woken = false;
	ret[n] = (struct epoll_event){.events = (uint32_t)events((short)watch.events)};
	return n + 1;
}

/* ---- fixture --------------------------------------------------------------- */

#define PATIENCE_MS 60000

static struct vread v;

static int set_up(void **state)
{
	struct transport *transport;

	(void)state;
	memset(&driver, 0, sizeof(driver));
	memset(&watch, 0, sizeof(watch));
	memset(&v, 0, sizeof(v));
	driver.abi = VREAD_IOC_ABI;
	driver.connected = true;
	driver.max_in_flight = 64;
	driver.room = 64;
	driver.fd = memfd_create("driver", MFD_CLOEXEC);
	assert_int_equal(ftruncate(driver.fd, POOL_BYTES), 0);
	driver.slice = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, driver.fd, 0);
	assert_true(driver.slice != MAP_FAILED);
	assert_int_equal(device_connect(driver.fd, POOL_BYTES, &transport), 0);
	assert_int_equal(engine_init(&v.engine, transport, PATIENCE_MS, sequential_reclaim), 0);
	v.files.next = v.files.prev = &v.files;
	v.event_fd = -1;
	v.timeout_ms = PATIENCE_MS;
	v.chunk_bytes = 256 << 10;
	v.readahead_bytes = 512 << 10;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	engine_destroy(&v.engine, false);
	if (v.event_fd >= 0)
		close(v.event_fd);
	munmap(driver.slice, POOL_BYTES);
	return 0;
}

static const struct vread_block block = {.pool_id = "p", .block_id = 1, .generation_stamp = 2};

static struct vread_file *open_file(void)
{
	struct vread_file *f;

	assert_int_equal(vread_open(&v, &block, &f), 0);
	return f;
}

static uint8_t buf[BLOCK_LENGTH + 100];

static void check(uint64_t offset, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (buf[i] != (uint8_t)((offset + i) * 7))
			fail_msg("byte %zu of %zu from %llu", i, n, (unsigned long long)offset);
}

/* ---- tests ----------------------------------------------------------------- */

static void test_reads(void **state)
{
	struct vread_file *f = open_file();
	struct vread_stat st;

	(void)state;
	assert_int_equal(vread_pread(f, buf, sizeof(buf), 0), BLOCK_LENGTH);
	check(0, BLOCK_LENGTH);
	assert_int_equal(vread_pread(f, buf, 1000, BLOCK_LENGTH - 10), 10);
	check(BLOCK_LENGTH - 10, 10);
	for (uint64_t at = 0; at < BLOCK_LENGTH; at += 50000) {
		assert_int_equal(vread_read(f, buf, 50000), 50000);
		check(at, 50000);
	}
	assert_int_equal(vread_read(f, buf, 1), 0);
	assert_int_equal(vread_stat(f, &st), 0);
	assert_int_equal(st.length, BLOCK_LENGTH);
	assert_int_equal(vread_update(f), 0);
	assert_true(vread_connected(&v));
	vread_close(f);
	assert_int_equal(driver.closed, 1);
}

#define MOST_READERS 8
#define PIECE ((size_t)64 << 10)

/* Readers of a block each, which read a piece each in turn, to the end. */
static void read_in_turn(unsigned readers)
{
	struct vread_file *files[MOST_READERS];

	driver.asked = 0;
	for (unsigned i = 0; i < readers; i++)
		files[i] = open_file();
	for (uint64_t at = 0; at < BLOCK_LENGTH; at += PIECE)
		for (unsigned i = 0; i < readers; i++) {
			ssize_t n = vread_read(files[i], buf, PIECE);

			assert_int_equal(n, at + PIECE < BLOCK_LENGTH ? PIECE : BLOCK_LENGTH - at);
			check(at, (size_t)n);
		}
	for (unsigned i = 0; i < readers; i++)
		vread_close(files[i]);
}

/* Readers of one process, as the tasks of a Spark executor, share the slice.  None drops much that
 * another has read ahead and is about to read. */
static void test_readers_in_turn_read_ahead_once(void **state)
{
	(void)state;
	for (unsigned readers = 1; readers <= MOST_READERS; readers++) {
		uint64_t all = readers * BLOCK_LENGTH;

		read_in_turn(readers);
		assert_in_range(driver.asked, all, readers <= 4 ? all : all + all / 4);
	}
}

/* A file with as much read ahead as it may have. */
static struct vread_file *far_ahead(void)
{
	struct vread_file *f = open_file();

	for (uint64_t at = 0; at < 4 * PIECE; at += PIECE) {
		assert_int_equal(vread_read(f, buf, PIECE), PIECE);
		check(at, PIECE);
	}
	assert_true(f->ahead - f->position >= v.readahead_bytes / 2);
	return f;
}

/* Two readers hold all room.  They keep most of it until others have read as much as there is; then
 * the one that read least recently has to go. */
static void test_an_idle_reader_gives_way(void **state)
{
	struct vread_file *first = far_ahead(), *second = far_ahead(), *third = open_file();
	uint64_t at;

	(void)state;
	for (at = 0; at < POOL_BYTES / 2; at += PIECE) {
		assert_int_equal(vread_read(third, buf, PIECE), PIECE);
		check(at, PIECE);
	}
	assert_true(first->count && second->count);
	for (; at < 2 * POOL_BYTES; at += PIECE)
		assert_int_equal(vread_read(third, buf, PIECE), PIECE);
	assert_int_equal(first->count, 0);
	assert_true(third->ahead - third->position >= v.readahead_bytes / 2);
	assert_int_equal(vread_read(first, buf, PIECE), PIECE);
	check(4 * PIECE, PIECE);
	vread_close(first);
	vread_close(second);
	vread_close(third);
}

/* A reader that needs room gets the last chunk of another.  Room that the backend may still write
 * to is not free before its answer. */
static void test_the_last_chunk_is_given_away(void **state)
{
	struct vread_file *f;
	unsigned count;

	(void)state;
	v.chunk_bytes = PIECE;
	f = far_ahead();
	driver.hold = true;
	while (!driver.num_reads)
		assert_int_equal(vread_read(f, buf, PIECE), PIECE);
	count = f->count;
	assert_in_range(count, 3, SEQUENTIAL_DEPTH);
	assert_false(sequential_reclaim(&v.engine, false));
	assert_int_equal(f->count, count);
	assert_false(sequential_reclaim(&v.engine, true));
	assert_int_equal(f->count, count - 1);
	driver.hold = false;
	answer_all(0);
	engine_poll(&v.engine);
	assert_true(sequential_reclaim(&v.engine, true));
	assert_int_equal(f->count, count - 2);
	while (f->position < BLOCK_LENGTH) {
		uint64_t at = f->position;
		ssize_t n = vread_read(f, buf, 50000); /* over the ends of chunks */

		assert_true(n > 0);
		check(at, (size_t)n);
	}
	vread_close(f);
	assert_int_equal(v.engine.slice.free_pages, POOL_BYTES / 4096);
}

static void test_a_read_costs_few_calls(void **state)
{
	struct vread_file *f = open_file();

	(void)state;
	driver.infos = driver.submits = 0;
	assert_int_equal(vread_pread(f, buf, 100, 0), 100);
	assert_int_equal(driver.submits, 1);
	assert_int_equal(driver.infos, 0);
	vread_close(f);
}

/* EAGAIN of the driver means "later"; a reader must not get it. */
static void test_waits_for_room_in_the_driver(void **state)
{
	struct vread_file *f = open_file();

	(void)state;
	driver.room = 1;
	assert_int_equal(vread_pread(f, buf, sizeof(buf), 0), BLOCK_LENGTH);
	check(0, BLOCK_LENGTH);
	vread_close(f);
}

static void test_no_room_at_all_is_a_timeout(void **state)
{
	struct vread_file *f = open_file();
	uint64_t began = now_ns;

	(void)state;
	driver.room = 0;
	assert_int_equal(vread_pread(f, buf, 100, 0), -ETIME);
	assert_int_equal(now_ns - began, PATIENCE_MS * 1000000ULL);
	driver.room = 64;
	assert_int_equal(vread_pread(f, buf, 100, 50), 100);
	check(50, 100);
	vread_close(f);
	assert_int_equal(v.engine.slice.free_pages, POOL_BYTES / 4096);
}

static void test_refused_read_is_an_error(void **state)
{
	struct vread_file *f = open_file();

	(void)state;
	driver.read_error = EBADF;
	assert_int_equal(vread_pread(f, buf, 100, 0), -EBADF);
	driver.read_error = ENODEV; /* the device is gone for good */
	assert_int_equal(vread_pread(f, buf, 100, 0), -ENOTCONN);
	vread_close(f);
}

/* ---- event loops ------------------------------------------------------------ */

/* As poll() of the event descriptor says: the driver's part is faked. */
static bool readable(void)
{
	struct pollfd fd = {.fd = vread_event_fd(&v), .events = POLLIN};

	return syscall(SYS_ppoll, &fd, 1UL, &(struct timespec){0}, NULL, 0UL) > 0 ||
	       driver_is_ready();
}

/* The file of a program that has an event loop, with nothing in flight. */
static struct vread_file *looping_file(void)
{
	struct vread_file *f = open_file();
	struct vread_completion c;

	assert_true(vread_event_fd(&v) >= 0);
	assert_int_equal(vread_reap(&v, &c, 1, 0), 0);
	assert_false(readable());
	return f;
}

/* The one completion that the event descriptor announces. */
static struct vread_completion completion(void)
{
	struct vread_completion c;

	assert_true(readable());
	assert_int_equal(vread_reap(&v, &c, 1, 0), 1);
	vread_release(&v, &c);
	return c;
}

static void ends_quietly(struct vread_file *f)
{
	struct vread_completion c;

	assert_int_equal(vread_reap(&v, &c, 1, 0), 0);
	assert_false(readable());
	vread_close(f);
	assert_int_equal(v.engine.slice.free_pages, POOL_BYTES / 4096);
}

static void test_room_in_the_driver_is_an_event(void **state)
{
	struct vread_file *f = looping_file();

	(void)state;
	driver.room = 0;
	assert_int_equal(vread_submit(f, 0, 1000, NULL), 0);
	assert_false(readable());
	set_room(64);
	assert_int_equal(completion().result, 1000);
	ends_quietly(f);
}

static void test_a_refused_read_is_an_event(void **state)
{
	struct vread_file *f = looping_file();

	(void)state;
	driver.read_error = EBADF;
	assert_int_equal(vread_submit(f, 0, 1000, NULL), 0);
	assert_int_equal(completion().result, -EBADF);
	ends_quietly(f);
}

/* How often an event loop wakes until nothing is left to hear; vread_reap() returns `expected`. */
static unsigned wake_ups(int expected)
{
	struct vread_completion c;
	unsigned n = 0;

	for (; readable() && n < 1000; n++)
		assert_int_equal(vread_reap(&v, &c, 1, 0), expected);
	return n;
}

static void test_reads_of_a_closed_file_are_no_event(void **state)
{
	struct vread_file *f = looping_file();

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(vread_submit(f, i * 1000, 1000, NULL), 0);
	completion(); /* takes all from the driver */
	vread_close(f);
	assert_int_equal(wake_ups(0), 0);
	ends_quietly(looping_file());
}

static void set_connected(bool connected)
{
	driver.connected = connected;
	wake();
}

static void test_the_end_and_the_return_of_a_backend_are_events(void **state)
{
	struct vread_file *f = looping_file();

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		set_connected(false);
		assert_int_equal(wake_ups(-ENOTCONN), 1);
		wake(); /* as for another process */
		assert_int_equal(wake_ups(-ENOTCONN), 1);
		set_connected(true);
		assert_int_equal(wake_ups(0), 1);
		assert_true(vread_connected(&v));
		vread_close(f);
		f = open_file();
		assert_int_equal(vread_submit(f, 0, 1000, NULL), 0);
		assert_int_equal(completion().result, 1000);
	}
	ends_quietly(f);
}

static void come_back(void)
{
	set_connected(true);
}

/* The backend comes back while the library makes the descriptor quiet. */
static void test_a_return_at_once_is_an_event(void **state)
{
	struct vread_file *f = looping_file();
	struct vread_completion c;

	(void)state;
	set_connected(false);
	while_taking = come_back;
	assert_int_equal(vread_reap(&v, &c, 1, 0), -ENOTCONN);
	assert_null(while_taking);
	assert_int_equal(wake_ups(0), 1);
	ends_quietly(f);
}

/* Another thread reads before the event loop hears that the backend is back. */
static void test_a_return_is_an_event_beside_other_reads(void **state)
{
	struct vread_file *f = looping_file();

	(void)state;
	set_connected(false);
	assert_int_equal(wake_ups(-ENOTCONN), 1);
	assert_int_equal(vread_pread(f, buf, 100, 0), -ENOTCONN);
	assert_int_equal(wake_ups(-ENOTCONN), 0);
	set_connected(true);
	assert_int_equal(vread_pread(f, buf, 100, 0), 100);
	assert_int_equal(wake_ups(0), 1);
	ends_quietly(f);
}

/* A READ of a backend that is back finds no room. */
static void test_room_is_an_event_after_a_return(void **state)
{
	struct vread_file *f = looping_file();

	(void)state;
	set_connected(false);
	assert_int_equal(wake_ups(-ENOTCONN), 1);
	set_room(0);
	set_connected(true);
	assert_int_equal(vread_submit(f, 0, 1000, NULL), 0);
	assert_int_equal(wake_ups(0), 0);
	set_room(64);
	assert_int_equal(completion().result, 1000);
	ends_quietly(f);
}

/* ---- a reader beside a leader ------------------------------------------------- */

static struct {
	pthread_t thread;
	struct vread_file *file;
	ssize_t result;
} beside;

static void *read_beside(void *unused)
{
	(void)unused;
	beside.result = vread_pread(beside.file, buf, 100, 5);
	return NULL;
}

static bool both_wait(void)
{
	bool both;

	engine_lock(&v.engine);
	both = v.engine.waiters.next != v.engine.waiters.prev;
	engine_unlock(&v.engine);
	return both;
}

/* Another thread's READ finds no room, and then there is room. */
static void no_room_for_another(void)
{
	driver.room = 0;
	assert_int_equal(pthread_create(&beside.thread, NULL, read_beside, NULL), 0);
	while (!both_wait())
		sched_yield();
	driver.room = 64;
}

static void test_an_idle_reaper_waits_for_the_room_of_others(void **state)
{
	struct vread_completion c;
	uint64_t began = now_ns;

	(void)state;
	beside.file = open_file();
	while_waiting = no_room_for_another;
	assert_int_equal(vread_reap(&v, &c, 1, 1000), 0);
	assert_int_equal(pthread_join(beside.thread, NULL), 0);
	assert_int_equal(beside.result, 100);
	check(5, 100);
	assert_int_equal(driver.submitted_ns, began);
	vread_close(beside.file);
}

/* ---- cancelled threads -------------------------------------------------------- */

static struct {
	pthread_t thread;
	struct vread_file *file;
	ssize_t result; /* of the thread's last call; -1: the thread ended in that call */
} cancelled;

static void *read_and_end(void *unused)
{
	(void)unused;
	cancelled.result = -1;
	cancelled.result = vread_pread(cancelled.file, buf, 100, 5);
	pthread_testcancel();
	return NULL;
}

/* The thread has ended, but not in the library, and others can go on. */
static void ended_outside(void)
{
	void *result;

	assert_int_equal(pthread_join(cancelled.thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(cancelled.result, 100);
	check(5, 100);
	assert_int_equal(vread_pread(cancelled.file, buf, 1000, 9), 1000);
	check(9, 1000);
	vread_close(cancelled.file);
	assert_int_equal(v.engine.slice.free_pages, POOL_BYTES / 4096);
}

static void cancel_the_leader(void)
{
	pthread_cancel(pthread_self());
	driver.room = 64;
	pthread_testcancel(); /* ppoll() is a cancellation point */
}

static void test_a_leader_is_not_cancelled(void **state)
{
	(void)state;
	cancelled.file = open_file();
	driver.room = 0;
	while_waiting = cancel_the_leader;
	assert_int_equal(pthread_create(&cancelled.thread, NULL, read_and_end, NULL), 0);
	ended_outside();
}

static void cancel_another(void)
{
	driver.room = 0;
	assert_int_equal(pthread_create(&cancelled.thread, NULL, read_and_end, NULL), 0);
	while (!both_wait())
		sched_yield();
	pthread_cancel(cancelled.thread);
	driver.room = 64;
}

static void test_a_thread_beside_the_leader_is_not_cancelled(void **state)
{
	struct vread_completion c;

	(void)state;
	alarm(120); /* a thread that is cancelled there keeps the lock */
	cancelled.file = open_file();
	while_waiting = cancel_another;
	assert_int_equal(vread_reap(&v, &c, 1, 1000), 0);
	ended_outside();
	alarm(0);
}

static void test_bytes_of_other_hosts_are_checked(void **state)
{
	struct vread_file *local = open_file(), *remote;

	(void)state;
	driver.remote = true;
	remote = open_file();
	assert_int_equal(vread_pread(remote, buf, 300000, 5), 300000);
	check(5, 300000);
	driver.wrong_sum = 1;
	assert_int_equal(vread_pread(remote, buf, 300000, 5), -EBADE);
	assert_int_equal(vread_pread(local, buf, 300000, 5), 300000);
	vread_close(local);
	vread_close(remote);
}

static void test_late_completion(void **state)
{
	struct vread_file *f = open_file();

	(void)state;
	driver.hold = true;
	assert_int_equal(vread_pread(f, buf, 300000, 0), -ETIME);
	assert_true(v.engine.slice.free_pages < POOL_BYTES / 4096);
	driver.hold = false;
	assert_int_equal(vread_pread(f, buf, 100000, 7), 100000);
	check(7, 100000);
	answer_all(0);
	assert_int_equal(vread_pread(f, buf, 100000, 9), 100000);
	check(9, 100000);
	assert_int_equal(vread_pread(f, buf, 1, 0), 1);
	assert_int_equal(v.engine.slice.free_pages, POOL_BYTES / 4096);
	vread_close(f);
}

static void test_backend_dies_and_comes_back(void **state)
{
	struct vread_file *f = open_file(), *g;
	struct vread_completion c;

	(void)state;
	driver.hold = true;
	assert_int_equal(vread_submit(f, 0, 1000, NULL), 0);
	driver.connected = false;
	answer_all(-ENOTCONN);
	assert_int_equal(vread_reap(&v, &c, 1, 100), 1);
	assert_int_equal(c.result, -ENOTCONN);
	vread_release(&v, &c);
	assert_int_equal(vread_pread(f, buf, 10, 0), -ENOTCONN);
	assert_int_equal(vread_update(f), -ENOTCONN);
	assert_int_equal(vread_open(&v, &block, &g), -ENOTCONN);
	assert_int_equal(vread_reap(&v, &c, 1, 100), -ENOTCONN);
	assert_false(vread_connected(&v));

	driver.connected = true;
	driver.hold = false;
	assert_true(vread_connected(&v));
	g = open_file();
	assert_int_equal(vread_pread(g, buf, 200000, 5), 200000);
	check(5, 200000);
	vread_close(g);
	vread_close(f);
	assert_int_equal(driver.closed, 2);
	assert_int_equal(v.engine.slice.free_pages, POOL_BYTES / 4096);
}

static void test_completion_of_nothing_is_ignored(void **state)
{
	struct vread_file *f = open_file();

	(void)state;
	driver.done[driver.num_done++] = (struct vread_ioc_completion){.user_data = 5};
	driver.done[driver.num_done++] = (struct vread_ioc_completion){.user_data = 1ULL << 40};
	driver.done[driver.num_done++] = (struct vread_ioc_completion){.user_data = ~0ULL};
	assert_int_equal(vread_pread(f, buf, 100, 3), 100);
	check(3, 100);
	vread_close(f);
}

static void test_open_error(void **state)
{
	struct vread_file *f;

	(void)state;
	driver.open_error = EACCES;
	assert_int_equal(vread_open(&v, &block, &f), -EACCES);
}

static void test_signals_do_not_prolong_an_open(void **state)
{
	struct vread_file *f;

	(void)state;
	driver.interrupts = 3;
	f = open_file();
	assert_int_equal(driver.open_timeout_ms, PATIENCE_MS - 3 * UNTIL_SIGNAL_MS);
	vread_close(f);
	driver.interrupts = UINT_MAX;
	assert_int_equal(vread_open(&v, &block, &f), -ETIME);
	assert_int_equal(UINT_MAX - driver.interrupts, PATIENCE_MS / UNTIL_SIGNAL_MS);
}

static const char *const storages[] = {"DS-1", "DS-2"};
static const struct vread_block replica = {
	.pool_id = "p",
	.block_id = -7,
	.generation_stamp = 2,
	.storage_ids = storages,
	.num_storage_ids = 1,
};

static void test_publish(void **state)
{
	static const uint8_t data[] = "\1\0\1\0\0\0\0\0p\4DS-1";

	(void)state;
	assert_int_equal(vread_publish(&v, &replica, VREAD_EVENT_TRUNCATE, 1000), 0);
	assert_int_equal(driver.published, 1);
	assert_int_equal(driver.publish.block_id, -7);
	assert_int_equal(driver.publish.genstamp, 2);
	assert_int_equal(driver.publish.length, 1000);
	assert_int_equal(driver.publish.event, VREAD_PUBLISH_TRUNCATE);
	assert_int_equal(driver.publish.timeout_ms, PATIENCE_MS);
	assert_int_equal(driver.publish.reserved, 0);
	assert_int_equal(driver.publish.data_length, sizeof(data) - 1);
	assert_memory_equal(driver.publish_data, data, sizeof(data) - 1);
	driver.interrupts = 3;
	assert_int_equal(vread_publish(&v, &replica, VREAD_EVENT_DELETE, 0), 0);
	assert_int_equal(driver.publish.timeout_ms, PATIENCE_MS - 3 * UNTIL_SIGNAL_MS);
	driver.interrupts = UINT_MAX;
	assert_int_equal(vread_publish(&v, &replica, VREAD_EVENT_DELETE, 0), -ETIME);
	assert_int_equal(driver.published, 2);
}

/* ENODEV of a backend is about the block. */
static void test_a_removed_device_is_no_connection(void **state)
{
	struct vread_file *f;

	(void)state;
	driver.open_error = driver.publish_error = ENODEV;
	assert_int_equal(vread_open(&v, &replica, &f), -ENODEV);
	assert_int_equal(vread_publish(&v, &replica, VREAD_EVENT_APPEND, 0), -ENODEV);
	driver.removed = true;
	assert_int_equal(vread_open(&v, &replica, &f), -ENOTCONN);
	assert_int_equal(vread_publish(&v, &replica, VREAD_EVENT_APPEND, 0), -ENOTCONN);
}

static void test_publish_keys(void **state)
{
	static const uint8_t data[] = "\1\0\1\0\x12\0\0\0p\4DS-1" /* names, then the key */
				      "\xff\xff\xff\xff\2\2\0\0\5\0\0\0\0\0\0\0k\0";
	static const struct vread_signing_key key = {-1, VREAD_HMAC_SHA256, 5, "k", 2};

	(void)state;
	assert_int_equal(vread_publish_keys(&v, "p", "DS-1", 1, &key, 1), 0);
	assert_int_equal(driver.keys.tokens, 1);
	assert_int_equal(driver.keys.timeout_ms, PATIENCE_MS);
	assert_int_equal(driver.keys.reserved, 0);
	assert_int_equal(driver.keys.data_length, sizeof(data) - 1);
	assert_memory_equal(driver.publish_data, data, sizeof(data) - 1);
	assert_int_equal(vread_publish_keys(&v, "p", "DS-1", 0, NULL, 0), 0);
	assert_int_equal(driver.keys.tokens, 0);
	assert_int_equal(driver.keys.data_length, 14);
	driver.publish_error = ENOTTY; /* a driver that does not know keys */
	assert_int_equal(vread_publish_keys(&v, "p", "DS-1", 0, NULL, 0), -EOPNOTSUPP);
}

static void test_publish_errors(void **state)
{
	static const struct {
		int driver, library;
	} errors[] = {
		{EOPNOTSUPP, -EOPNOTSUPP}, {ENOTTY, -EOPNOTSUPP}, /* a driver without events */
		{EACCES, -EACCES},         {ENODEV, -ENODEV},
		{ENOTCONN, -ENOTCONN},     {ETIME, -ETIME},
	};
	struct vread_block bad;

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		driver.publish_error = errors[i].driver;
		assert_int_equal(vread_publish(&v, &replica, VREAD_EVENT_APPEND, 0),
				 errors[i].library);
	}
	driver.publish_error = 0;
	assert_int_equal(vread_publish(&v, &replica, 0, 0), -EINVAL);
	assert_int_equal(vread_publish(&v, &replica, 5, 0), -EINVAL);
	bad = replica;
	bad.num_storage_ids = 2;
	assert_int_equal(vread_publish(&v, &bad, VREAD_EVENT_APPEND, 0), -EINVAL);
	bad.num_storage_ids = 0;
	assert_int_equal(vread_publish(&v, &bad, VREAD_EVENT_APPEND, 0), -EINVAL);
	bad = replica;
	bad.token = "t";
	bad.token_length = 1;
	assert_int_equal(vread_publish(&v, &bad, VREAD_EVENT_APPEND, 0), -EINVAL);
	bad = replica;
	bad.pool_id = NULL;
	assert_int_equal(vread_publish(&v, &bad, VREAD_EVENT_APPEND, 0), -EINVAL);
	assert_int_equal(driver.published, 0);
}

static void refused_at_connect(int expected)
{
	struct transport *t;
	int old = driver.fd;

	driver.fd = memfd_create("driver", MFD_CLOEXEC);
	assert_int_equal(device_connect(driver.fd, POOL_BYTES, &t), expected);
	assert_int_equal(fcntl(driver.fd, F_GETFD), -1); /* closed */
	driver.fd = old;
}

static void test_connect_errors(void **state)
{
	(void)state;
	driver.abi = 2;
	refused_at_connect(-EPROTO);
	driver.abi = VREAD_IOC_ABI;
	driver.connected = false;
	refused_at_connect(-ENOTCONN);
	driver.connected = true;
	driver.slice_error = ENOSPC;
	refused_at_connect(-ENOSPC);
	driver.slice_error = 0;
	driver.max_in_flight = 0;
	refused_at_connect(-EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reads, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_readers_in_turn_read_ahead_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_an_idle_reader_gives_way, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_last_chunk_is_given_away, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_read_costs_few_calls, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_waits_for_room_in_the_driver, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_no_room_at_all_is_a_timeout, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_refused_read_is_an_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_room_in_the_driver_is_an_event, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_refused_read_is_an_event, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reads_of_a_closed_file_are_no_event, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_the_end_and_the_return_of_a_backend_are_events,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_return_at_once_is_an_event, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_return_is_an_event_beside_other_reads,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_room_is_an_event_after_a_return, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_an_idle_reaper_waits_for_the_room_of_others,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_leader_is_not_cancelled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_thread_beside_the_leader_is_not_cancelled,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_removed_device_is_no_connection, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_bytes_of_other_hosts_are_checked, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_late_completion, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_backend_dies_and_comes_back, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_completion_of_nothing_is_ignored, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_open_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_signals_do_not_prolong_an_open, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_publish, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_publish_keys, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_publish_errors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_connect_errors, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
