/* SPDX-License-Identifier: MIT */
/* Implements check_access() and check_parent_access() of check_parts.h: the permissions of nodes.
 * check.c and check_nodes.c call them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_parts.h"

#define TOOLSTACK 0U /* dom0, to which permissions do not apply */

/* Prints permissions as xenstore-chmod takes them: "n0 r7". */
static void print_permissions(const struct vread_permission *p, unsigned count, char *text,
			      size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < count && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%c%u", i ? " " : "",
					 "nrwb"[p[i].read + 2 * p[i].write], p[i].domid);
}

static void say(char text[TEXT_SIZE], const char *whom, const struct vread_permission *p)
{
	snprintf(text, TEXT_SIZE, "%s may %s it", whom,
		 !p->write ? "read"
		 : p->read ? "read and write"
			   : "write");
}

static bool judge_listed(const struct vread_permission *p, unsigned reader, char text[TEXT_SIZE])
{
	char whom[24];

	if (p->domid == TOOLSTACK || (!p->write && (!p->read || p->domid == reader)))
		return true;
	snprintf(whom, sizeof(whom), "domain %u", p->domid);
	say(text, whom, p);
	return false;
}

/* False: the permissions are wrong, and text says why. */
static bool judge(const struct vread_permission *p, unsigned count, unsigned owner, unsigned reader,
		  char text[TEXT_SIZE])
{
	bool readable = reader == owner;

	if (p[0].domid != owner) {
		snprintf(text, TEXT_SIZE, "domain %u owns it", p[0].domid);
		return false;
	}
	if (p[0].read || p[0].write) {
		say(text, "every domain", &p[0]);
		return false;
	}
	for (unsigned i = 1; i < count; i++) {
		if (p[i].domid != owner && !judge_listed(&p[i], reader, text))
			return false;
		readable |= p[i].domid == reader && p[i].read;
	}
	if (!readable)
		snprintf(text, TEXT_SIZE, "domain %u may not read it", reader);
	return readable;
}

static void cannot_tell(struct check *c, const char *path)
{
	check_found(c,
		    (struct vread_problem){.path = path,
					   .expected = "permissions",
					   .remedy = "xl-vread xenstore check, as root in dom0",
					   .passing = true},
		    "has none that can be read");
}

void check_access(struct check *c, enum vread_directory d, const char *path)
{
	const struct vread_directory_spec *spec = &vread_directory_specs[d];
	const unsigned domids[] = {
		[VREAD_END_FRONTEND] = c->domid, [VREAD_END_BACKEND] = c->backend_domid};
	const struct vread_permission right[] = {{domids[spec->owner], false, false},
						 {domids[spec->reader], true, false}};
	char wrong[TEXT_SIZE], has[TEXT_SIZE], expected[TEXT_SIZE], remedy[2 * PATH_SIZE];
	unsigned count = 0;
	struct vread_permission *p = c->tree->permissions(c->tree->ctx, path, &count);

	if (!p) {
		cannot_tell(c, path);
		return;
	}
	if (!judge(p, count, right[0].domid, right[1].domid, wrong)) {
		print_permissions(p, count, has, sizeof(has));
		print_permissions(right, spec->reader == spec->owner ? 1 : 2, expected,
				  sizeof(expected));
		snprintf(remedy, sizeof(remedy), "xenstore-chmod %s %s", path, expected);
		check_found(c,
			    (struct vread_problem){.path = path,
						   .expected = expected,
						   .remedy = remedy},
			    "has permissions %s, so %s", has, wrong);
	}
	free(p);
}

static bool may_write(const struct check *c, unsigned domid)
{
	return domid == TOOLSTACK || domid == c->backend_domid;
}

void check_parent_access(struct check *c, const char *path)
{
	unsigned count = 0;
	struct vread_permission *p = c->tree->permissions(c->tree->ctx, path, &count);
	char remedy[2 * PATH_SIZE], has[TEXT_SIZE];
	bool wrong = p && (!may_write(c, p[0].domid) || p[0].write);

	for (unsigned i = 1; p && i < count; i++)
		wrong |= p[i].write && !may_write(c, p[i].domid);
	if (wrong) {
		print_permissions(p, count, has, sizeof(has));
		snprintf(remedy, sizeof(remedy), "xenstore-chmod %s n%u", path, c->backend_domid);
		check_found(c,
			    (struct vread_problem){.path = path,
						   .expected = "that no guest can write it",
						   .remedy = remedy},
			    "has permissions %s", has);
	}
	free(p);
}
