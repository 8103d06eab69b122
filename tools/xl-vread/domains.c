/* SPDX-License-Identifier: GPL-2.0-or-later */
/* domains.c - implements domains.h: reads the domains' names and UUIDs from xenstore. */
#include "domains.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define ROOT "/local/domain"
#define UUID_CHARACTERS "0123456789abcdefABCDEF-"

static bool read_node(struct xs_handle *xs, unsigned domid, const char *node, char *ret,
		      size_t size)
{
	char path[64], *value;
	unsigned length;

	snprintf(path, sizeof(path), ROOT "/%u/%s", domid, node);
	value = xs_read(xs, XBT_NULL, path, &length);
	if (!value || length >= size) {
		free(value);
		return false;
	}
	memcpy(ret, value, length);
	ret[length] = '\0';
	free(value);
	return true;
}

bool domain_uuid_valid(const char *text)
{
	return strlen(text) == DOMAIN_UUID - 1 && strspn(text, UUID_CHARACTERS) == strlen(text);
}

bool domain_get(struct xs_handle *xs, unsigned domid, struct domain *ret)
{
	char vm[64]; /* /vm/UUID */

	*ret = (struct domain){.domid = domid};
	if (!read_node(xs, domid, "name", ret->name, sizeof(ret->name)) ||
	    !read_node(xs, domid, "vm", vm, sizeof(vm)) || strncmp(vm, "/vm/", 4) != 0 ||
	    !domain_uuid_valid(vm + 4))
		return false;
	snprintf(ret->uuid, sizeof(ret->uuid), "%.*s", DOMAIN_UUID - 1, vm + 4);
	return true;
}

static int by_domid(const void *a, const void *b)
{
	const struct domain *x = a, *y = b;

	return x->domid < y->domid ? -1 : x->domid > y->domid;
}

int domains_numbers(struct xs_handle *xs, unsigned **ret)
{
	unsigned count, found = 0;
	char **names = xs_directory(xs, XBT_NULL, ROOT, &count);
	unsigned *numbers;

	if (!names)
		return -errno;
	numbers = calloc(count + 1, sizeof(*numbers));
	for (unsigned i = 0; numbers && i < count; i++) {
		unsigned long long domid;

		if (cli_number(names[i], 1, MAX_DOMID, &domid))
			numbers[found++] = (unsigned)domid;
	}
	free(names);
	if (!numbers)
		return -ENOMEM;
	*ret = numbers;
	return (int)found;
}

int domains_list(struct xs_handle *xs, struct domain **ret)
{
	unsigned *numbers, found = 0;
	int count = domains_numbers(xs, &numbers);
	struct domain *list;

	if (count < 0)
		return count;
	list = calloc((size_t)count + 1, sizeof(*list));
	for (int i = 0; list && i < count; i++)
		found += domain_get(xs, numbers[i], &list[found]);
	free(numbers);
	if (!list)
		return -ENOMEM;
	qsort(list, found, sizeof(*list), by_domid);
	*ret = list;
	return (int)found;
}

static bool has_name(const struct domain *d, const char *name)
{
	return strcmp(d->name, name) == 0;
}

static bool has_uuid(const struct domain *d, const char *uuid)
{
	return strcmp(d->uuid, uuid) == 0;
}

/* Finds the first domain for which is(domain, text) is true. */
static bool find(struct xs_handle *xs, bool (*is)(const struct domain *d, const char *text),
		 const char *text, struct domain *ret)
{
	struct domain *list;
	int count = domains_list(xs, &list);
	bool found = false;

	if (count < 0)
		return false;
	for (int i = 0; i < count && !found; i++) {
		found = is(&list[i], text);
		if (found)
			*ret = list[i];
	}
	free(list);
	return found;
}

bool domain_find_uuid(struct xs_handle *xs, const char *uuid, struct domain *ret)
{
	return find(xs, has_uuid, uuid, ret);
}

bool domain_find_next(struct xs_handle *xs, const struct domain *old, struct domain *ret)
{
	struct domain *list;
	int count = domains_list(xs, &list);
	bool found = false;

	if (count < 0)
		return false;
	for (int i = 0; i < count && !found; i++) {
		found = has_uuid(&list[i], old->uuid) && list[i].domid != old->domid;
		if (found)
			*ret = list[i];
	}
	free(list);
	return found;
}

static bool exists(struct xs_handle *xs, const char *name_or_domid, struct domain *ret)
{
	unsigned long long domid;

	if (cli_number(name_or_domid, 1, MAX_DOMID, &domid) && domain_get(xs, (unsigned)domid, ret))
		return true;
	return find(xs, has_name, name_or_domid, ret);
}

int domain_find(struct xs_handle *xs, const char *name_or_domid, struct domain *ret)
{
	if (exists(xs, name_or_domid, ret))
		return CLI_OK;
	return cli_error(CLI_FAILED, "domain %s: no such domain (see xl list)", name_or_domid);
}

int domain_find_number(struct xs_handle *xs, const char *name_or_domid, struct domain *ret)
{
	unsigned long long domid;

	if (!cli_number(name_or_domid, 0, MAX_DOMID, &domid))
		return domain_find(xs, name_or_domid, ret);
	if (!exists(xs, name_or_domid, ret))
		*ret = (struct domain){.domid = (unsigned)domid};
	return CLI_OK;
}
