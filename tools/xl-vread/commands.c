/* SPDX-License-Identifier: GPL-2.0-or-later */
/* commands.c - xl-vread(8): the table of its commands.  cli/main.c runs the program by it. */
#include "commands.h"

static const struct command *const commands[] = {
	/* xl's domains */
	&command_init,
	&command_create,
	&command_check,
	&command_attach,
	&command_detach,
	&command_list,
	&command_reboot,
	&command_restore,
	&command_migrate,
	&command_receive,
	&command_watch,
	/* vreadd */
	&command_status,
	&command_top,
	&command_trace,
	&command_metrics,
	&command_config,
	&command_reload,
	&command_doctor,
	&command_datanode,
	/* what vreadd works on */
	&command_inspect,
	&command_blocks,
	&command_xenstore,
	&command_version,
	&command_help,
	NULL,
};

const struct program program = {
	.name = "xl-vread",
	.summary = "Attaches vread devices to xl's domains, and manages vreadd (in dom0).",
	.manual = "xl-vread(8)",
	.elsewhere = "vread has the commands for guests",
	.commands = commands,
};
