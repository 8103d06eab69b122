/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon.h - starts the parts of vreadd by a configuration, and runs them.
 *
 * Called by vreadd.c.
 */
#ifndef VREAD_DAEMON_H
#define VREAD_DAEMON_H

#include "control/config.h"

/* Runs until SIGTERM or SIGINT.  SIGHUP, or the command "reload" of the control socket, reads
 * config_path again.  log_level -1: the level of the newest configuration is used.  0: orderly end;
 * DAEMON_IDLE: there is nothing to serve on this machine, which has no Xen; else something failed
 * (logged). */
#define DAEMON_IDLE 1
int daemon_run(const struct config *config, const char *config_path, int log_level);

#endif
