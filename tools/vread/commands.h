/* SPDX-License-Identifier: GPL-2.0-or-later */
/* commands.h - the commands of vread(1), each in a file of its own.  commands.c lists them. */
#ifndef VREAD_COMMANDS_H
#define VREAD_COMMANDS_H

#include "cli/cli.h"

extern const struct command command_stat, command_cat, command_publish, command_doctor;

#endif
