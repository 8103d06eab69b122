/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls every ioctl of /dev/vread with arguments that the ioctl must refuse, and checks that an
 * open file never sees data of another. shared/test_read.py, test_publish.py and test_kernels.py
 * run it in a guest.
 *
 *   vread_uapi_test POOL/blk_ID_GS[@STORAGE][:LENGTH]
 *   vread_uapi_test POOL/blk_ID_GS datanode STORAGE
 *
 * First form: the guest's device is connected and may read the block, which must have at least
 * 1 MiB. Second form: the device has role datanode and may publish for the storage; only PUBLISH
 * and KEYS are checked, by the node of publishers.
 *
 * Output and exit status are those of the kernel's own tests (KTAP, tools/testing/selftests): a
 * line for each check and the plan at the end; 0, 1 if a check failed, 4 if there is no device.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vread-ring-user.h"
#include "vread_ioctl.h"

#define DEVICE "/dev/vread"
#define PUBLISH_DEVICE DEVICE "-publish"
#define PAGE 4096U
#define SLICE (1U << 20)
#define SMALL_SLICE (VREAD_SMALL_SHARE_PAGES * PAGE)
#define BAD_POINTER 0x10UL

enum { KSFT_PASS = 0, KSFT_FAIL = 1, KSFT_SKIP = 4 };

#define TIMEOUT_MS 60000
#define PATIENCE_S 60

static unsigned checks, failures;

static void check(bool ok, const char *what)
{
	printf("%s %u %s\n", ok ? "ok" : "not ok", ++checks, what);
	fflush(stdout);
	failures += !ok;
}

static int end(void)
{
	printf("1..%u\n# Totals: pass:%u fail:%u xfail:0 xpass:0 skip:0 error:0\n", checks,
	       checks - failures, failures);
	return failures ? KSFT_FAIL : KSFT_PASS;
}

/* got: 0 or more, or a negative errno. */
static void expect(long got, long wanted, const char *what)
{
	char text[160];

	snprintf(text, sizeof(text), "%s: %ld", what, got);
	if (got != wanted)
		snprintf(text, sizeof(text), "%s: got %ld (%s), wanted %ld", what, got,
			 got < 0 ? strerror((int)-got) : "", wanted);
	check(got == wanted, text);
}

static long call(int fd, unsigned long request, void *argument)
{
	int r = ioctl(fd, request, argument);

	return r < 0 ? -errno : r;
}

static void __attribute__((noreturn)) die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(KSFT_FAIL);
}

static int open_node_for(const char *node, int mode)
{
	int fd = open(node, mode | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT) {
		printf("1..0 # SKIP there is no %s\n", node);
		exit(KSFT_SKIP);
	}
	if (fd < 0)
		die(node);
	return fd;
}

static int open_node(const char *node)
{
	return open_node_for(node, O_RDWR);
}

