/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracing.h - answers the command "trace" of the control socket.
 *
 * Called by control.c.  control.h describes the command and its answer.
 */
#ifndef VREAD_TRACING_H
#define VREAD_TRACING_H

#include <jansson.h>

/* The answer; a new reference.  An object with "error" if the request is malformed or memory is
 * short. */
json_t *tracing_answer(const json_t *request);

#endif
