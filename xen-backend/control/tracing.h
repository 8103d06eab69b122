/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tracing.h - the command "trace" of the control socket; control.h describes it. */
#ifndef VREAD_TRACING_H
#define VREAD_TRACING_H

#include <jansson.h>

/* A new reference; an object with "error" if the request makes no sense. */
json_t *tracing_answer(const json_t *request);

#endif
