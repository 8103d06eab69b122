/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * control_client.h - asks vreadd's control socket (xen-backend/control/control.h).
 */
#ifndef VREAD_CONTROL_CLIENT_H
#define VREAD_CONTROL_CLIENT_H

#include <jansson.h>

#define CONTROL_DEFAULT_SOCKET "/run/vread/control.sock"

/* Asks for the status document: 0 and a new reference, or an exit code after
 * printing what is wrong. */
int control_ask_status(const char *path, json_t **ret);

#endif
