// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Implements privileges.h.
 *
 *	started by systemd          started by root, user = NAME     root, no user    any other
 *	as User=, with the              |                                |                |
 *	ambient capability         becomes NAME, keeps                   |                |
 *	CAP_DAC_READ_SEARCH        CAP_DAC_READ_SEARCH                   |                |
 *	     |                          |                                |                |
 *	     +------------+-------------+                             a warning           |
 *	      starts vread-opener, which                                 |                |
 *	      inherits the capability                                    |                |
 *	      gives up all capabilities                                  |                |
 *	                  |                                              |                |
 *	           opens no image itself                           opens images itself ---+
 *
 * The user changes once, before vreadd reads anything but its configuration.  So whatever cannot be
 * read by that user is found at the start, and not by the first reload.
 */
#include "control/privileges.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "disk/opener.h"

#define NEEDED (1U << CAP_DAC_READ_SEARCH)

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* ---- capabilities ------------------------------------------------------------------ */

static uint32_t permitted(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};

	return syscall(SYS_capget, &header, sets) < 0 ? 0 : sets[0].permitted;
}

/* Sets all three sets of this thread.  Nothing stays ambient that is not inheritable. */
static int set_capabilities(uint32_t all)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{all, all, all}};

	return syscall(SYS_capset, &header, sets) < 0 ? -errno : 0;
}

/* ---- the user ---------------------------------------------------------------------- */

static int become(const struct passwd *user)
{
	int r;

	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || initgroups(user->pw_name, user->pw_gid) < 0 ||
	    setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0)
		return -errno;
	r = set_capabilities(NEEDED);
	if (!r && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0) < 0)
		r = -errno;
	return r;
}

/* Becomes the configured user, if root started vreadd. */
static int change_user(const char *name, const char *config_path)
{
	const struct passwd *user;
	int r;

	if (geteuid() != 0)
		return 0;
	if (!name[0]) {
		log_warn("runs as root: set user in [vreadd] of %s, or User= in the unit",
			 config_path);
		return 0;
	}
	user = getpwnam(name);
	if (!user || user->pw_uid == 0) {
		log_error("%s: [vreadd] user: %s: expected a user of this host other than root: "
			  "adduser --system --group %s",
			  config_path, name, name);
		return -EINVAL;
	}
	r = become(user);
	if (r)
		log_error("%s: [vreadd] user: %s: cannot become this user: %s; root needs "
			  "CAP_SETUID, CAP_SETGID and CAP_DAC_READ_SEARCH",
			  config_path, name, strerror(-r));
	return r;
}

/* ---- the opener -------------------------------------------------------------------- */

/* "XENSTORED_PATH=..." as libxenstore takes it; NULL: xenstored is where it usually is. */
static const char *xenstore_setting(char text[PATH_MAX])
{
	const char *path = getenv("XENSTORED_PATH");

	if (!path || snprintf(text, PATH_MAX, "XENSTORED_PATH=%s", path) >= PATH_MAX)
		return NULL;
	return text;
}

/* The process has no environment but a test's xenstored. */
static int start_opener(struct privileges *p, const char *config_path)
{
	char *config = realpath(config_path, NULL), text[PATH_MAX];
	char *const argv[] = {"vread-opener", config, NULL}, *const env[] = {
								     (char *)xenstore_setting(text),
								     NULL};
	const struct program how = {.arguments = argv,
				    .environment = env,
				    .socket_type = SOCK_SEQPACKET,
				    .num_channels = OPENER_CHANNELS,
				    .first_fd = OPENER_FIRST_FD};
	int channels[OPENER_CHANNELS];
	int r = config ? 0 : -errno;

	if (r < 0)
		log_error("%s: %s", config_path, strerror(-r));
	if (r == 0)
		r = helper_start(&p->opener, &how, channels);
	free(config);
	if (r < 0)
		return r;
	r = opener_use(channels);
	if (r < 0)
		log_error("vread-opener does not get ready: %s", strerror(-r));
	return r;
}

/* ---- all of it --------------------------------------------------------------------- */

static void name_user(struct privileges *p)
{
	const struct passwd *user = getpwuid(geteuid());

	if (user)
		snprintf(p->user, sizeof(p->user), "%s", user->pw_name);
	else
		snprintf(p->user, sizeof(p->user), "%u", (unsigned)geteuid());
}

/* No process of the same user, as a parser is, may look into vreadd's memory. */
static int give_up_the_rest(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, SANITIZED) < 0)
		return -errno;
	return set_capabilities(0);
}

/* A configuration that the user cannot read makes each reload fail. */
static int check_config(const char *path, const char *user)
{
	if (access(path, R_OK) == 0)
		return 0;
	log_error("%s: user %s cannot read it: %s; let this user read it, and all folders above it",
		  path, user, strerror(errno));
	return -EACCES;
}

int privileges_drop(struct privileges *p, const struct config *config, const char *config_path)
{
	int r;

	*p = (struct privileges){0};
	r = change_user(config->user, config_path);
	if (r)
		return r;
	name_user(p);
	if (geteuid() == 0 || !(permitted() & NEEDED))
		return 0;
	r = start_opener(p, config_path);
	if (!r) {
		r = give_up_the_rest();
		if (r)
			log_error("cannot give up capabilities: %s", strerror(-r));
	}
	return r ? r : check_config(config_path, p->user);
}

void privileges_end(struct privileges *p)
{
	if (p->opener.pid > 0)
		opener_end();
	helper_end(&p->opener);
}