static int open_device(void)
{
	return open_node(DEVICE);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the block ---- */

static struct {
	char data[512];
	uint32_t data_length;
	int64_t id;
	uint64_t genstamp;
} block;

static void add_storage(const char *id)
{
	uint8_t length = (uint8_t)strlen(id);
	struct vread_open_data header;

	memcpy(&header, block.data, sizeof(header));
	header.num_storages++;
	memcpy(block.data, &header, sizeof(header));
	block.data[block.data_length++] = (char)length;
	memcpy(block.data + block.data_length, id, length);
	block.data_length += length;
}

static void parse_block(const char *spec)
{
	struct vread_open_data header = {0};
	char pool[200];

	if (sscanf(spec, "%199[^/]/blk_%" SCNd64 "_%" SCNu64, pool, &block.id, &block.genstamp) !=
	    3) {
		errno = EINVAL;
		die(spec);
	}
	header.pool_id_length = (uint16_t)strlen(pool);
	memcpy(block.data, &header, sizeof(header));
	memcpy(block.data + sizeof(header), pool, strlen(pool));
	block.data_length = (uint32_t)(sizeof(header) + strlen(pool));
}

static void name_storage(const char *spec)
{
	char storage[VREAD_MAX_STORAGE_ID + 1];

	if (sscanf(spec, "%*[^@]@%127[^:]", storage) != 1) {
		errno = EINVAL;
		die(spec);
	}
	add_storage(storage);
}

static struct vread_ioc_open open_args(void)
{
	return (struct vread_ioc_open){
		.data = (uintptr_t)block.data,
		.data_length = block.data_length,
		.timeout_ms = TIMEOUT_MS,
		.block_id = block.id,
		.genstamp = block.genstamp,
	};
}

static uint32_t open_block(int fd)
{
	struct vread_ioc_open args = open_args();

	if (ioctl(fd, VREAD_IOC_OPEN, &args))
		die("OPEN of the block");
	return args.handle;
}

/* ---- shorthands ---- */

static struct vread_ioc_info info(int fd)
{
	struct vread_ioc_info args;

	if (ioctl(fd, VREAD_IOC_INFO, &args))
		die("INFO");
	return args;
}

static long slice(int fd, uint64_t bytes)
{
	struct vread_ioc_slice args = {.bytes = bytes};
	long r = call(fd, VREAD_IOC_SLICE, &args);

	return r < 0 ? r : (long)args.bytes;
}

static long submit(int fd, struct vread_ioc_read *reads, unsigned count)
{
	struct vread_ioc_submit args = {.reads = (uintptr_t)reads, .count = count};

	return call(fd, VREAD_IOC_SUBMIT, &args);
}

static long reap(int fd, struct vread_ioc_completion *done, unsigned count, unsigned min,
		 unsigned timeout_ms)
{
	struct vread_ioc_reap args = {
		.completions = (uintptr_t)done,
		.count = count,
		.min_complete = min,
		.timeout_ms = timeout_ms,
	};

	return call(fd, VREAD_IOC_REAP, &args);
}

/* Submits one READ that must be taken; returns its result. */
static long read_one(int fd, uint32_t handle, uint64_t offset, uint32_t length, uint32_t to)
{
	struct vread_ioc_read r = {.offset = offset,
				   .handle = handle,
				   .length = length,
				   .slice_offset = to};
	struct vread_ioc_completion done = {0};

	if (submit(fd, &r, 1) != 1 || reap(fd, &done, 1, 1, TIMEOUT_MS) != 1)
		return -ENODATA;
	return done.result;
}

static int events(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT};

	return poll(&p, 1, 0) < 0 ? -errno : p.revents;
}

static bool all_zero(const uint8_t *p, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (p[i])
			return false;
	return true;
}

static uint8_t *map_slice(int fd, size_t length)
{
	void *p = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		die("mmap of the slice");
	return p;
}

static long try_map(int fd, size_t length, int prot, off_t offset)
{
	void *p = mmap(NULL, length, prot, MAP_SHARED, fd, offset);

	if (p == MAP_FAILED)
		return -errno;
	munmap(p, length);
	return 0;
}

/* ---- checks ---- */

static void check_device(int fd, const char *role)
{
	struct vread_ioc_info i = info(fd);
	char byte = 0;

	check(i.abi == VREAD_IOC_ABI, "INFO tells this ABI");
	check(i.connected == 1 && i.generation >= 1, "INFO tells of a connection");
	check(i.max_in_flight >= 8 && i.max_in_flight <= 256, "INFO tells a sane max_in_flight");
	check(!strcmp(i.role, role), "INFO tells the role");
	check(!i.slice_bytes, "INFO tells of no slice yet");
	expect(call(fd, VREAD_IOC_INFO, (void *)BAD_POINTER), -EFAULT, "INFO to a bad address");
	expect(call(fd, _IO(VREAD_IOC_MAGIC, 99), NULL), -ENOTTY, "unknown ioctl");
	expect(read(fd, &byte, 1) < 0 ? -errno : 0, -EINVAL, "read()");
	expect(write(fd, &byte, 1) < 0 ? -errno : 0, -EINVAL, "write()");
}

static void check_before_slice(int fd)
{
	struct vread_ioc_read r = {.length = PAGE, .handle = 1};
	struct vread_ioc_completion done;

	expect(submit(fd, &r, 1), -EINVAL, "SUBMIT before SLICE");
	expect(try_map(fd, PAGE, PROT_READ, 0), -EINVAL, "mmap before SLICE");
	expect(reap(fd, &done, 1, 0, 0), 0, "REAP of nothing without waiting");
}

static void check_slice(int fd)
{
	expect(slice(fd, 0), -EINVAL, "SLICE of 0 bytes");
	expect(slice(fd, info(fd).pool_bytes + 1), -ENOSPC, "SLICE of more than the pool");
	expect(slice(fd, UINT64_MAX), -ENOSPC, "SLICE of 2^64 - 1 bytes");
	expect(call(fd, VREAD_IOC_SLICE, (void *)BAD_POINTER), -EFAULT, "SLICE from a bad address");
	expect(slice(fd, SLICE - 100), SLICE, "SLICE is rounded up to pages");
	expect(slice(fd, SLICE), -EBUSY, "second SLICE");
	check(info(fd).slice_bytes == SLICE, "INFO tells of the slice");
}

