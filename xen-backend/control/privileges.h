/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * privileges.h - gives up what vreadd does not need after its start: root, capabilities, and the
 * way back to them.  daemon.c calls it.
 */
#ifndef VREAD_CONTROL_PRIVILEGES_H
#define VREAD_CONTROL_PRIVILEGES_H

#include "control/config.h"
#include "control/helper.h"

struct privileges {
	char user[64];        /* the name of the user that vreadd is, or the number */
	struct helper opener; /* opens images; none: vreadd opens them itself */
};

/*
 * Call it before any thread is made.
 *
 * A vreadd that root started becomes the user of the key `user`, or stays root if the key is not
 * set.  A vreadd that has CAP_DAC_READ_SEARCH, and is not root, starts vread-opener and then gives
 * up all capabilities.  Any other vreadd stays as it is.
 *
 * Returns 0, or negative errno after a line in the log.
 */
int privileges_drop(struct privileges *p, const struct config *config, const char *config_path);
/* Ends the opener.  Questions under way fail. */
void privileges_end(struct privileges *p);

#endif
