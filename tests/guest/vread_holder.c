/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that holds /dev/vread open while a test breaks the backend or removes the device.
 * shared/test_frontend.py runs it in a guest. Each step prints a line.
 *
 *   vread_holder free             prints how many bytes of the pool belong to no slice
 *   vread_holder read SPEC MS [READ_MS]
 *                                 OPEN and one READ, with a limit of MS ms each, or READ_MS ms for
 *                                 the READ
 *   vread_holder in-flight SPEC   submits a READ and sleeps
 *   vread_holder open SPEC        OPEN without a time limit
 *   vread_holder again SPEC       reads, waits for the file /run/again, then uses the handle again
 *   vread_holder hold SPEC [FILE] reads, waits for the device to go away for good, and for FILE,
 *                                 then looks at what it has read
 *   vread_holder keys SPEC        sends KEYS as a publisher does, then opens the block
 *   vread_holder many SPEC N      OPENs one after the other, N of them, then eight at the same time
 *   vread_holder crowd SPEC N     N OPENs at the same time, with 16 KiB of data each
 *   vread_holder idle             waits for completions, of which there are none
 *   vread_holder slow SPEC PART   OPEN, whose PART ("arguments" or "data") lies in a page that this
 *                                 process gives to the kernel when the file /run/given is there
 *
 * SPEC is POOL/blk_ID_GS.  With VREAD_HOLDER_USER a user id in the environment, it is that user.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vread-ring-user.h"
#include "vread_ioctl.h"

#define LENGTH (64U << 10)
#define KEY_BYTE 'k' /* hostile_backend.c looks for it */
#define KEY_BYTES (2U * VREAD_PAGE_SIZE)

static int fd;

static void __attribute__((format(printf, 1, 2))) say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	flockfile(stdout);
	vprintf(format, args);
	putchar('\n');
	fflush(stdout);
	funlockfile(stdout);
	va_end(args);
}

static const char *control(unsigned long request, void *argument)
{
	return ioctl(fd, request, argument) < 0 ? strerrorname_np(errno) : "ok";
}

/* The arguments of an OPEN, whose data are written to `data`. */
static struct vread_ioc_open arguments(const char *spec, unsigned timeout_ms, char data[static 256])
{
	struct vread_open_data header = {0};
	struct vread_ioc_open o = {.timeout_ms = timeout_ms};
	char pool[200];

	if (sscanf(spec, "%199[^/]/blk_%" SCNd64 "_%" SCNu64, pool, (int64_t *)&o.block_id,
		   (uint64_t *)&o.genstamp) != 3) {
		say("bad spec %s", spec);
		exit(2);
	}
	header.pool_id_length = (uint16_t)strlen(pool);
	memcpy(data, &header, sizeof(header));
	memcpy(data + sizeof(header), pool, strlen(pool));
	o.data = (uintptr_t)data;
	o.data_length = (uint32_t)(sizeof(header) + strlen(pool));
	return o;
}

/* Returns the handle. 0: failed, and the reason was printed. */
static uint32_t open_block(const char *spec, unsigned timeout_ms)
{
	char data[256];
	struct vread_ioc_open o = arguments(spec, timeout_ms, data);
	const char *answer = control(VREAD_IOC_OPEN, &o);

	say("open %s", answer);
	return strcmp(answer, "ok") ? 0 : o.handle;
}

static void submit(uint32_t handle)
{
	struct vread_ioc_slice slice = {.bytes = LENGTH};
	struct vread_ioc_read r = {.handle = handle, .length = LENGTH};
	struct vread_ioc_submit s = {.reads = (uintptr_t)&r, .count = 1};
	const char *sliced = control(VREAD_IOC_SLICE, &slice);

	say("slice %s, submit %s", sliced, control(VREAD_IOC_SUBMIT, &s));
}