static void check_mmap(int fd)
{
	uint8_t *p;
	int pipes[2];
	struct iovec v;

	expect(try_map(fd, SLICE, PROT_READ | PROT_WRITE, 0), -EACCES, "mmap for writing");
	expect(try_map(fd, SLICE, PROT_READ | PROT_EXEC, 0), -EACCES, "mmap for executing");
	expect(try_map(fd, SLICE + PAGE, PROT_READ, 0), -EINVAL, "mmap beyond the slice");
	expect(try_map(fd, PAGE, PROT_READ, PAGE), -EINVAL, "mmap at an offset");
	expect(try_map(fd, PAGE, PROT_READ, 0), 0, "mmap of a part");

	p = map_slice(fd, SLICE);
	check(all_zero(p, SLICE), "a new slice is zero");
	expect(mprotect(p, SLICE, PROT_READ | PROT_WRITE) ? -errno : 0, -EACCES,
	       "mprotect for writing");
	check(mremap(p, SLICE, 2 * SLICE, MREMAP_MAYMOVE) == MAP_FAILED, "mremap to more");
	if (pipe(pipes))
		die("pipe");
	v = (struct iovec){.iov_base = p, .iov_len = PAGE};
	check(vmsplice(pipes[1], &v, 1, 0) < 0, "pages cannot be pinned by vmsplice");
	check(write(pipes[1], p, 64) == 64, "bytes can be written out of the mapping");
	close(pipes[0]);
	close(pipes[1]);
	munmap(p, SLICE);
}

static long open_with(int fd, struct vread_ioc_open args)
{
	return call(fd, VREAD_IOC_OPEN, &args);
}

static void check_open(int fd)
{
	struct vread_open_data lies = {.pool_id_length = 60000};
	static char big[VREAD_MAX_OPEN_DATA + 1];
	struct vread_ioc_open a;

	expect(call(fd, VREAD_IOC_OPEN, (void *)BAD_POINTER), -EFAULT, "OPEN from a bad address");
	a = open_args();
	a.data = BAD_POINTER;
	expect(open_with(fd, a), -EFAULT, "OPEN with data at a bad address");
	a = open_args();
	a.data_length = 0;
	expect(open_with(fd, a), -EINVAL, "OPEN without data");
	a.data_length = sizeof(struct vread_open_data) - 1;
	expect(open_with(fd, a), -EINVAL, "OPEN with half a header");
	a.data = (uintptr_t)big;
	a.data_length = VREAD_MAX_OPEN_DATA + 1;
	expect(open_with(fd, a), -EINVAL, "OPEN with 16 KiB + 1 of data");
	a.data_length = VREAD_MAX_OPEN_DATA;
	expect(open_with(fd, a), -EINVAL, "OPEN with 16 KiB of zeros");
	a.data = (uintptr_t)&lies;
	a.data_length = sizeof(lies);
	expect(open_with(fd, a), -EINVAL, "OPEN with a pool id longer than its data");
	a = open_args();
	a.block_id = 1999999999;
	expect(open_with(fd, a), -ENOENT, "OPEN of an unknown block");
	a = open_args();
	a.genstamp++;
	expect(open_with(fd, a), -EEXIST, "OPEN with another generation stamp");
	a = open_args();
	a.visible_length = UINT64_MAX;
	expect(open_with(fd, a), -ERANGE, "OPEN with a visible length of 2^64 - 1");
}

static void check_handles(int fd, uint32_t handle)
{
	struct vread_ioc_stat stat = {.handle = handle, .timeout_ms = TIMEOUT_MS};
	uint32_t bad[] = {0, handle + 1000, UINT32_MAX}, extra;

	expect(call(fd, VREAD_IOC_STAT, &stat), 0, "STAT");
	check(stat.genstamp == block.genstamp, "STAT tells the generation stamp");
	stat.reserved = 1;
	expect(call(fd, VREAD_IOC_STAT, &stat), -EINVAL, "STAT with reserved set");
	stat.reserved = 0;
	for (unsigned i = 0; i < 3; i++) {
		stat.handle = bad[i];
		expect(call(fd, VREAD_IOC_STAT, &stat), -EBADF, "STAT of no handle");
		expect(call(fd, VREAD_IOC_CLOSE, &bad[i]), -EBADF, "CLOSE of no handle");
	}
	expect(call(fd, VREAD_IOC_STAT, (void *)BAD_POINTER), -EFAULT, "STAT from a bad address");
	expect(call(fd, VREAD_IOC_CLOSE, (void *)BAD_POINTER), -EFAULT, "CLOSE from a bad address");
	extra = open_block(fd);
	expect(call(fd, VREAD_IOC_CLOSE, &extra), 0, "CLOSE");
	expect(call(fd, VREAD_IOC_CLOSE, &extra), -EBADF, "CLOSE a second time");
}

