// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Confines a parser: its user, limits and system calls. parser/main.c calls it; sandbox.h
 * describes the functions, base/confine.h what all confined processes have.
 */
#include "parser/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/confine.h"

#if CONFINE_SANITIZED
const char *__asan_default_options(void);

/*
 * A sanitizer keeps freed memory for a while, by default 256 MiB in each process: more than a small
 * host has for all its parsers. A parser has no environment with another setting.
 */
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=16";
}
#endif

/* Room for a cache of 32 MiB per file system, and for the metadata of several questions at once.
 * Not set in builds with a sanitizer, whose shadow memory is larger than any limit. */
#define MAX_MEMORY (1ULL << 30)
#define MAX_FILES 2048U /* an image may consist of many files */
#define OOM_FIRST "1000"

static bool set_limit(int resource, rlim_t value)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
		return false;
	if (value > limit.rlim_max)
		value = limit.rlim_max;
	limit.rlim_cur = limit.rlim_max = value;
	return setrlimit((__rlimit_resource_t)resource, &limit) == 0;
}

static bool set_limits(void)
{
	return set_limit(RLIMIT_NOFILE, MAX_FILES) &&
	       (CONFINE_SANITIZED || set_limit(RLIMIT_DATA, MAX_MEMORY));
}

/* Makes the kernel kill this process first when memory is short, because no limit of a process
 * covers files in memory. A container may forbid this, so failure is ignored. */
static void die_first(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, OOM_FIRST, sizeof(OOM_FIRST) - 1) < 0)
		errno = 0;
	close(fd);
}

/* glibc opens a file before it returns memory of any arena but the first to the system. */
static void use_one_arena(void)
{
	mallopt(M_ARENA_MAX, 1);
}

int sandbox_drop_rights(int channel, const char **ret_what)
{
	int r;

	errno = 0;
	use_one_arena();
	die_first();
	if (!set_limits()) {
		*ret_what = "cannot set its limits";
		return errno ? -errno : -EPERM;
	}
	r = confine_become_nobody(ret_what);
	return r < 0 ? r : confine_process(channel, ret_what);
}

/* ---- system calls ------------------------------------------------------------------ */

static const int allowed[] = {
	/* the images, and libblkid's windows on them (window.h) */
	SCMP_SYS(pread64),       SCMP_SYS(preadv),
	SCMP_SYS(preadv2),       SCMP_SYS(read),
	SCMP_SYS(lseek),         SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),    SCMP_SYS(memfd_create),
	SCMP_SYS(ftruncate),     SCMP_SYS(pwrite64),
	SCMP_SYS(fadvise64),     SCMP_SYS(close),
	SCMP_SYS(sysinfo), /* qsort() of 1 KiB and more calls it before it allocates */
	SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday),
	SCMP_SYS(nanosleep),     SCMP_SYS(clock_nanosleep),
	SCMP_SYS(getuid),        SCMP_SYS(geteuid), /* see PR_GET_DUMPABLE */
	SCMP_SYS(getgid),        SCMP_SYS(getegid),
};

static const struct confine_form forms[] = {
	{SCMP_SYS(fcntl), {.arg = 1, .op = SCMP_CMP_EQ, .datum_a = F_GETFL}},
	{SCMP_SYS(ioctl), {.arg = 1, .op = SCMP_CMP_EQ, .datum_a = BLKGETSIZE64}},
	{SCMP_SYS(ioctl), {.arg = 1, .op = SCMP_CMP_EQ, .datum_a = BLKSSZGET}},
	/* libext2fs 1.47.2 asks whether its user may set its environment. */
	{SCMP_SYS(prctl), {.arg = 0, .op = SCMP_CMP_EQ, .datum_a = PR_GET_DUMPABLE}},
};

int sandbox_filter(const char **ret_what)
{
	static const struct confine_calls calls = {
		.any = allowed,
		.num_any = sizeof(allowed) / sizeof(allowed[0]),
		.form = forms,
		.num_forms = sizeof(forms) / sizeof(forms[0]),
	};

	return confine_calls(&calls, ret_what);
}