static void reap(unsigned timeout_ms)
{
	struct vread_ioc_completion done = {0};
	struct vread_ioc_reap r = {.completions = (uintptr_t)&done,
				   .count = 1,
				   .min_complete = 1,
				   .timeout_ms = timeout_ms};
	const char *answer = control(VREAD_IOC_REAP, &r);

	if (strcmp(answer, "ok"))
		say("reap %s", answer);
	else if (done.result < 0)
		say("read %s", strerrorname_np(-done.result));
	else
		say("read %d", done.result);
}

static void hold(const char *spec, const char *until)
{
	struct pollfd p = {.fd = fd};
	struct vread_ioc_info info;
	uint8_t *map, *copy = malloc(LENGTH);

	submit(open_block(spec, 30000));
	reap(30000);
	map = mmap(NULL, LENGTH, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED || !copy) {
		say("mmap failed");
		exit(1);
	}
	memcpy(copy, map, LENGTH);
	say("holding");
	do {
		usleep(20000);
		poll(&p, 1, 60000);
	} while (!(p.revents & POLLHUP));
	say("hangup");
	say("info %s", control(VREAD_IOC_INFO, &info));
	say("open %s", open_block(spec, 1000) ? "worked" : "failed");
	while (until && access(until, F_OK))
		usleep(20000);
	say("mapping %s", memcmp(copy, map, LENGTH) ? "changed" : "intact");
}

/* Uses a handle again when the backend may be another one. */
static void again(const char *spec)
{
	uint32_t handle = open_block(spec, 30000);
	struct vread_ioc_read r = {.handle = handle, .length = LENGTH};
	struct vread_ioc_submit s = {.reads = (uintptr_t)&r, .count = 1};
	struct vread_ioc_stat stat = {.handle = handle, .timeout_ms = 30000};

	submit(handle);
	reap(30000);
	say("holding");
	while (access("/run/again", F_OK))
		usleep(20000);
	say("submit %s", control(VREAD_IOC_SUBMIT, &s));
	say("stat %s", control(VREAD_IOC_STAT, &stat));
	say("open %s", open_block(spec, 30000) ? "worked" : "failed");
}

/* The data have no form: hostile_backend does not read them. */
static void keys(const char *spec)
{
	static char data[KEY_BYTES];
	struct vread_ioc_keys k = {.data = (uintptr_t)data,
				   .data_length = sizeof(data),
				   .timeout_ms = 30000,
				   .tokens = 1};
	int reader = fd;

	memset(data, KEY_BYTE, sizeof(data));
	fd = open("/dev/vread-publish", O_RDWR);
	say("keys %s", control(VREAD_IOC_KEYS, &k));
	close(fd);
	fd = reader;
	open_block(spec, 30000);
}

static void *open_slowly(void *argument)
{
	say("open %s", control(VREAD_IOC_OPEN, argument));
	return NULL;
}

/* The data are as long as they may be.  The backends of tests do not read what follows the pool's
 * id. */
static void open_crowd(const char *spec, unsigned count)
{
	static char data[VREAD_MAX_OPEN_DATA];
	pthread_t *thread = calloc(count, sizeof(*thread));
	struct vread_ioc_open *o = calloc(count, sizeof(*o));

	for (unsigned n = 0; n < count; n++) {
		o[n] = arguments(spec, 30000, data);
		o[n].data_length = sizeof(data);
		pthread_create(&thread[n], NULL, open_slowly, &o[n]);
	}
	say("crowd");
	for (unsigned n = 0; n < count; n++)
		pthread_join(thread[n], NULL);
}

static void open_many(const char *spec, unsigned count)
{
	enum { RACERS = 8 };
	pthread_t thread[RACERS];
	struct vread_ioc_open o[RACERS];
	char data[256];

	for (unsigned n = 0; n < count; n++) {
		o[0] = arguments(spec, 30000, data);
		if (ioctl(fd, VREAD_IOC_OPEN, &o[0]))
			say("open %u %s", n, strerrorname_np(errno));
	}
	for (unsigned n = 0; n < RACERS; n++) {
		o[n] = arguments(spec, 30000, data);
		pthread_create(&thread[n], NULL, open_slowly, &o[n]);
	}
	for (unsigned n = 0; n < RACERS; n++)
		pthread_join(thread[n], NULL);
}

