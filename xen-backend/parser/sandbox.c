// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Confines a parser: its user, limits and system calls. parser/main.c calls it; sandbox.h
 * describes the functions.
 *
 * There is no network namespace. Without socket() and connect() there is no network, and vreadd
 * needs no right to make namespaces.
 */
#include "parser/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fs.h>
#include <malloc.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#if SANITIZED
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

#define NOBODY 65534 /* Linux's overflow user, who owns nothing */
/* Room for a cache of 32 MiB per file system, and for the metadata of several questions at once.
 * Not set in builds with a sanitizer, whose shadow memory is larger than any limit. */
#define MAX_MEMORY (1ULL << 30)
#define MAX_FILES 2048U /* an image may consist of many files */
#define OOM_FIRST "1000"

static int failed(const char **ret_what, const char *what)
{
	*ret_what = what;
	return errno ? -errno : -EPERM;
}

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
	return set_limit(RLIMIT_CORE, 0) && set_limit(RLIMIT_NOFILE, MAX_FILES) &&
	       (SANITIZED || set_limit(RLIMIT_DATA, MAX_MEMORY));
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

static bool become_nobody(void)
{
	if (geteuid() != 0)
		return true;
	return setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
	       setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

int sandbox_drop_rights(const char **ret_what)
{
	pid_t parent = getppid();

	errno = 0;
	use_one_arena();
	die_first();
	if (!set_limits())
		return failed(ret_what, "cannot set its limits");
	if (!become_nobody())
		return failed(ret_what,
			      "cannot drop root privileges (CAP_SETUID and CAP_SETGID are needed)");
	/* These follow the change of user, which resets the first two. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_DUMPABLE, SANITIZED) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return failed(ret_what, "cannot drop privileges");
	if (getppid() != parent)
		return failed(ret_what, "vreadd has ended");
	return 0;
}

/* ---- system calls ------------------------------------------------------------------ */

static const int allowed[] = {
	/* the images, and libblkid's windows on them (window.h) */
	SCMP_SYS(pread64),
	SCMP_SYS(preadv),
	SCMP_SYS(preadv2),
	SCMP_SYS(read),
	SCMP_SYS(lseek),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(memfd_create),
	SCMP_SYS(ftruncate),
	SCMP_SYS(pwrite64),
	SCMP_SYS(fadvise64),
	SCMP_SYS(close),
	/* the sockets it has; it can make no other */
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	/* memory */
	SCMP_SYS(mmap),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(mprotect),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(sysinfo), /* qsort() of 1 KiB and more calls it before it allocates */
	/* threads and time */
	SCMP_SYS(futex),
	SCMP_SYS(rseq),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(getrandom),
	/* the process itself */
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
#ifdef __SANITIZE_ADDRESS__
	/* A sanitizer needs these for its report. Only in builds for tests. */
	SCMP_SYS(openat),
	SCMP_SYS(readlink),
	SCMP_SYS(write),
	SCMP_SYS(stat),
	SCMP_SYS(access),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(prctl),
	SCMP_SYS(getrlimit),
	SCMP_SYS(prlimit64),
	SCMP_SYS(pipe2),
	SCMP_SYS(dup2),
	SCMP_SYS(fcntl),
	SCMP_SYS(tgkill),
	SCMP_SYS(ioctl),
#endif
};

/* System calls that are allowed only with this value of one argument. */
static const struct {
	int call;
	unsigned argument;
	uint64_t value;
} allowed_so[] = {
	{SCMP_SYS(fcntl), 1, F_GETFL},
	{SCMP_SYS(ioctl), 1, BLKGETSIZE64},
	{SCMP_SYS(ioctl), 1, BLKSSZGET},
};

static int add_rules(scmp_filter_ctx filter)
{
	int r = 0;

	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]) && r == 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; !SANITIZED && i < sizeof(allowed_so) / sizeof(allowed_so[0]) && r == 0;
	     i++) {
		struct scmp_arg_cmp form = {.arg = allowed_so[i].argument,
					    .op = SCMP_CMP_EQ,
					    .datum_a = allowed_so[i].value};

		r = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, allowed_so[i].call, 1, &form);
	}
	return r;
}

int sandbox_filter(const char **ret_what)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = filter ? 0 : -ENOMEM;

	*ret_what = "cannot restrict its system calls";
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
	/* A call for another architecture kills the process. By default it kills only the
	 * thread, which nobody would notice. */
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (r == 0)
		r = add_rules(filter);
	if (r == 0)
		r = seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	return r;
}
