/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon.h - puts the parts together by a configuration, and runs them.
 */
#ifndef VREAD_DAEMON_H
#define VREAD_DAEMON_H

#include "control/config.h"

/* Runs until SIGTERM or SIGINT.  config_path is read again on SIGHUP or when the control socket is
 * told so; log_level -1: as configured, each time.  0: orderly end; else something failed
 * (logged). */
int daemon_run(const struct config *config, const char *config_path, int log_level);

/* Tries each datanode's image and layout without serving anything; how many
 * are unusable (each logged). */
unsigned daemon_check_datanodes(const struct config *config);

#endif
