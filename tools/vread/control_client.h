/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * control_client.h - asks vreadd's control socket (xen-backend/control/control.h).
 */
#ifndef VREAD_CONTROL_CLIENT_H
#define VREAD_CONTROL_CLIENT_H

#include <jansson.h>
#include <stdbool.h>

#define CONTROL_DEFAULT_SOCKET "/run/vread/control.sock"

/* Asks for the status document: 0 and a new reference, or an exit code after
 * printing what is wrong. */
int control_ask_status(const char *path, json_t **ret);
/* The same of any command; takes over request. */
int control_ask(const char *path, json_t *request, json_t **ret);
/* The same, but what is wrong is not printed but given back in *ret_error, to be freed. */
int control_try(const char *path, json_t *request, json_t **ret, char **ret_error);

/* --socket, and of --json and --output those a command has. */
struct control_options {
	const char *socket, *output; /* output: NULL if not given */
	bool json;
};
struct option;
/* Takes them out of a command line that has nothing else; their values in the table are 's', 'j' and 'o'.
 * CLI_OK, or CLI_USAGE after printing what is wrong. */
int control_take_options(int argc, char **argv, const struct option *options,
			 struct control_options *ret);

#endif
