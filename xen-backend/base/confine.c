// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements confine.h.
 *
 * There is no network namespace.  Without socket() and connect() there is no network, and vreadd
 * needs no right to make namespaces.
 */
#include "base/confine.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define NOBODY 65534 /* Linux's overflow user, who owns nothing */

static int failed(const char **ret_what, const char *what)
{
	*ret_what = what;
	return errno ? -errno : -EPERM;
}

int confine_become_nobody(const char **ret_what)
{
	errno = 0;
	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
	    setresuid(NOBODY, NOBODY, NOBODY) == 0)
		return 0;
	return failed(ret_what, "cannot drop root privileges (CAP_SETUID and CAP_SETGID are "
				"needed)");
}

/* The kernel notes who makes a pair of sockets.  vreadd may have ended at any time since then, and
 * the parent of this process may be another one from its start on. */
static pid_t maker_of(int channel)
{
	struct ucred maker = {0};
	socklen_t size = sizeof(maker);

	return getsockopt(channel, SOL_SOCKET, SO_PEERCRED, &maker, &size) == 0 ? maker.pid : -1;
}

int confine_process(int channel, const char **ret_what)
{
	const struct rlimit none = {0, 0};

	errno = 0;
	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return failed(ret_what, "cannot set its limits");
	/* A change of the user resets the first two. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_DUMPABLE, CONFINE_SANITIZED) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return failed(ret_what, "cannot drop privileges");
	if (getppid() != maker_of(channel))
		return failed(ret_what, "vreadd has ended");
	return 0;
}

/* ---- system calls ------------------------------------------------------------------ */

static const int of_all[] = {
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
	/* threads */
	SCMP_SYS(futex),
	SCMP_SYS(rseq),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(getrandom),
	/* the process itself */
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
#if CONFINE_SANITIZED
	/* A sanitizer needs these for its report.  Only in builds for tests. */
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
	SCMP_SYS(clock_gettime),
	SCMP_SYS(tgkill),
	SCMP_SYS(ioctl),
#endif
};

static int allow(scmp_filter_ctx filter, const int *calls, size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	return r;
}

/* A sanitizer may make these calls with any arguments. */
static int allow_forms(scmp_filter_ctx filter, const struct confine_form *forms, size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0 && !CONFINE_SANITIZED; i++)
		r = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, forms[i].call, 1,
					   &forms[i].argument);
	return r;
}

int confine_calls(const struct confine_calls *allowed, const char **ret_what)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = filter ? 0 : -ENOMEM;

	*ret_what = "cannot restrict its system calls";
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
	/* A call for another architecture kills the process.  By default it kills only the
	 * thread, which nobody would notice. */
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (r == 0)
		r = allow(filter, of_all, sizeof(of_all) / sizeof(of_all[0]));
	if (r == 0)
		r = allow(filter, allowed->any, allowed->num_any);
	if (r == 0)
		r = allow_forms(filter, allowed->form, allowed->num_forms);
	if (r == 0)
		r = seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	return r;
}