/* Makes a page whose content somebody has to provide, and sets *watch to the descriptor that tells
 * when it is needed. */
static char *watched_page(int *watch)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*watch = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	range.range = (struct uffdio_range){.start = (uintptr_t)page, .len = 4096};
	if (page == MAP_FAILED || *watch < 0 || ioctl(*watch, UFFDIO_API, &api) ||
	    ioctl(*watch, UFFDIO_REGISTER, &range)) {
		say("userfaultfd %s", strerrorname_np(errno));
		exit(1);
	}
	return page;
}

static void slow(const char *spec, const char *part)
{
	int watch;
	char *page = watched_page(&watch), *content = aligned_alloc(4096, 4096), data[256];
	struct uffdio_copy copy = {.dst = (uintptr_t)page, .src = (uintptr_t)content, .len = 4096};
	struct vread_ioc_open o = arguments(spec, 30000, data);
	struct uffd_msg message;
	pthread_t thread;

	if (!strcmp(part, "data")) {
		memcpy(content, data, sizeof(data));
		o.data = (uintptr_t)page;
		pthread_create(&thread, NULL, open_slowly, &o);
	} else {
		memcpy(content, &o, sizeof(o));
		pthread_create(&thread, NULL, open_slowly, page);
	}
	say("%s", read(watch, &message, sizeof(message)) > 0 ? "asked" : "not asked");
	while (access("/run/given", F_OK))
		usleep(20000);
	say("given %s", ioctl(watch, UFFDIO_COPY, &copy) ? strerrorname_np(errno) : "ok");
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "", *user = getenv("VREAD_HOLDER_USER");
	struct vread_ioc_info info;

	if (user && setresuid((uid_t)strtoul(user, NULL, 10), 0, 0))
		say("user %s", strerrorname_np(errno));
	fd = open("/dev/vread", O_RDWR);
	if (fd < 0) {
		say("device %s", strerrorname_np(errno));
		return 1;
	}
	if (!strcmp(way, "free")) {
		control(VREAD_IOC_INFO, &info);
		say("%" PRIu64, (uint64_t)info.pool_free_bytes);
	} else if (!strcmp(way, "read") && (argc == 4 || argc == 5)) {
		unsigned ms = (unsigned)strtoul(argv[3], NULL, 10);
		uint32_t handle = open_block(argv[2], ms);

		if (handle) {
			submit(handle);
			reap((unsigned)strtoul(argv[argc - 1], NULL, 10));
		}
	} else if (!strcmp(way, "in-flight") && argc == 3) {
		submit(open_block(argv[2], 30000));
		pause();
	} else if (!strcmp(way, "open") && argc == 3) {
		open_block(argv[2], 0);
	} else if (!strcmp(way, "again") && argc == 3) {
		again(argv[2]);
	} else if (!strcmp(way, "hold") && (argc == 3 || argc == 4)) {
		hold(argv[2], argv[3]);
	} else if (!strcmp(way, "keys") && argc == 3) {
		keys(argv[2]);
	} else if (!strcmp(way, "many") && argc == 4) {
		open_many(argv[2], (unsigned)strtoul(argv[3], NULL, 10));
	} else if (!strcmp(way, "crowd") && argc == 4) {
		open_crowd(argv[2], (unsigned)strtoul(argv[3], NULL, 10));
	} else if (!strcmp(way, "idle")) {
		say("idle");
		poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1);
		say("woken");
	} else if (!strcmp(way, "slow") && argc == 4) {
		slow(argv[2], argv[3]);
	} else {
		say("usage: see vread_holder.c");
		return 2;
	}
	return 0;
}