static void check_bad_reads(int fd, uint32_t handle)
{
	static const struct {
		const char *what;
		int error;
		struct vread_ioc_read r;
	} bad[] = {
		{"READ of 0 bytes", -EINVAL, {.length = 0}},
		{"READ of 4 MiB + 1", -EINVAL, {.length = VREAD_MAX_READ + 1}},
		{"READ of 2^32 - 1 bytes", -EINVAL, {.length = UINT32_MAX}},
		{"READ to an unaligned place", -EINVAL, {.length = 1, .slice_offset = 512}},
		{"READ behind the slice", -EINVAL, {.length = 1, .slice_offset = SLICE}},
		{"READ over the slice's end",
		 -EINVAL,
		 {.length = PAGE + 1, .slice_offset = SLICE - PAGE}},
		{"READ to the end of 32 bits",
		 -EINVAL,
		 {.length = 2 * PAGE, .slice_offset = UINT32_MAX - PAGE + 1}},
		{"READ at an offset that overflows",
		 -EINVAL,
		 {.length = PAGE, .offset = UINT64_MAX}},
		{"READ with reserved set", -EINVAL, {.length = PAGE, .reserved = 1}},
		{"READ of no handle", -EBADF, {.length = PAGE, .handle = 12345}},
	};
	struct vread_ioc_submit args = {.reads = BAD_POINTER, .count = 1};
	struct vread_ioc_read r[2];
	struct vread_ioc_completion done;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		r[0] = bad[i].r;
		r[0].handle = r[0].handle ?: handle;
		expect(submit(fd, r, 1), bad[i].error, bad[i].what);
	}
	expect(call(fd, VREAD_IOC_SUBMIT, &args), -EFAULT, "SUBMIT from a bad array");
	expect(call(fd, VREAD_IOC_SUBMIT, (void *)BAD_POINTER), -EFAULT,
	       "SUBMIT from a bad address");
	expect(submit(fd, r, 0), -EINVAL, "SUBMIT of 0 READs");
	expect(submit(fd, r, 257), -EINVAL, "SUBMIT of 257 READs");
	args = (struct vread_ioc_submit){.reads = (uintptr_t)r, .count = 1, .reserved = 1};
	expect(call(fd, VREAD_IOC_SUBMIT, &args), -EINVAL, "SUBMIT with reserved set");

	r[0] = (struct vread_ioc_read){.length = PAGE, .handle = handle};
	r[1] = (struct vread_ioc_read){.length = 0, .handle = handle};
	expect(submit(fd, r, 2), 1, "SUBMIT of a good and a bad READ takes the good one");
	expect(reap(fd, &done, 1, 1, TIMEOUT_MS), 1, "and that one completes");
}

/*
 * Submits two READs with overlapping places. The second must be refused. If the first was answered
 * before the second was submitted, the check is repeated.
 */
static void check_overlap(int fd, uint32_t handle)
{
	struct vread_ioc_read r[2] = {
		{.length = SLICE, .handle = handle},
		{.length = PAGE, .handle = handle, .slice_offset = SLICE - PAGE},
	};
	struct vread_ioc_completion done[2];
	bool refused = false;

	for (double start = now(); !refused && now() - start < PATIENCE_S;) {
		long second;

		if (submit(fd, &r[0], 1) != 1)
			break;
		second = submit(fd, &r[1], 1);
		refused = second == -EBUSY;
		if (reap(fd, done, 2, refused ? 1 : 2, TIMEOUT_MS) < 1)
			break;
	}
	check(refused, "READ into pages of another READ in flight: EBUSY");
}

static void check_bad_reaps(int fd)
{
	struct vread_ioc_completion done;
	struct vread_ioc_reap args = {.completions = (uintptr_t)&done,
				      .count = 1,
				      .timeout_ms = 1,
				      .reserved = 1};
	double start;

	expect(reap(fd, &done, 0, 0, 1), -EINVAL, "REAP of 0 completions");
	expect(reap(fd, &done, 257, 1, 1), -EINVAL, "REAP of 257 completions");
	expect(reap(fd, &done, 1, 2, 1), -EINVAL, "REAP that waits for more than it takes");
	expect(call(fd, VREAD_IOC_REAP, &args), -EINVAL, "REAP with reserved set");
	expect(call(fd, VREAD_IOC_REAP, (void *)BAD_POINTER), -EFAULT, "REAP from a bad address");
	start = now();
	expect(reap(fd, &done, 1, 1, 2000), -ETIME, "REAP of nothing for two seconds");
	/* Accepts half the time: the kernel's ticks may come late although the clock does not. */
	check(now() - start >= 1, "and it waited");
}

