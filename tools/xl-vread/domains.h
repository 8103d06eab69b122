/* SPDX-License-Identifier: GPL-2.0-or-later */
/* domains.h - lists and finds the domains of this host, in xenstore.  Called by the commands of
 * xl-vread(8) and by datanode.c. */
#ifndef XL_VREAD_DOMAINS_H
#define XL_VREAD_DOMAINS_H

#include <stdbool.h>
#include <xenstore.h>

#define MAX_DOMID 32751 /* DOMID_FIRST_RESERVED - 1 */
#define DOMAIN_NAME 256
#define DOMAIN_UUID 37

struct domain {
	unsigned domid;
	char name[DOMAIN_NAME];
	char uuid[DOMAIN_UUID];
};

/* False: the domain does not exist, or its nodes are not complete yet. */
bool domain_get(struct xs_handle *xs, unsigned domid, struct domain *ret);
/* CLI_OK, or an exit code of cli.h after printing that there is no such domain. */
int domain_find(struct xs_handle *xs, const char *name_or_domid, struct domain *ret);
/* The same, but takes any number.  If no domain with a name and a UUID has that number, *ret has
 * only the domid, and an empty UUID. */
int domain_find_number(struct xs_handle *xs, const char *name_or_domid, struct domain *ret);
/* False: no domain has that UUID now. */
bool domain_find_uuid(struct xs_handle *xs, const char *uuid, struct domain *ret);
/* Finds another domain with the UUID of `old`: the domain that came after `old`. */
bool domain_find_next(struct xs_handle *xs, const struct domain *old, struct domain *ret);
/* True if text has the length of a UUID, and only hexadecimal digits and dashes: it becomes the
 * name of a file. */
bool domain_uuid_valid(const char *text);
/* Lists the numbers of all domains but dom0, also of those whose nodes are not complete yet; free()
 * *ret.  Returns how many, or negative errno. */
int domains_numbers(struct xs_handle *xs, unsigned **ret);
/* Lists all domains but dom0, in the order of their domids; free() *ret.  Returns how many, or
 * negative errno. */
int domains_list(struct xs_handle *xs, struct domain **ret);

#endif
