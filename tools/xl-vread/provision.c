/* SPDX-License-Identifier: GPL-2.0-or-later */
/* provision.c - implements provision.h: makes the devices of a domain and waits for them. */
#include "provision.h"

#include <errno.h>

#include "cli/cli.h"
#include "datanode.h"
#include "record.h"
#include "toolstack/attach.h"

/* Makes one device.  If the device exists, another process was quicker, `watch` or a command that
 * makes the domain, and this is no failure. */
static int make(const struct domain *domain, const struct spec *s, unsigned *made)
{
	struct xs_device d;
	int r = xs_device_init(&d, domain->domid, s->id);

	if (r)
		return r;
	r = xs_device_create(&d, &s->policy);
	if (r && r != -EEXIST)
		cli_error(CLI_FAILED, "%s: cannot create: %s", d.backend, xs_device_error(r));
	*made += r == 0;
	xs_device_done(&d);
	return r && r != -EEXIST ? CLI_FAILED : CLI_OK;
}

static int make_all(const struct domain *d, const struct specs *s, unsigned *made)
{
	int r = CLI_OK;

	for (unsigned i = 0; i < s->count && !r; i++)
		r = make(d, &s->spec[i], made);
	return !r && datanode_concerns(s) ? datanode_write_keys(d, s) : r;
}

int provision(const struct domain *d, struct specs *ret, unsigned *ret_made)
{
	int lock = record_lock(), r = CLI_FAILED;

	*ret = (struct specs){0};
	*ret_made = 0;
	/* Under the lock, or a device would be made after the record no longer has it. */
	if (lock >= 0)
		r = record_read(d, ret) ?: make_all(d, ret, ret_made);
	record_unlock(lock);
	if (r)
		specs_free(ret);
	return r;
}

int provision_recorded(const struct domain *d, struct specs *ret)
{
	unsigned made;
	int r = provision(d, ret, &made) ?: datanode_await(d, ret);

	if (r)
		specs_free(ret);
	return r;
}

static int wait_connected(const struct domain *domain, const struct spec *s, unsigned seconds)
{
	struct xs_device d;
	int r = xs_device_init(&d, domain->domid, s->id);

	if (r)
		return r;
	r = device_await(&d, seconds);
	xs_device_done(&d);
	return r;
}

int provision_wait(const struct domain *d, const struct specs *s, unsigned seconds)
{
	int r = CLI_OK;

	for (unsigned i = 0; i < s->count && !r; i++)
		r = wait_connected(d, &s->spec[i], seconds);
	return r;
}
