/* SPDX-License-Identifier: GPL-2.0-or-later */
/* commands.h - the commands of xl-vread(8), each in a file of its own: those about vreadd itself in
 * vreadd/, doctor in doctor/, the others here.  commands.c lists them. */
#ifndef XL_VREAD_COMMANDS_H
#define XL_VREAD_COMMANDS_H

#include <stdbool.h>

#include "cli/cli.h"

#define MAX_WAIT 86400U /* s */

/* Reads the options -p and --wait SECONDS, up to the first word that is no option (optind).
 * CLI_OK, or an exit code after printing what is wrong. */
int take_paused_and_wait(int argc, char **argv, bool *paused, unsigned *wait);

extern const struct command command_init, command_create, command_check, command_attach,
	command_detach, command_list, command_reboot, command_restore, command_migrate,
	command_receive, command_watch, command_status, command_top, command_trace, command_metrics,
	command_config, command_reload, command_datanode, command_inspect, command_blocks,
	command_xenstore, command_doctor;

#endif
