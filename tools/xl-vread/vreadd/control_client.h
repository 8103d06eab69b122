/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * control_client.h - asks vreadd over its control socket (xen-backend/control/control.h).  Called
 * by the commands of this folder, by doctor/ and by datanode.c.
 */
#ifndef VREAD_CONTROL_CLIENT_H
#define VREAD_CONTROL_CLIENT_H

#include <jansson.h>
#include <stdbool.h>

#define CONTROL_DEFAULT_SOCKET "/run/vread/control.sock"

/* Asks for the status document.  0 and a new reference in *ret, or an exit code after printing what
 * is wrong. */
int control_ask_status(const char *path, json_t **ret);
/* The same for any command.  Takes over request. */
int control_ask(const char *path, json_t *request, json_t **ret);
/* As control_ask(), but prints nothing: *ret_error says what is wrong; free() it. */
int control_try(const char *path, json_t *request, json_t **ret, char **ret_error);

/* The options --socket, --json and --output.  A command need not have all of them. */
struct control_options {
	const char *socket, *output; /* output: NULL if not given */
	bool json;
};
struct option;
/* Reads a command line that has only these options.  Their values in the table `options` are 's',
 * 'j' and 'o'.  CLI_OK, or CLI_USAGE after printing what is wrong. */
int control_take_options(int argc, char **argv, const struct option *options,
			 struct control_options *ret);

#endif
