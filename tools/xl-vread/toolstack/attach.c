/* SPDX-License-Identifier: GPL-2.0-or-later */
/* attach.c - implements attach.h.  Called by `xl-vread attach` and `detach`, and
 * by provision.c. */
#include "attach.h"

#include <errno.h>
#include <xen/io/xenbus.h>

#include "cli/cli.h"
#include "device.h"

int device_attach(struct xs_device *d, const struct xs_device_policy *policy)
{
	int r = xs_device_create(d, policy);

	if (r == -ESRCH)
		return cli_error(CLI_FAILED, "domain %u: no such domain (see xl list)", d->domid);
	if (r == -EEXIST)
		return cli_error(CLI_FAILED,
				 "domain %u has device %u already; 'xl-vread detach %u --id %u' "
				 "removes it",
				 d->domid, d->id, d->domid, d->id);
	if (r)
		return cli_error(CLI_FAILED, "%s: cannot create: %s", d->backend,
				 xs_device_error(r));
	return CLI_OK;
}

int device_await(struct xs_device *d, unsigned wait)
{
	if (wait && xs_device_wait(d, XS_STATE(XenbusStateConnected), wait))
		return cli_error(CLI_FAILED,
				 "%s: not connected within %u s (state %u); is vreadd running "
				 "here and xen-vreadfront loaded in the guest?",
				 d->backend, wait, xs_device_state(d));
	return CLI_OK;
}

int device_detach(struct xs_device *d, unsigned wait, bool force)
{
	unsigned state = xs_device_state(d);
	int r = xs_device_close(d);

	if (r == -ENOENT)
		return cli_error(CLI_FAILED, "domain %u has no vread device %u", d->domid, d->id);
	if (r)
		return cli_error(CLI_FAILED, "%s: cannot close: %s", d->backend,
				 xs_device_error(r));
	/* In state Initialising no backend has seen the device, so there is nobody to wait for. */
	if (state != XenbusStateInitialising && state != XenbusStateClosed &&
	    xs_device_wait(d, XS_STATE(XenbusStateClosed) | XS_STATE(0), wait) && !force)
		return cli_error(CLI_FAILED,
				 "%s: not closed within %u s; is vreadd running? --force removes "
				 "the device anyway",
				 d->backend, wait);
	r = xs_device_remove(d);
	if (r)
		return cli_error(CLI_FAILED, "%s: cannot remove: %s", d->backend,
				 xs_device_error(r));
	return CLI_OK;
}