static void check_lost_completion(int fd, uint32_t handle)
{
	struct vread_ioc_read r = {.user_data = 77, .length = PAGE, .handle = handle};
	struct vread_ioc_completion done = {0};
	struct pollfd p = {.fd = fd, .events = POLLIN};

	expect(submit(fd, &r, 1), 1, "SUBMIT");
	check(poll(&p, 1, TIMEOUT_MS) == 1 && p.revents & POLLIN, "poll() tells of its completion");
	expect(reap(fd, (void *)BAD_POINTER, 1, 1, 1000), -EFAULT, "REAP to a bad array");
	expect(reap(fd, &done, 1, 0, 0), 1, "does not lose the completion");
	check(done.user_data == 77 && done.result == PAGE, "which has user_data and bytes");
}

/* Submits as many READs as a file may have under way, one page each, to different places. */
static void check_many(int fd, uint32_t handle)
{
	unsigned max = info(fd).max_in_flight;
	struct vread_ioc_completion done[256];
	struct vread_ioc_read r[257];
	bool seen[257] = {false}, good = true;
	uint8_t *p = map_slice(fd, SLICE), *copy = malloc(SLICE);
	long n = 0, got;

	for (unsigned i = 0; i <= max; i++)
		r[i] = (struct vread_ioc_read){.user_data = i,
					       .offset = (uint64_t)(max - i) * PAGE,
					       .handle = handle,
					       .length = PAGE,
					       .slice_offset = i * PAGE};
	/* A ring smaller than max takes the READs in several calls. */
	while (n < max) {
		got = submit(fd, r + n, max - (unsigned)n);
		if (got < 0 && got != -EAGAIN)
			break;
		n += got > 0 ? got : 0;
	}
	expect(n, max, "max_in_flight READs are taken");
	expect(submit(fd, r + max, 1), -EAGAIN, "and not one more");
	check(!(events(fd) & POLLOUT), "poll() tells of no room");
	expect(reap(fd, done, 256, max, TIMEOUT_MS), max, "REAP of all of them");
	for (unsigned i = 0; i < max; i++) {
		good = good && done[i].user_data < max && !seen[done[i].user_data] &&
		       done[i].result == PAGE;
		seen[done[i].user_data % 257] = true;
	}
	check(good, "each once, each with its bytes");
	check(events(fd) == POLLOUT, "poll() tells of room and of nothing to reap");

	memcpy(copy, p, SLICE);
	expect(read_one(fd, handle, 0, SLICE, 0), SLICE, "READ of the whole slice");
	for (unsigned i = 0; i < max; i++)
		good = good && !memcmp(copy + i * PAGE, p + (size_t)(max - i) * PAGE, PAGE);
	check(good, "pages read apart and together are the same");
	check(!all_zero(p, PAGE), "and hold something");
	free(copy);
	munmap(p, SLICE);
}

static void check_end_of_block(int fd, uint32_t handle, uint64_t length)
{
	expect(read_one(fd, handle, length - 10, PAGE, 0), 10, "READ over the end of the block");
	expect(read_one(fd, handle, length, PAGE, 0), 0, "READ at the end of the block");
	expect(read_one(fd, handle, length + PAGE, PAGE, 0), 0, "READ behind the end");
}

static void check_close_in_flight(int fd)
{
	uint32_t handle = open_block(fd);
	struct vread_ioc_read r = {.length = SLICE, .handle = handle};
	struct vread_ioc_completion done = {0};

	expect(submit(fd, &r, 1), 1, "SUBMIT");
	expect(call(fd, VREAD_IOC_CLOSE, &handle), 0, "CLOSE with a READ in flight");
	expect(reap(fd, &done, 1, 1, TIMEOUT_MS), 1, "REAP of that READ");
	expect(done.result, SLICE, "which was finished first");
}

