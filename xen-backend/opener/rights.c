// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements rights.h.  base/confine.h has what all confined processes have.
 *
 * The opener may open files, but only for reading: openat() with other flags is forbidden.  A
 * filter cannot see the flags of openat2(); there the opener has no right to write, since
 * CAP_DAC_READ_SEARCH is for reading only and its user owns nothing but vreadd's state.  It may
 * write() to its connection to xenstored, which is open before the filter is in force.
 */
#include "opener/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/confine.h"

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

int rights_drop(int channel, const char **ret_what)
{
	errno = 0;
	/* The limit of files stays as it is: it also limits the descriptors that all processes of
	 * this user have sent and nobody has received. */
	if (keep_one_capability() < 0) {
		*ret_what = "CAP_DAC_READ_SEARCH is needed";
		return errno ? -errno : -EPERM;
	}
	return confine_process(channel, ret_what);
}

/* ---- system calls ------------------------------------------------------------------ */

static const int allowed[] = {
	/* files: to find them, to tell what they are, and to read vread.conf */
	SCMP_SYS(openat2),
	SCMP_SYS(newfstatat),
	SCMP_SYS(fstat),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64),
	SCMP_SYS(read),
	SCMP_SYS(lseek),
	SCMP_SYS(close),
	/* libxenstore ignores SIGPIPE while it writes; qsort() asks how much memory there is */
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(sysinfo),
#if !CONFINE_SANITIZED /* which has it already */
	SCMP_SYS(readlink),
#endif
};

int rights_restrict(int writable, const char **ret_what)
{
	const struct confine_form forms[] = {
		{SCMP_SYS(openat),
		 {.arg = 2,
		  .op = SCMP_CMP_MASKED_EQ,
		  .datum_a = O_ACCMODE | O_CREAT | O_TRUNC,
		  .datum_b = O_RDONLY}},
		{SCMP_SYS(write), {.arg = 0, .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)writable}},
	};
	const struct confine_calls calls = {
		.any = allowed,
		.num_any = sizeof(allowed) / sizeof(allowed[0]),
		.form = forms,
		.num_forms = writable < 0 ? 1 : 2,
	};

	return confine_calls(&calls, ret_what);
}
