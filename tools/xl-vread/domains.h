/* SPDX-License-Identifier: GPL-2.0-or-later */
/* domains.h - the domains of this host, as xenstore has them. */
#ifndef XL_VREAD_DOMAINS_H
#define XL_VREAD_DOMAINS_H

#include <stdbool.h>
#include <xenstore.h>

#define DOMAIN_NAME 256
#define DOMAIN_UUID 37

struct domain {
	unsigned domid;
	char name[DOMAIN_NAME];
	char uuid[DOMAIN_UUID];
};

/* False: it is not there, or not whole yet. */
bool domain_get(struct xs_handle *xs, unsigned domid, struct domain *ret);
/* By name or domid: an exit code of cli.h, after printing that there is none. */
int domain_find(struct xs_handle *xs, const char *name_or_domid, struct domain *ret);
/* False: there is none of that UUID just now. */
bool domain_find_uuid(struct xs_handle *xs, const char *uuid, struct domain *ret);
/* The same, but not `old` itself: the one that came after it. */
bool domain_find_next(struct xs_handle *xs, const struct domain *old, struct domain *ret);
/* A UUID is also a file's name: nothing but digits and dashes. */
bool domain_uuid_valid(const char *text);
/* All but dom0, in the order of their domids: how many, or negative errno; free() *ret. */
int domains_list(struct xs_handle *xs, struct domain **ret);

#endif