static void check_privacy(uint32_t handle)
{
	struct vread_ioc_stat stat = {.handle = handle, .timeout_ms = TIMEOUT_MS};
	int a = open_device(), b = open_device();
	uint8_t *p;

	expect(call(b, VREAD_IOC_STAT, &stat), -EBADF, "STAT of another file's handle");
	expect(slice(a, SLICE), SLICE, "a file's slice");
	p = map_slice(a, SLICE);
	expect(read_one(a, open_block(a), 0, SLICE, 0), SLICE, "READ into it");
	close(a);
	check(!all_zero(p, SLICE), "the mapping outlives close()");
	munmap(p, SLICE);

	/* The module allocates first fit: b gets the slice that a had. */
	expect(slice(b, SLICE), SLICE, "another file's slice after that");
	p = map_slice(b, SLICE);
	check(all_zero(p, SLICE), "shows nothing of what the first one read");
	munmap(p, SLICE);
	close(b);
}

static bool comes_back(int fd, uint64_t free_bytes)
{
	for (double start = now(); now() - start < PATIENCE_S; usleep(20000))
		if (info(fd).pool_free_bytes == free_bytes)
			return true;
	return false;
}

static void check_sudden_death(int fd)
{
	uint64_t before = info(fd).pool_free_bytes;
	int status = 0;

	for (unsigned round = 0; round < 5; round++) {
		pid_t child = fork();

		if (!child) {
			int mine = open_device();
			struct vread_ioc_read r = {.length = SLICE, .handle = open_block(mine)};

			slice(mine, SLICE);
			submit(mine, &r, 1);
			_exit(0);
		}
		waitpid(child, &status, 0);
	}
	check(comes_back(fd, before),
	      "slices of processes that died with READs in flight come back");
}

static void check_pool_exhaustion(int fd)
{
	uint64_t before = info(fd).pool_free_bytes;
	/* A sixth more for users who hold nothing. */
	uint64_t kept = (uint64_t)VREAD_SMALL_SHARES * SMALL_SLICE * 7 / 6;
	int large = open_device(), none = open_device(), stranger;
	int small[VREAD_SMALL_SHARES];

	check(kept <= info(fd).pool_bytes / 2, "the pool is large enough for this test");
	expect(slice(large, before), -ENOSPC, "a large slice leaves room for small ones");
	expect(slice(large, before - kept), (long)(before - kept), "a slice of all the rest");
	expect(slice(none, SMALL_SLICE + 1), -ENOSPC, "SLICE of a page more than a small one");
	for (unsigned i = 0; i < VREAD_SMALL_SHARES; i++) {
		small[i] = open_device();
		expect(slice(small[i], SMALL_SLICE), SMALL_SLICE, "a small slice beside it");
	}
	expect(slice(none, PAGE), -ENOSPC, "SLICE when nothing is free for this user");
	check(setresuid(1234, 0, 0) == 0, "another user");
	stranger = open_device();
	expect(slice(stranger, SMALL_SLICE), SMALL_SLICE, "a small slice for another user");
	close(stranger);
	check(setresuid(0, 0, 0) == 0, "this user again");
	check(open_with(none, open_args()) == 0, "OPEN works all the same");
	close(small[0]);
	expect(slice(none, PAGE), PAGE, "SLICE when there is room again");
	for (unsigned i = 1; i < VREAD_SMALL_SHARES; i++)
		close(small[i]);
	close(large);
	close(none);
	check(comes_back(fd, before), "and all of it comes back");
}

static struct vread_ioc_publish publish_args(void)
{
	return (struct vread_ioc_publish){
		.data = (uintptr_t)block.data,
		.data_length = block.data_length,
		.timeout_ms = TIMEOUT_MS,
		.block_id = block.id,
		.genstamp = block.genstamp,
		.event = VREAD_PUBLISH_FINALIZED,
	};
}

static long publish_with(int fd, struct vread_ioc_publish args)
{
	return call(fd, VREAD_IOC_PUBLISH, &args);
}

/* Arguments that the module refuses. */
/* Structs of a later version. */
static void check_longer_structs(int fd)
{
	struct {
		struct vread_ioc_open known;
		uint64_t later;
	} o = {.known = open_args()};
	struct {
		struct vread_ioc_info known;
		uint64_t later;
	} i = {.later = 7};
	const unsigned long longer_open = _IOWR(VREAD_IOC_MAGIC, 2, o);
	const unsigned long longer_info = _IOR(VREAD_IOC_MAGIC, 0, i);

	expect(call(fd, longer_open, &o), 0, "OPEN with a longer struct");
	check(o.known.handle && o.known.length, "and its results");
	expect(call(fd, VREAD_IOC_CLOSE, &o.known.handle), 0, "CLOSE of its handle");
	o.later = 1;
	expect(call(fd, longer_open, &o), -E2BIG, "OPEN with something that is not known");
	expect(call(fd, longer_info, &i), 0, "INFO with a longer struct");
	check(i.known.abi == VREAD_IOC_ABI && i.later == 7, "what is not known stays");
	expect(call(fd, _IOWR(VREAD_IOC_MAGIC, 2, uint64_t), &o), -ENOTTY,
	       "OPEN with a struct that is too short");
	expect(call(fd, _IOW(VREAD_IOC_MAGIC, 2, struct vread_ioc_open), &o), -ENOTTY,
	       "OPEN in one direction only");
}

