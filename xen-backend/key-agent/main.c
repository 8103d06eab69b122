// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vread-key-agent - holds the keys of block tokens for vreadd, in a confined process.  vreadd
 * starts it (control/daemon.c); policy/key_agent_protocol.h says why, and how the two talk.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/confine.h"
#include "key-agent/answer.h"
#include "policy/key_agent_protocol.h"

#define MAX_MEMORY (128UL << 20) /* three times what all slots with all keys take */

static int fail(const char *what, int error)
{
	fprintf(stderr, "vread-key-agent: %s: %s\n", what, strerror(-error));
	return EXIT_FAILURE;
}

static int confine(const char **ret_what)
{
	static const struct rlimit memory = {MAX_MEMORY, MAX_MEMORY};
	static const int calls[] = {SCMP_SYS(clock_gettime)};
	static const struct confine_calls allowed = {.any = calls,
						     .num_any = CONFINE_SANITIZED ? 0 : 1};
	int r = confine_become_nobody(ret_what);

	if (r < 0)
		return r;
	*ret_what = "cannot limit its memory";
	if (!CONFINE_SANITIZED && setrlimit(RLIMIT_DATA, &memory) < 0)
		return -errno;
	r = confine_process(KEY_AGENT_FD, ret_what);
	return r < 0 ? r : confine_calls(&allowed, ret_what);
}

int main(void)
{
	const char *what;
	struct stat st;
	int r;

	if (fstat(KEY_AGENT_FD, &st) < 0 || !S_ISSOCK(st.st_mode)) {
		fputs("vread-key-agent is started by vreadd(8); do not start it by hand\n", stderr);
		return EXIT_FAILURE;
	}
	r = clock_start();
	if (r < 0)
		return fail("cannot take the time from the file that " CLOCK_VARIABLE " names", r);
	r = answer_prepare();
	if (r < 0)
		return fail("cannot prepare its memory and digests", r);
	r = confine(&what);
	if (r < 0)
		return fail(what, r);
	r = answer_ready(KEY_AGENT_FD);
	if (r < 0)
		return fail("cannot tell vreadd that it is ready", r);
	answer_requests(KEY_AGENT_FD);
	_exit(EXIT_SUCCESS); /* what runs at an exit makes calls that are not allowed */
}
