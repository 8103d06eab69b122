/* SPDX-License-Identifier: GPL-2.0-or-later */
/* denied.c - implements denied.h. */
#include "denied.h"

#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * The group of a socket of the local port is that of vreadd, whose members may use Xen's devices
 * and the private key of this host.  Nobody is to be added to it.
 */
static bool is_owners_own(const struct stat *st)
{
	const struct passwd *owner = getpwuid(st->st_uid);

	return !owner || owner->pw_gid == st->st_gid;
}

/* True if the list of groups has the user.  The user's session may be older. */
static bool is_member(const struct group *g, const char *user)
{
	for (char **member = g->gr_mem; *member; member++)
		if (!strcmp(*member, user))
			return true;
	return false;
}

static void socket_remedy(const struct stat *st, const char *group, const char *user, char *ret)
{
	if (is_owners_own(st))
		snprintf(ret, DENIED_TEXT,
			 "run it as root; or set mode = 0666 in [local] of vread.conf, for all "
			 "users of this host, and restart vreadd; do not add %.64s to group %.64s, "
			 "who may do more than read",
			 user, group);
	else
		snprintf(ret, DENIED_TEXT,
			 "set mode = 0660 in [local] of vread.conf, restart vreadd, and add %.64s "
			 "to the group: usermod -aG %.64s %.64s",
			 user, group, user);
}

static void write_remedy(const char *node, const struct stat *st, const struct group *g,
			 const char *group, const char *user, char *ret)
{
	bool for_group = (st->st_mode & 0060) == 0060;

	if (for_group && !g)
		snprintf(ret, DENIED_TEXT,
			 "group %.64s has no name here, as in a container: start the container "
			 "with --group-add %.64s, or addgroup --gid %.64s NAME and usermod -aG "
			 "NAME %.64s",
			 group, group, group, user);
	else if (for_group && is_member(g, user))
		snprintf(ret, DENIED_TEXT,
			 "%.64s is in group %.64s, but this session began before: log in again, or "
			 "restart the program",
			 user, group);
	else if (S_ISSOCK(st->st_mode))
		socket_remedy(st, group, user, ret);
	else if (for_group && st->st_gid)
		snprintf(ret, DENIED_TEXT, "usermod -aG %.64s %.64s, then restart its processes",
			 group, user);
	else
		snprintf(ret, DENIED_TEXT,
			 "is /lib/udev/rules.d/60-vread.rules installed? it gives the device to "
			 "group vread%s; udevadm trigger %.200s",
			 strstr(node, "-publish") ? "-publish" : "", node);
}

void denied_text(const char *node, const struct stat *st, const char *user, char found[DENIED_TEXT],
		 char remedy[DENIED_TEXT])
{
	const struct group *g;
	char group[64];

	if (!st) {
		snprintf(found, DENIED_TEXT, "user %.64s may not enter a folder above it", user);
		snprintf(remedy, DENIED_TEXT, "namei -l %.200s shows which", node);
		return;
	}
	g = getgrgid(st->st_gid);
	snprintf(group, sizeof(group), "%u", (unsigned)st->st_gid);
	if (g)
		snprintf(group, sizeof(group), "%.48s", g->gr_name);
	snprintf(found, DENIED_TEXT, "user %.64s may not read and write it (mode %04o, group %s)",
		 user, (unsigned)st->st_mode & 07777, group);
	write_remedy(node, st, g, group, user, remedy);
}