static void check_bad_publish(int fd)
{
	struct vread_ioc_publish a;

	expect(call(fd, VREAD_IOC_PUBLISH, (void *)BAD_POINTER), -EFAULT,
	       "PUBLISH from a bad address");
	a = publish_args();
	a.event = 0;
	expect(publish_with(fd, a), -EINVAL, "PUBLISH of event 0");
	a.event = VREAD_PUBLISH_DELETE + 1;
	expect(publish_with(fd, a), -EINVAL, "PUBLISH of an unknown event");
	a.event = UINT32_MAX;
	expect(publish_with(fd, a), -EINVAL, "PUBLISH of event 2^32 - 1");
	a = publish_args();
	a.reserved = 1;
	expect(publish_with(fd, a), -EINVAL, "PUBLISH with reserved set");
	a = publish_args();
	a.data_length = sizeof(struct vread_open_data) - 1;
	expect(publish_with(fd, a), -EINVAL, "PUBLISH with half a header");
	a.data_length = VREAD_MAX_OPEN_DATA + 1;
	expect(publish_with(fd, a), -EINVAL, "PUBLISH with 16 KiB + 1 of data");
	a.data_length = UINT32_MAX;
	expect(publish_with(fd, a), -EINVAL, "PUBLISH with 2^32 - 1 bytes of data");
}

/* The arguments for the block's pool and storage, followed by one key. */
static struct vread_ioc_keys keys_args(void)
{
	static char data[sizeof(block.data) + sizeof(struct vread_key) + 8];
	struct vread_key key = {.id = 7,
				.algorithm = VREAD_KEY_HMAC_SHA1,
				.length = 8,
				.expiry = INT64_MAX};
	struct vread_open_data header;
	char *at = data + block.data_length;

	memcpy(data, block.data, block.data_length);
	memcpy(&header, data, sizeof(header));
	header.token_length = sizeof(key) + key.length;
	memcpy(data, &header, sizeof(header));
	memcpy(at, &key, sizeof(key));
	memset(at + sizeof(key), 'k', key.length);
	return (struct vread_ioc_keys){
		.data = (uintptr_t)data,
		.data_length = block.data_length + header.token_length,
		.timeout_ms = TIMEOUT_MS,
		.tokens = 1,
	};
}

static long keys_with(int fd, struct vread_ioc_keys args)
{
	return call(fd, VREAD_IOC_KEYS, &args);
}

static void check_bad_keys(int fd)
{
	struct vread_ioc_keys a = keys_args();

	expect(call(fd, VREAD_IOC_KEYS, (void *)BAD_POINTER), -EFAULT, "KEYS from a bad address");
	a.reserved = 1;
	expect(keys_with(fd, a), -EINVAL, "KEYS with reserved set");
	a = keys_args();
	a.tokens = 2;
	expect(keys_with(fd, a), -EINVAL, "KEYS with tokens 2");
	a = keys_args();
	a.data_length = sizeof(struct vread_open_data) - 1;
	expect(keys_with(fd, a), -EINVAL, "KEYS with half a header");
	a.data_length = VREAD_MAX_OPEN_DATA + 1;
	expect(keys_with(fd, a), -EINVAL, "KEYS with 16 KiB + 1 of data");
	a.data_length = UINT32_MAX;
	expect(keys_with(fd, a), -EINVAL, "KEYS with 2^32 - 1 bytes of data");
}

/* Who may read may not publish. */
static void check_publish_by_reader(int fd)
{
	expect(publish_with(fd, publish_args()), -EACCES, "PUBLISH by a reader");
	expect(call(fd, VREAD_IOC_PUBLISH, (void *)BAD_POINTER), -EACCES,
	       "PUBLISH by a reader, from a bad address");
	expect(keys_with(fd, keys_args()), -EACCES, "KEYS by a reader");
}

