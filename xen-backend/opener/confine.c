// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements confine.h.  parser/sandbox.c is its sibling for parsers.
 *
 * The opener may open files, but only for reading: openat() with other flags is forbidden.  A
 * filter cannot see the flags of openat2(); there the opener has no right to write, since
 * CAP_DAC_READ_SEARCH is for reading only and its user owns nothing but vreadd's state.
 */
#include "opener/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static int failed(const char **ret_what, const char *what)
{
	*ret_what = what;
	return errno ? -errno : -EPERM;
}

static int keep_one_capability(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};
	const uint32_t kept = 1U << CAP_DAC_READ_SEARCH;

	sets[0] = (struct __user_cap_data_struct){.effective = kept, .permitted = kept};
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_capset, &header, sets);
}

int confine_rights(const char **ret_what)
{
	const struct rlimit none = {0, 0};
	pid_t parent = getppid();

	errno = 0;
	/* The limit of files stays as it is: it also limits the descriptors that all processes of
	 * this user have sent and nobody has received. */
	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return failed(ret_what, "cannot set its limits");
	if (keep_one_capability() < 0)
		return failed(ret_what, "CAP_DAC_READ_SEARCH is needed");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_DUMPABLE, SANITIZED) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return failed(ret_what, "cannot drop privileges");
	if (getppid() != parent)
		return failed(ret_what, "vreadd has ended");
	return 0;
}

/* ---- system calls ------------------------------------------------------------------ */

static const int allowed[] = {
	/* files: to find them, to tell what they are, and to read vread.conf */
	SCMP_SYS(openat2),
	SCMP_SYS(newfstatat),
	SCMP_SYS(fstat),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64),
	SCMP_SYS(read),
	SCMP_SYS(lseek),
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
	/* threads and the process itself */
	SCMP_SYS(futex),
	SCMP_SYS(rseq),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(getrandom),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
#ifdef __SANITIZE_ADDRESS__
	/* A sanitizer needs these for its report.  Only in builds for tests. */
	SCMP_SYS(openat),
	SCMP_SYS(write),
	SCMP_SYS(stat),
	SCMP_SYS(access),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(prctl),
	SCMP_SYS(getrlimit),
	SCMP_SYS(prlimit64),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(tgkill),
	SCMP_SYS(ioctl),
#endif
};

static int add_rules(scmp_filter_ctx filter)
{
	struct scmp_arg_cmp for_reading = {.arg = 2,
					   .op = SCMP_CMP_MASKED_EQ,
					   .datum_a = O_ACCMODE | O_CREAT | O_TRUNC,
					   .datum_b = O_RDONLY};
	int r = 0;

	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]) && r == 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	if (r == 0 && !SANITIZED)
		r = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
					   &for_reading);
	return r;
}

int confine_calls(const char **ret_what)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = filter ? 0 : -ENOMEM;

	*ret_what = "cannot restrict its system calls";
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
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