/* fd: of the node of publishers; reader: of the other. */
static void check_keys_as_datanode(int fd, int reader)
{
	struct vread_ioc_keys a = keys_args();

	check_bad_keys(fd);
	a.data = BAD_POINTER;
	expect(keys_with(fd, a), -EFAULT, "KEYS with data at a bad address");
	a = keys_args();
	a.data_length--;
	expect(keys_with(fd, a), -EINVAL, "KEYS with a key cut short");
	expect(open_with(reader, open_args()), 0, "OPEN as before");
	expect(keys_with(fd, keys_args()), 0, "KEYS");
	expect(open_with(reader, open_args()), -EPERM, "OPEN without a token after it");
	a = keys_args();
	a.tokens = 0;
	expect(keys_with(fd, a), -EINVAL, "KEYS where tokens are not used");
	a = (struct vread_ioc_keys){.data = (uintptr_t)block.data,
				    .data_length = block.data_length,
				    .timeout_ms = TIMEOUT_MS};
	expect(keys_with(fd, a), -EPERM, "KEYS: tokens are not used, after they were");
	expect(open_with(reader, open_args()), -EPERM, "OPEN without a token after that");
}

static void check_publish_as_datanode(int fd, int reader, const char *storage)
{
	struct vread_ioc_publish a = publish_args();
	struct vread_ioc_open open;

	expect(publish_with(fd, a), -EINVAL, "PUBLISH without a storage");
	add_storage(storage);
	open = open_args();
	check_bad_publish(fd);
	a = publish_args();
	a.data = BAD_POINTER;
	expect(publish_with(fd, a), -EFAULT, "PUBLISH with data at a bad address");
	a = publish_args();
	a.event = VREAD_PUBLISH_DELETE;
	expect(publish_with(fd, a), 0, "PUBLISH of a deletion");
	expect(open_with(reader, open), -ENOENT, "OPEN after it");
	a.event = VREAD_PUBLISH_FINALIZED;
	expect(publish_with(fd, a), 0, "PUBLISH of its finalization");
	expect(open_with(reader, open), 0, "OPEN after that");
	expect(open_with(fd, open), -EACCES, "OPEN by a publisher");
	check_keys_as_datanode(fd, reader);
	add_storage("DS-2");
	expect(publish_with(fd, publish_args()), -EINVAL, "PUBLISH for two storages");
}

static void check_publish_without_writing(void)
{
	int fd = open_node_for(PUBLISH_DEVICE, O_RDONLY);

	expect(publish_with(fd, publish_args()), -EBADF, "PUBLISH, opened for reading");
	expect(keys_with(fd, keys_args()), -EBADF, "KEYS, opened for reading");
	close(fd);
}

static int run_as_datanode(const char *storage)
{
	int reader = open_device(), fd = open_node(PUBLISH_DEVICE);
	struct stat st;

	check(!stat(PUBLISH_DEVICE, &st) && (st.st_mode & 0777) == 0600,
	      "the node of publishers is for root alone");
	check_device(reader, "datanode");
	check_device(fd, "datanode");
	check_publish_by_reader(reader);
	check_publish_without_writing();
	check_publish_as_datanode(fd, reader, storage);
	return end();
}

/* Opens the block as that user: vreadd's log has to name the user. */
static int run_as_user(const char *user)
{
	uid_t uid = (uid_t)strtoul(user, NULL, 10);
	int fd = open_device();

	if (setresuid(uid, uid, uid))
		die("setresuid");
	open_block(fd);
	return 0;
}

int main(int argc, char **argv)
{
	struct vread_ioc_open opened;
	int fd;

	if (argc != 2 && argc != 4) {
		fprintf(stderr, "usage: %s POOL/blk_ID_GS@STORAGE [datanode STORAGE | user UID]\n",
			argv[0]);
		return 2;
	}
	puts("TAP version 13");
	parse_block(argv[1]);
	if (argc == 4 && !strcmp(argv[2], "datanode"))
		return run_as_datanode(argv[3]);
	name_storage(argv[1]);
	if (argc == 4)
		return run_as_user(argv[3]);
	fd = open_device();
	check_device(fd, "client");
	check_publish_by_reader(fd);
	check(access(PUBLISH_DEVICE, F_OK) < 0 && errno == ENOENT,
	      "a client has no node for publishers");
	check_before_slice(fd);
	check_slice(fd);
	check_mmap(fd);
	check_open(fd);
	check_longer_structs(fd);
	opened = open_args();
	expect(call(fd, VREAD_IOC_OPEN, &opened), 0, "OPEN");
	check_handles(fd, opened.handle);
	check_bad_reads(fd, opened.handle);
	check_overlap(fd, opened.handle);
	check_bad_reaps(fd);
	check_lost_completion(fd, opened.handle);
	check_many(fd, opened.handle);
	check_end_of_block(fd, opened.handle, opened.length);
	check_close_in_flight(fd);
	check_privacy(opened.handle);
	check_sudden_death(fd);
	check_pool_exhaustion(fd);
	return end();
}
